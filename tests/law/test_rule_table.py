"""The rule table is checked on load: every error names the row and what is wrong with it."""

import copy
import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pytest

from tests.law.laws import BOOK, law_data, parameter, rule
from validator.domain.rules import LawError, RiderPays, Status, parse_rule_book
from validator.domain.vocabulary import Category

Data = dict[str, Any]
Change = Callable[[Data], object]


def without(row_id: str, field: str) -> Change:
    return lambda data: rule(data, row_id).pop(field)


def setting(row_id: str, /, **fields: object) -> Change:
    return lambda data: rule(data, row_id).update({key.rstrip("_"): value for key, value in fields.items()})


def setting_parameter(name: str, /, **fields: object) -> Change:
    return lambda data: parameter(data, name).update(
        {key.rstrip("_"): value for key, value in fields.items()}
    )


def dropping(table: str, key: str, name: str) -> Change:
    return lambda data: data[table].remove(next(row for row in data[table] if row[key] == name))


def repeating(table: str, key: str, name: str) -> Change:
    return lambda data: data[table].append(
        copy.deepcopy(next(row for row in data[table] if row[key] == name))
    )


BROKEN: dict[str, tuple[Change, str]] = {
    "a gap": (setting("ELDER-1991", to=date(2005, 1, 4)), "rule ELDER-1991: leaves a gap after 2005-01-04"),
    "an overlap": (setting("ELDER-1991", to=date(2005, 1, 6)), "rule ELDER-1991: overlaps ELDER-2005"),
    "an open row before another": (without("ELDER-1991", "to"), "rule ELDER-1991: overlaps ELDER-2005"),
    "an unknown category": (setting("VT-1991", category="PCD"), "rule VT-1991: category 'PCD' is unknown"),
    "a missing category": (without("VT-1991", "category"), "rule VT-1991: category None is unknown"),
    "a category without a row": (dropping("rule", "id", "VT-1991"), "category VT has no rule row"),
    "a missing source": (without("TEACHER-2005", "article"), "rule TEACHER-2005: article is missing"),
    "a blank source": (setting("TEACHER-2005", article="  "), "rule TEACHER-2005: article is missing"),
    "a missing id": (without("CHILD-1991", "id"), "rule number 1 (without a name): id is missing"),
    "an id twice": (setting("CHILD-DECREE", id="CHILD-1991"), "rule CHILD-1991: two rows have this id"),
    "an unknown field": (setting("VT-1991", form="x"), "rule VT-1991: unknown field 'form'"),
    "no first day": (without("VT-1991", "from"), "rule VT-1991: from is missing or no date"),
    "a day as text": (setting("VT-1991", from_="1991-10-16"), "rule VT-1991: from is missing or no date"),
    "an instant for a day": (setting("VT-1991", from_=datetime(1991, 10, 16)), "rule VT-1991: from is"),  # noqa: DTZ001
    "an end before its begin": (setting("VT-1991", to=date(1991, 1, 1)), "rule VT-1991: ends on 1991-01-01"),
    "a share above all": (setting("TEACHER-2005", repaid_percent=101), "rule TEACHER-2005: repaid_percent"),
    "a share as text": (setting("TEACHER-2005", repaid_percent="100"), "rule TEACHER-2005: repaid_percent"),
    "a share that is true": (setting("TEACHER-2005", repaid_percent=True), "rule TEACHER-2005: repaid_percent"),
    "an unknown status": (setting("TEACHER-2005", status="sure"), "rule TEACHER-2005: status 'sure'"),
    "repaid without status": (setting("TEACHER-2005", status="none"), "rule TEACHER-2005: status is none"),
    "a status without share": (setting("TEACHER-2005", repaid_percent=0), "rule TEACHER-2005: status is none"),
    "an unknown turnstile": (setting("VT-1991", turnstile="SPIN"), "rule VT-1991: turnstile 'SPIN'"),
    "a rule that holds": (setting("VT-1991", turnstile="HOLD"), "rule VT-1991: a rule lets somebody ride"),
    "no networks": (setting("VT-1991", networks=[]), "rule VT-1991: networks is a list"),
    "an unknown network": (setting("VT-1991", networks=["RIVER"]), "rule VT-1991: networks 'RIVER'"),
    "an elder without age": (without("ELDER-2005", "age_from"), "rule ELDER-2005: CHILD and ELDER have an age"),
    "a teacher with age": (setting("TEACHER-2005", age_from=30), "rule TEACHER-2005: CHILD and ELDER have"),
    "an age below zero": (setting("ELDER-2005", age_from=-1), "rule ELDER-2005: age_from is a whole number"),
    "keyable as text": (setting("VT-1991", keyable="yes"), "rule VT-1991: keyable is true or false"),
    "a keyable purse": (setting("VT-1991", keyable=True), "rule VT-1991: keyable and by_document"),
    "a student by document": (setting("STUDENT-1993", by_document=True), "rule STUDENT-1993: keyable and"),
    "a free purse": (setting("VT-1991", rider_pays="nothing"), "rule VT-1991: the rider pays all as PREPAID"),
    "a right paid in full": (setting("STUDENT-1993", rider_pays="all", repaid_percent=0, status="none"),
                             "rule STUDENT-1993: the rider pays all as PREPAID"),
    "a teacher at half": (setting("TEACHER-2005", rider_pays="half"), "rule TEACHER-2005: only STUDENT_50"),
    "an unknown parameter": (setting_parameter("reuse_minutes", name="reuse"), "parameter reuse: unknown"),
    "a missing parameter": (dropping("parameter", "name", "reuse_minutes"), "parameter reuse_minutes: missing"),
    "a parameter twice a day": (repeating("parameter", "name", "reuse_minutes"), "parameter reuse_minutes: two"),
    "a wrong unit": (setting_parameter("reuse_minutes", unit="seconds"), "parameter reuse_minutes: unit is"),
    "no act": (lambda data: parameter(data, "reuse_minutes").pop("act"), "parameter reuse_minutes: act is"),
    "a value below zero": (setting_parameter("reuse_minutes", value=-5), "parameter reuse_minutes: value is"),
    "a nameless parameter": (lambda data: data["parameter"][1].pop("name"), "parameter number 2 (without a"),
    "an unknown table": (lambda data: data.update(rules=[]), "unknown table 'rules'"),
    "a switch that is neither on nor off": (setting_parameter("uid_rights", value=2),
                                            "value is a whole number from 0 to 1"),
    "no rules": (lambda data: data.pop("rule"), "no [[rule]] rows"),
    "no parameters": (lambda data: data.pop("parameter"), "no [[parameter]] rows"),
    "a law that is no table": (lambda data: data.update(law=3), "[law] is a table"),
    "a misspelt day of art. 70": (lambda data: data["law"].update(art70_from=date(1994, 12, 29)),
                                  "[law] unknown field 'art70_from'"),
    "a day of art. 70 as text": (lambda data: data["law"].update(art70_effective_from="1994-12-29"),
                                 "[law] art70_effective_from is a date"),
}  # fmt: skip


