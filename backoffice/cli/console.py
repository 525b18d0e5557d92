"""What the commands say on the terminal, and the failures that a person can repair."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console
from sqlalchemy.exc import DataError, IntegrityError, OperationalError

from backoffice.adapters.city_keys import KeyMissing
from backoffice.adapters.csv_rows import FileFault
from backoffice.adapters.embedded_redis import EmbeddedRedisError
from backoffice.adapters.hot_state import EvictingRedis
from backoffice.application.constraints import conflict_of
from backoffice.application.errors import RegisterError
from backoffice.application.field_words import field_fault
from backoffice.application.ingest import OtherDatabase
from backoffice.bootstrap import DatabaseOutdated
from validator.domain.fares import FareError
from validator.domain.rules import LawError

PROBLEMS = (
    RegisterError,
    LawError,
    FareError,
    FileFault,
    KeyMissing,
    DatabaseOutdated,
    OtherDatabase,
    EmbeddedRedisError,
    EvictingRedis,
    OperationalError,
    IntegrityError,
    DataError,
    OverflowError,
    ValidationError,
    OSError,
)
"""Errors that are the world's and not the program's: one line on the terminal, exit code 1."""

out = Console(highlight=False, markup=False, soft_wrap=True)
"""Results."""

err = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
"""Progress and problems."""


def say_problem(problem: BaseException) -> None:
    """One failure in one paragraph."""
    if isinstance(problem, OperationalError):
        err.print(
            f"erro: o banco de dados não respondeu: {str(problem.orig).splitlines()[0]}", soft_wrap=True
        )
    elif isinstance(problem, IntegrityError):
        err.print(f"erro: {conflict_of(problem)}", soft_wrap=True)
    elif isinstance(problem, DataError | OverflowError):
        err.print("erro: um dos números é grande demais para o registro; confira o que foi digitado")
    elif isinstance(problem, ValidationError):
        for fault in problem.errors():
            err.print(f"erro: {_setting_fault(fault)}", soft_wrap=True)
    elif isinstance(problem, OSError):
        # A full disk, for one, is told without the file.
        used = "o arquivo ou a rede" if problem.filename is None else problem.filename
        err.print(f"erro: não foi possível usar {used}: {problem.strerror or problem}", soft_wrap=True)
    else:
        err.print(f"erro: {problem}", soft_wrap=True)


def _setting_fault(fault: Any) -> str:
    """What is wrong with a setting; never its value, since an address may hold a password."""
    name = "_".join(str(part) for part in fault["loc"]).upper()
    context = fault.get("ctx", {})
    said = str(context["error"]) if fault["type"] == "value_error" else field_fault(fault["type"], context)
    return f"CATRACA_{name}: {said} (veja docs/operating.md)"


def existing(path: Path) -> Path:
    """The path of a file that is there.

    Raises:
        FileMissing: it is not.
    """
    if not path.is_file():
        raise FileMissing(f"o arquivo {path} não existe ou não é um arquivo; confira o caminho")
    return path


class FileMissing(RegisterError):
    """A file named on the command line is not there."""
