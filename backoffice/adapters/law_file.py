"""The rule table as a TOML file: the one in the package, or another city's by path."""

import tomllib
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from validator.domain.rules import LawError, RuleBook, parse_rule_book

PACKAGED = "pato_branco.toml"
"""The law of Pato Branco, which the package carries."""


def packaged_law() -> RuleBook:
    """The rule table that the package carries.

    Raises:
        LawError: the table breaks its form; the message names file and row.
    """
    return _parsed(PACKAGED, resources.files("validator.domain") / "law" / PACKAGED)


def law_from(path: Path | None) -> RuleBook:
    """The rule table of a file, or the packaged one for None.

    Raises:
        LawError: the file cannot be read, is no TOML (the message names the line) or breaks the form (the row).
    """
    return packaged_law() if path is None else _parsed(str(path), path)


def law_mapping_from(path: Path | None) -> dict[str, Any]:
    """The mapping of a law file, or of the packaged one for None: what is published to the validators.

    Raises:
        LawError: as `law_from`, except for the form, which is not looked at.
    """
    if path is None:
        return _mapping(PACKAGED, resources.files("validator.domain") / "law" / PACKAGED)
    return _mapping(str(path), path)


def _parsed(name: str, source: Traversable) -> RuleBook:
    data = _mapping(name, source)
    try:
        return parse_rule_book(data)
    except LawError as error:
        raise error.at(name) from error


def _mapping(name: str, source: Traversable) -> dict[str, Any]:
    try:
        raw = source.read_bytes()
    except OSError as error:
        raise LawError(
            f"não se pode ler ({error.strerror}); dê um arquivo de lei em TOML",
            f"cannot be read ({error.strerror}); name a law file in TOML",
        ).at(name) from error
    if raw.startswith(b"\xef\xbb\xbf"):
        raise LawError(
            "a linha 1 começa com uma marca de ordem de bytes (BOM); grave o arquivo em UTF-8 sem ela",
            "line 1 begins with a byte order mark; save the file as UTF-8 without it",
        ).at(name)
    try:
        return tomllib.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise LawError(
            f"a linha {line} não está em UTF-8; grave o arquivo em UTF-8",
            f"line {line} is not UTF-8; save the file as UTF-8",
        ).at(name) from error
    except tomllib.TOMLDecodeError as error:
        raise LawError(f"não é TOML: {error}", f"no TOML: {error}").at(name) from error
