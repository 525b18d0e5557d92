"""`catraca law check`: golden cases in files that any vendor can write."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from backoffice.application.law_cases import check_law

_law = typer.Typer(help="A lei como dados e seus casos de teste.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(_law, name="law")


@_law.callback()
def _group() -> None:
    """A lei como dados e seus casos de teste."""


@_law.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="ARQUIVO", help="Arquivos JSON de casos.")],
    law: Annotated[
        Path | None, typer.Option("--law", metavar="ARQUIVO", help="Outra tabela de regras, em TOML.")
    ] = None,
) -> None:
    """Confere casos de exemplo com as regras; sai com 0 só se todos passarem."""
    raise typer.Exit(check_law(files, sys.stdout, law=law))
