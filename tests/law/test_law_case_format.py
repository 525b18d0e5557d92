"""A file or case that breaks the format is named with its field, and told what to write."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from backoffice.application.law_cases import check_law
from tests.law.written_cases import Case, acquire_case, decide_case, rate_case, report, written

LOT = {"units": 1, "face_cents": 450, "paid_cents": 450}

BROKEN_CASES: dict[str, tuple[Any, str]] = {
    "no object": (3, "case 1: is the number 3; write an object"),
    "no name": (decide_case(name=...), "case 1: name: is missing"),
    "an empty name": (decide_case(name=""), 'name: is the text ""'),
    "no kind": (decide_case(kind=...), "kind: is missing; write one of decide, acquire"),
    "an unknown kind": (decide_case(kind="judge"), 'kind: is the text "judge"; write one of decide, acquire'),
    "no tap": (decide_case(tap=...), "tap: is missing"),
    "no holder": (decide_case(holder=...), "holder: is missing; write an object {...}, or null"),
    "no usage": (decide_case(usage=...), "usage: is missing"),
    "no fares": (decide_case(fares=...), "fares: is missing; write a list"),
    "no expectation": (decide_case(expect=...), "expect: is missing"),
    "an empty expectation": (decide_case(expect={}), "expect: is empty; name at least one of outcome"),
    "an unknown field": (decide_case(weather="rain"), "weather: is no field of the format; known here are"),
    "an unknown field of a tap": (decide_case(tap__lien="102"), "tap.lien: is no field of the format"),
    "an unknown expectation": (decide_case(expect__fare="4,50"), "expect.fare: is no result of kind decide"),
    "a number for a time": (decide_case(tap__occurred_at=1772446502), "tap.occurred_at: is the number 1772446502"),
    "a naive time": (decide_case(tap__occurred_at="2026-03-02T07:15:02"), "has no offset; write an instant"),
    "a day for a time": (decide_case(tap__occurred_at="2026-03-02"), "tap.occurred_at: is the text"),
    "a time that is none": (decide_case(tap__occurred_at="2026-03-02T25:15:02-03:00"), "tap.occurred_at: is"),
    "a year beyond sense": (decide_case(tap__occurred_at="0001-01-01T00:00:00Z"), "years 1800 to 2999"),
    "no occurred_at": (decide_case(tap__occurred_at=...), "tap.occurred_at: is missing"),
    "a line as number": (decide_case(tap__line=102), "tap.line: is the number 102; write a text"),
    "no network": (decide_case(tap__network=...), "tap.network: is missing; write one of URBAN, INTERIOR, or null"),
    "an unknown network": (decide_case(tap__network="RIVER"), 'tap.network: is the text "RIVER"; write one of'),
    "no medium kind": (decide_case(tap__medium={}), "tap.medium.kind: is missing; write one of card, uid"),
    "an unknown medium": (decide_case(tap__medium={"kind": "pix"}), "tap.medium.kind: is"),
    "a key without category": (decide_case(tap__medium={"kind": "key"}), "tap.medium.category: is missing"),
    "cash without amount": (decide_case(tap__medium={"kind": "cash"}), "tap.medium.tendered_cents: is missing"),
    "cash with a comma": (decide_case(tap__medium={"kind": "cash", "tendered_cents": 4.5}), "is the number 4.5"),
    "cash below zero": (decide_case(tap__medium={"kind": "cash", "tendered_cents": -1}), "whole number from 0"),
    "a card with a category": (decide_case(tap__medium={"kind": "card", "category": "VT"}), "category: is no field"),
    "no birth date": (decide_case(holder__birth_date=...), "holder.birth_date: is missing; write a day"),
    "a birth date in Brazilian": (decide_case(holder__birth_date="10/05/2009"), "holder.birth_date: is the text"),
    "a day that is none": (decide_case(holder__birth_date="2009-02-29"), "holder.birth_date: is the text"),
    "rights as object": (decide_case(holder__rights={}), "holder.rights: is an object; write a list"),
    "an unknown right": (decide_case(holder__rights__0__category="PCD"), "holder.rights[0].category: is"),
    "a purse as right": (decide_case(holder__rights__0__category="VT"), "holder.rights[0].category: VT is paid"),
    "a right without from": (decide_case(holder__rights=[{"category": "TEACHER"}]), "rights[0].from: is missing"),
    "a right that ends early": (decide_case(holder__rights__0__ended_on="2025-01-01"), "is before from 2026-02-01"),
    "an unknown product": (decide_case(holder__purses__0__product="BEER"), "holder.purses[0].product: is"),
    "a purse without lots": (decide_case(holder__purses=[{"product": "VT", "network": "URBAN"}]), "lots: is missing"),
    "a lot without price": (
        decide_case(holder__purses=[{"product": "VT", "network": "URBAN", "lots": [{"units": 1, "face_cents": 450}]}]),
        "holder.purses[0].lots[0].paid_cents: is missing; only a lot of STUDENT",
    ),
    "a lot above its face": (decide_case(holder__purses__0__lots=[{**LOT, "paid_cents": 451}]), "is more than face"),
    "true for a number": (decide_case(holder__purses__0__lots=[{**LOT, "units": True}]), "units: is true; write a"),
    "a month that is none": (decide_case(usage__half_fare={"2026-13": 1}), "usage.half_fare.2026-13: is no month"),
    "a count as text": (decide_case(usage__half_fare={"2026-03": "1"}), 'half_fare.2026-03: is the text "1"'),
    "an unknown purse": (decide_case(usage__used={"STUDENTS": 1}), "usage.used.STUDENTS: is no purse; known are"),
    "a last without vehicle": (decide_case(usage__last={"occurred_at": "2026-03-02T07:00:00Z"}), "usage.last.vehicle"),
    "a fare as text": (decide_case(fares__0__cents="4,50"), 'fares[0].cents: is the text "4,50"; write a whole'),
    "a fare that ends early": (decide_case(fares__0__until="2020-01-01"), "fares[0].until: 2020-01-01 is before"),
    "two fares of one day": (
        decide_case(fares=[{"network": "URBAN", "from": "2023-10-16", "cents": c} for c in (450, 500)]),
        "fares[1]: a second fare of URBAN from 2023-10-16",
    ),
    "two fares of some days that overlap": (
        decide_case(fares=[{"network": "URBAN", "from": "2023-10-16", "cents": 450},
                           {"network": "URBAN", "from": "2026-03-01", "until": "2026-03-08", "cents": 0},
                           {"network": "URBAN", "from": "2026-03-08", "until": "2026-03-09", "cents": 200}]),
        "fares[2]: a second fare of URBAN from 2026-03-08, at another price than the one from 2026-03-01; let each",
    ),
    "a longer one around a shorter": (
        decide_case(fares=[{"network": "URBAN", "from": "2026-03-08", "until": "2026-03-08", "cents": 0},
                           {"network": "URBAN", "from": "2026-01-01", "until": "2026-12-31", "cents": 200}]),
        "fares[1]: a second fare of URBAN from 2026-01-01",
    ),
    "no fare for the day": (
        decide_case(tap__medium={"kind": "cash", "tendered_cents": 500}, fares__0__from="2026-04-01"),
        "fares: hold no fare for the line and day of the tap",
    ),
    "an unknown outcome": (decide_case(expect={"outcome": "yes"}), "expect.outcome: is"),
    "an unknown reason": (decide_case(expect={"reason": "BECAUSE"}), "expect.reason: is"),
    "a reason as list": (decide_case(expect={"reason": []}), "expect.reason: is a list"),
    "centavos with a point": (decide_case(expect={"city_cents": 225.0}), "expect.city_cents: is the number 225.0"),
    "uses without counts_cap": (decide_case(expect={"uses": {"product": "STUDENT"}}), "uses.counts_cap: is missing"),
    "no request": (acquire_case(request=...), "request: is missing"),
    "an unknown plan": (acquire_case(request__plan="WEEK"), "request.plan: is the text"),
    "half a pass": (acquire_case(request__units=2.5), "request.units: is the number 2.5"),
    "a history of nothing": (acquire_case(history__0__units=0), "history[0].units: is the number 0"),
    "a year of 400 days": (acquire_case(school_days=400), "school_days: is the number 400; write"),
    "a window of one day": (acquire_case(expect={"window": ["2026-03-02"]}), "expect.window: is a list"),
    "a window of numbers": (acquire_case(expect={"window": [1, 2]}), "expect.window.first: is the number 1"),
    "a decision of the desk": (acquire_case(expect={"city_cents": 1}), "is no result of kind acquire"),
    "no month": (rate_case(month=...), "month: is missing"),
    "a month of days": (rate_case(month="2026-03-01"), "month: is the text"),
    "a boarding without received_at": (rate_case(boardings__0__received_at=...), "received_at: is missing"),
    "an unknown mode": (rate_case(boardings__0__mode="by hand"), "boardings[0].mode: is"),
    "an unknown release": (rate_case(boardings__0__device_outcome="yes"), "boardings[0].device_outcome: is"),
    "a sequence as text": (rate_case(boardings__0__device_seq="1"), "boardings[0].device_seq: is the text"),
    "annulled as text": (rate_case(boardings__0__annulled="no"), "boardings[0].annulled: is the text"),
    "an unknown class": (rate_case(boardings__0__class="RICH"), "boardings[0].class: is"),
    "a purse nobody has": (rate_case(boardings__0__purse="BEER"), "boardings[0].purse: is"),
    "an unknown field of a boarding": (rate_case(boardings__0__tariff=1), "boardings[0].tariff: is no field"),
    "no fare for a boarding": (
        rate_case(boardings__0__medium={"kind": "key", "category": "CHILD"}, fares__0__from="2026-04-01"),
        "fares: hold no fare for the line and day of a boarding",
    ),
    "a count expected as text": (rate_case(expect={"billable": "1"}), "expect.billable: is the text"),
    "ids that are no list": (rate_case(expect={"excluded": {"PASSBACK": "b1"}}), "expect.excluded.PASSBACK: is"),
    "a reason of nobody": (rate_case(expect={"excluded": {"TOO_LATE": ["b1"]}}), "TOO_LATE: is no reason of a rating"),
    "ids of numbers": (rate_case(expect={"excluded": {"PASSBACK": [1]}}), "expect.excluded.PASSBACK: is a list; write"),
}  # fmt: skip


@pytest.mark.parametrize(("case", "message"), BROKEN_CASES.values(), ids=BROKEN_CASES)
def test_a_broken_case_names_its_field_and_the_others_run(tmp_path: Path, case: Any, message: str):
    code, lines = report(written(tmp_path / "a.json", case, decide_case()))

    assert code == 1
    assert message in lines[0]
    assert lines[1:] == ["1 passed, 1 failed"]


BROKEN_FILES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "is no JSON"),
    "no JSON": (b"cases: []", "is no JSON"),
    "a comma too much": (b'{"cases": [],}', "line 1 column"),
    "a list": (b"[]", 'holds no object; write {"cases": [...]}'),
    "no cases": (b"{}", "cases: is missing"),
    "no case": (b'{"cases": []}', "cases: is empty; write at least one case"),
    "cases as object": (b'{"cases": {}}', "cases: is an object; write a list"),
    "something beside the cases": (b'{"cases": [], "case": []}', "case: is no field of the format"),
    "cases twice": (b'{"cases": [], "cases": []}', "cases: stands twice in one object"),
    "a byte order mark": (b'\xef\xbb\xbf{"cases": []}', "begins with a byte order mark"),
    "Latin-1": ('{"cases": [\n"São"]}'.encode("latin-1"), "line 2 is not UTF-8"),
    "no number": (b'{"cases": [NaN]}', "NaN is not a number of JSON"),
    "an endless number": (b'{"cases": [' + b"9" * 5000 + b"]}", "is no JSON"),
    "a deep nest": (b"[" * 200_000, "is nested too deeply"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN_FILES.values(), ids=BROKEN_FILES)
def test_a_broken_file_says_what_is_wrong(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / "vendor.json"
    path.write_bytes(content)

    code, lines = report(path)

    assert code == 1
    assert lines[0].startswith(f"{path}: ")
    assert message in lines[0]
    assert lines[1:] == ["0 passed, 1 failed"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    code, lines = report(tmp_path / "nowhere.json", tmp_path)

    assert code == 1
    assert [line.split(": ")[1].split(" (")[0] for line in lines[:2]] == ["cannot be read", "cannot be read"]


def test_a_key_that_stands_twice_in_a_case_is_named_with_its_place(tmp_path: Path):
    text = json.dumps({"cases": [decide_case(), decide_case()]})
    path = tmp_path / "a.json"
    path.write_text(text.replace('"line": "102"', '"line": "102", "line": "103"', 1), encoding="utf-8")

    code, lines = report(path)

    assert code == 1
    assert 'case 1 "half fare": tap.line: stands twice in one object' in lines[0]
    assert lines[1:] == ["1 passed, 1 failed"]


def test_a_terminal_without_accents_gets_escapes(tmp_path: Path):
    path = written(tmp_path / "a.json", decide_case(name="São João", expect={"city_cents": 1}))
    shown = io.BytesIO()
    out = io.TextIOWrapper(shown, encoding="ascii", write_through=True)

    assert check_law([path], out) == 1
    assert b"S\\xe3o Jo\\xe3o" in shown.getvalue()


def test_a_name_that_no_terminal_can_write_takes_one_line(tmp_path: Path):
    case: Case = decide_case(name="\ud800\n\u2028", expect={"city_cents": 1})

    _, lines = report(written(tmp_path / "a.json", case))

    assert len(lines) == 2
    assert "city_cents is 225, expected 1" in lines[0]
