"""What proves a right at the desk is dated data with its article; a table that breaks the form is refused by row."""

import copy
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.law.laws import BOOK, law_data, registration
from validator.domain.registration import OF_SCHOOLS, REGISTERED, Evidence, SchoolNetwork
from validator.domain.rules import LawError, parse_rule_book
from validator.domain.vocabulary import Category

Change = Callable[[dict[str, Any]], object]
TODAY = date(2026, 3, 2)
PUBLIC = {SchoolNetwork.PUBLIC_MUNICIPAL, SchoolNetwork.PUBLIC_STATE, SchoolNetwork.PUBLIC_FEDERAL}


def setting(row_id: str, /, **fields: object) -> Change:
    return lambda data: registration(data, row_id).update({k.rstrip("_"): v for k, v in fields.items()})


def without(row_id: str, field: str) -> Change:
    return lambda data: registration(data, row_id).pop(field)


def dropping(row_id: str) -> Change:
    return lambda data: data["registration"].remove(registration(data, row_id))


BROKEN: dict[str, tuple[Change, str]] = {
    "no table": (lambda data: data.pop("registration"), r"has no \[\[registration\]\] rows"),
    "a category without a row": (dropping("REG-SPECIAL-ED"), "category SPECIAL_ED has no registration row"),
    "a gap": (
        setting("REG-STUDENT-1991", to=date(1994, 12, 27)),
        "registration REG-STUDENT-1991: leaves a gap after 1994-12-27 until REG-STUDENT-ART70",
    ),
    "an overlap": (
        setting("REG-STUDENT-1991", to=date(1994, 12, 29)),
        "REG-STUDENT-1991: overlaps REG-STUDENT-A",
    ),
    "an end before its begin": (setting("REG-SPECIAL-ED", to=date(1990, 1, 1)), "ends on 1990-01-01 before"),
    "an id twice": (
        lambda data: data["registration"].append(copy.deepcopy(data["registration"][0])),
        "registration REG-FISCAL-MUN: two rows have this id",
    ),
    "no article": (without("REG-FISCAL-TRAB", "article"), "registration REG-FISCAL-TRAB: article is missing"),
    "a blank article": (setting("REG-FISCAL-TRAB", article=" "), "REG-FISCAL-TRAB: article is missing"),
    "no id": (without("REG-FISCAL-MUN", "id"), r"registration number 1 \(without a name\): id is missing"),
    "no day": (without("REG-FISCAL-MUN", "from"), "registration REG-FISCAL-MUN: from is missing or no date"),
    "no documents": (without("REG-FISCAL-MUN", "documents"), "REG-FISCAL-MUN: documents is a list such as"),
    "an empty list": (setting("REG-FISCAL-MUN", documents=[]), "REG-FISCAL-MUN: documents is a list such as"),
    "a text for a list": (setting("REG-FISCAL-MUN", documents="IDENTITY"), "documents is a list such as"),
    "an unknown document": (
        setting("REG-FISCAL-MUN", documents=["RG"]),
        "documents 'RG' is unknown; known are",
    ),
    "a document twice": (setting("REG-FISCAL-MUN", documents=["NEED", "NEED"]), "documents names NEED twice"),
    "an unknown network": (setting("REG-TEACHER-2005", schools=["PUBLIC"]), "schools 'PUBLIC' is unknown"),
    "no schools": (
        without("REG-TEACHER-2005", "schools"),
        "REG-TEACHER-2005: STUDENT_50, TEACHER and SPECIAL_ED",
    ),
    "schools of an inspector": (setting("REG-FISCAL-MUN", schools=["SPECIAL"]), "no other category has them"),
    "a right of age": (setting("REG-FISCAL-MUN", category="ELDER"), "ELDER is not registered at a desk"),
    "an unknown category": (setting("REG-FISCAL-MUN", category="PCD"), "category 'PCD' is unknown"),
    "an unknown field": (setting("REG-FISCAL-MUN", door="x"), "REG-FISCAL-MUN: unknown field 'door'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_table_is_refused_and_the_row_named(name: str):
    change, message = BROKEN[name]
    data = law_data()
    change(data)

    with pytest.raises(LawError, match=message):
        parse_rule_book(data)


@pytest.mark.parametrize("category", REGISTERED)
def test_every_registered_right_is_proved_today_with_an_article(category: Category):
    row = BOOK.registration_on(category, TODAY)

    assert row is not None
    assert Evidence.IDENTITY in row.documents
    assert (row.schools is not None) == (category in OF_SCHOOLS)


def test_a_student_is_of_the_public_network_a_teacher_of_the_citys_and_special_education_of_its_institution():
    schools = {category: BOOK.registration_on(category, TODAY) for category in OF_SCHOOLS}

    assert {category: row and row.schools for category, row in schools.items()} == {
        Category.STUDENT_50: PUBLIC,
        Category.TEACHER: {SchoolNetwork.PUBLIC_MUNICIPAL},
        Category.SPECIAL_ED: {SchoolNetwork.SPECIAL},
    }


def test_address_and_need_are_asked_for_since_art_70_holds():
    eve, day = date(1994, 12, 28), date(1994, 12, 29)

    before, since = (BOOK.registration_on(Category.STUDENT_50, when) for when in (eve, day))

    assert day == BOOK.art70_effective_from
    assert before is not None
    assert since is not None
    assert since.documents - before.documents == {Evidence.ADDRESS, Evidence.NEED}


def test_nothing_proves_a_right_that_the_law_does_not_give_yet():
    assert BOOK.registration_on(Category.SPECIAL_ED, date(1993, 5, 30)) is None
    assert BOOK.registration_on(Category.SPECIAL_ED, date(1993, 5, 31)) is not None


def test_every_row_stands_on_the_page_of_the_law():
    page = (Path(__file__).parents[2] / "docs/law.md").read_text(encoding="utf-8")

    assert [row.id for row in BOOK.registrations if f"`{row.id}`" not in page] == []
