"""Rule tables for tests: the packaged one, and copies of it with something changed."""

import tomllib
from importlib import resources
from typing import Any

from validator.domain.rules import RuleBook, parse_rule_book


def law_text() -> str:
    """The TOML text of the packaged rule table."""
    return (resources.files("validator.domain") / "law" / "pato_branco.toml").read_text(encoding="utf-8")


def law_data() -> dict[str, Any]:
    """The packaged rule table as a mapping that a test may change."""
    return tomllib.loads(law_text())


def rule(data: dict[str, Any], row_id: str) -> dict[str, Any]:
    """One rule row of a mapping."""
    return next(row for row in data["rule"] if row["id"] == row_id)


def registration(data: dict[str, Any], row_id: str) -> dict[str, Any]:
    """One registration row of a mapping."""
    return next(row for row in data["registration"] if row["id"] == row_id)


def parameter(data: dict[str, Any], name: str) -> dict[str, Any]:
    """One parameter row of a mapping."""
    return next(row for row in data["parameter"] if row["name"] == name)


BOOK: RuleBook = parse_rule_book(law_data())
"""The packaged rule table."""
