"""Rule tables for tests: the packaged one, and copies of it with something changed."""

import tomllib
from datetime import date
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


def uid_proves_rights(first: date = date(2026, 3, 1)) -> dict[str, Any]:
    """The packaged rule table with an act that lets a chip's uid prove rights from a day on."""
    data = law_data()
    act = {"name": "uid_rights", "value": 1, "unit": "switch", "from": first, "act": "Decreto 1"}
    data["parameter"].append(act)
    return data


BOOK: RuleBook = parse_rule_book(law_data())
"""The packaged rule table."""