ENGLISH = re.compile(r"\b(the|is|are|it|an|and|not|known|unknown|missing|needs|rows|write|leaves|overlaps)\b")
"""What the Portuguese half, which comes first, may not say."""


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_table_names_its_row(change: Change, message: str):
    data = law_data()
    change(data)

    with pytest.raises(LawError) as caught:
        parse_rule_book(data)

    assert message in caught.value.english
    assert str(caught.value) == f"{caught.value.sentence} / {caught.value.english}"
    assert not ENGLISH.search(caught.value.sentence)


def test_every_category_has_a_rule_that_is_in_force_today():
    for category in Category:
        assert BOOK.row_on(category, date(2026, 3, 2)) is not None


def test_every_rule_cites_its_source():
    assert all("art." in row.article for row in BOOK.rows)


def test_the_repayment_is_firm_until_the_text_that_ordered_it_fell():
    days = {Category.TEACHER: date(2005, 1, 6), Category.SPECIAL_ED: date(2005, 1, 6)}
    days[Category.STUDENT_50] = date(1993, 5, 31)
    for category, fell_on in days.items():
        rows = BOOK.rows_of(category)

        assert {row.status for row in rows if row.first_day < fell_on} == {Status.FIRM}
        assert {row.status for row in rows if row.first_day >= fell_on} == {Status.DISPUTED}
        assert {row.repaid_percent for row in rows} == {100}


def test_only_students_pay_half_and_only_purses_and_cash_pay_all():
    pays = {row.category: row.rider_pays for row in BOOK.rows}

    assert {c for c, p in pays.items() if p is RiderPays.HALF} == {Category.STUDENT_50}
    assert {c for c, p in pays.items() if p is RiderPays.ALL} == {
        Category.PREPAID,
        Category.VT,
        Category.FULL,
    }


def test_the_version_changes_with_any_word_of_the_table_and_with_nothing_else():
    changed = law_data()
    rule(changed, "VT-1991")["note"] = "another word"

    assert parse_rule_book(law_data()).version == BOOK.version
    assert parse_rule_book(changed).version != BOOK.version


def test_a_parameter_holds_from_its_day_and_the_first_one_holds_before():
    data = law_data()
    data["parameter"].append({**parameter(data, "reuse_minutes"), "value": 8, "from": date(2026, 4, 1)})
    book = parse_rule_book(data)

    assert book.parameter_on("reuse_minutes", date(1980, 1, 1)) == 5
    assert book.parameter_on("reuse_minutes", date(2026, 3, 31)) == 5
    assert book.parameter_on("reuse_minutes", date(2026, 4, 1)) == 8
    with pytest.raises(KeyError):
        book.parameter_on("reuse", date(2026, 4, 1))


def test_art_70_may_never_begin():
    data = law_data()
    del data["law"]["art70_effective_from"]

    assert parse_rule_book(data).art70_effective_from is None
