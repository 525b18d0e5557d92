"""The documents say what is there: every article of the law, with code and tests that exist."""

import re
from pathlib import Path

import pytest

from tests.law.laws import BOOK
from validator.domain.rules import PARAMETERS
from validator.domain.vocabulary import Category

ROOT = Path(__file__).parent.parent
LAW = (ROOT / "docs/law.md").read_text(encoding="utf-8")

LEI = set(range(1, 76))
DECRETO = set(range(1, 78)) - {66}


def section(heading: str) -> str:
    """The text between a heading of the second level and the next."""
    return LAW.split(f"\n## {heading}")[1].split("\n## ")[0]


def rows(heading: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    lines = [line for line in section(heading).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def articles(heading: str) -> set[int]:
    """Every article that has a row; `37-45` stands for all of them."""
    found: set[int] = set()
    for cells in rows(heading):
        first, last = re.match(r"(\d+)(?:-(\d+))?", cells[0]).groups()
        found |= set(range(int(first), int(last or first) + 1))
    return found


@pytest.mark.parametrize(("heading", "expected"), [("Lei 1.055/91", LEI), ("Decreto 1.827/91", DECRETO)])
def test_every_article_has_a_row(heading: str, expected: set[int]):
    assert articles(heading) == expected


@pytest.mark.parametrize("heading", ["Lei 1.055/91", "Decreto 1.827/91"])
def test_every_row_names_code_or_says_that_there_is_none(heading: str):
    for article, _, code, tests in rows(heading):
        none = code.startswith(("nothing to build", "not built yet"))

        assert none == ("`" not in code), article
        assert not (none and tests), article


@pytest.mark.parametrize("heading", ["Lei 1.055/91", "Decreto 1.827/91"])
def test_all_that_the_rows_name_exists(heading: str):
    missing = []
    for article, _, code, tests in rows(heading):
        for reference in re.findall(r"`([^`]+)`", code + tests):
            path, _, name = reference.partition(":")
            file = ROOT / path
            if not file.is_file() or name not in file.read_text(encoding="utf-8"):
                missing.append(f"{article}: {reference}")

    assert missing == []


def test_every_rule_of_the_table_stands_in_the_map():
    missing = [
        row.id
        for row in BOOK.rows
        if not any(
            f":{row.id}`" in code
            for heading in ("Lei 1.055", "Decreto 1.827")
            for _, _, code, _ in rows(heading)
        )
    ]

    assert missing == []


def test_every_parameter_is_documented_with_its_default():
    table = {cells[0].strip("`"): cells[1] for cells in rows("Parameters")}

    assert set(table) == set(PARAMETERS)
    for row in BOOK.parameters:
        assert re.match(rf"{row.value}\b", table[row.name]), row.name


def test_every_category_is_explained():
    words = section("Words")

    assert [category for category in Category if f"{category.value} (" not in words] == []
