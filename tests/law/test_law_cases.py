"""Golden cases: ours pass, what differs is shown with both values, and what breaks the format is said plainly."""

from pathlib import Path

import pytest

from tests.law.laws import law_text
from tests.law.written_cases import Case, acquire_case, decide_case, rate_case, report, written

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_our_own_cases_hold(path: Path):
    code, lines = report(path)

    assert lines[:-1] == []
    assert lines[-1].endswith(" passed, 0 failed")
    assert lines[-1] != "0 passed, 0 failed"
    assert code == 0


def test_a_case_that_differs_takes_one_line_with_both_values(tmp_path: Path):
    wrong = decide_case(
        name="two\nlines", expect={"outcome": "accepted", "city_cents": 226, "category": None}
    )
    differences = 'city_cents is 225, expected 226; category is "STUDENT_50", expected null'

    code, lines = report(written(tmp_path / "a.json", decide_case(), wrong, acquire_case()))

    assert code == 1
    assert lines == [
        f'{tmp_path / "a.json"}: case 2 "two\\nlines": {differences}',
        "2 passed, 1 failed",
    ]


def test_only_what_is_expected_is_compared(tmp_path: Path):
    code, lines = report(written(tmp_path / "a.json", decide_case(expect={"turnstile": "TURN"})))

    assert (code, lines) == (0, ["1 passed, 0 failed"])


def test_all_files_run_though_one_is_broken(tmp_path: Path):
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    code, lines = report(
        written(tmp_path / "a.json", decide_case()), broken, written(tmp_path / "b.json", acquire_case())
    )

    assert code == 1
    assert "broken.json: is no JSON" in lines[0]
    assert lines[1:] == ["2 passed, 1 failed"]


OPTIONAL: dict[str, Case] = {
    "no suspension, no end": decide_case(holder__rights=[{"category": "STUDENT_50", "from": "2026-02-01"}]),
    "an open suspension": decide_case(
        holder__rights__0__suspended=[{"from": "2027-01-01", "until": None}, {"from": "2027-01-01"}]
    ),
    "no price paid": decide_case(
        holder__purses__0__lots=[{"units": 1, "face_cents": 450}]
    ),
    "empty usage": decide_case(usage={}),
    "null usage": decide_case(usage=None),
    "usage without last": decide_case(usage={"half_fare": {"2026-03": 1}, "used": {"STUDENT": 1}}),
    "last without line and category": decide_case(
        usage__last={"occurred_at": "2026-03-01T07:15:02-03:00", "vehicle": "1207"}
    ),
    "last with everything": decide_case(
        usage__last={"boarding_id": "b", "occurred_at": "2026-03-01T07:15:02Z", "vehicle": "1207",
                     "line": "102", "category": "TEACHER"}
    ),
    "given back and paid back": decide_case(usage__used={"STUDENT": 51}, usage__returned={"STUDENT": 1},
                                            usage__refunded={"STUDENT": 0, "VT/INTERIOR": 2},
                                            expect={"reason": "NO_PASSES"}),
    "no continuation": decide_case(tap__continues=None),
    "a fare for one day": decide_case(
        fares=[{"network": "URBAN", "from": "2023-10-16", "until": None, "cents": 450, "act": "Decreto"},
               {"network": "URBAN", "from": "2026-03-02", "until": "2026-03-02", "cents": 0}],
        expect={"fare_cents": 0, "uses": None},
    ),
    "a fare of one line and medium": decide_case(
        fares=[{"network": "URBAN", "from": "2023-10-16", "cents": 450, "line": "102", "medium": "CARD"}]
    ),
    "no fare where no fare is asked": decide_case(fares=[]),
    "a line that nobody knows": decide_case(tap__network=None, expect={"reason": "LINE_UNKNOWN"}),
    "fields of the wire": decide_case(tap__trip="102-0715-I", tap__boarding_id="0193c0de",
                                      tap__medium={"kind": "card", "token": "x"}),
    "a uid": decide_case(tap__medium={"kind": "uid", "uid": "04a1"}, expect={"reason": "NO_PASSES"}),
    "a holder without anything": decide_case(holder={"birth_date": "1990-01-01"}, expect={"reason": "NO_PASSES"}),
    "an instant in UTC with fractions": decide_case(tap__occurred_at="2026-03-02T10:15:02.123456Z"),
    "an instant without seconds": decide_case(tap__occurred_at="2026-03-02T10:15+00:00"),
    "lots in two purses of one kind": decide_case(
        holder__purses=[{"product": "STUDENT", "network": "URBAN", "lots": [{"units": 1, "face_cents": 365}]},
                        {"product": "STUDENT", "network": "URBAN", "lots": [{"units": 1, "face_cents": 450}]}],
        usage={"used": {"STUDENT": 1}},
    ),
    "class and rule": decide_case(expect={"class": "HALF", "rule": "STUDENT-1993"}),
    "no extra": acquire_case(authorised_extra=...),
    "the default of school days": acquire_case(school_days=...),
    "a ride without a card": rate_case(
        holder=None, boardings__0__medium={"kind": "cash", "tendered_cents": 450},
        expect={"billable": 0, "statistical": 1, "excluded": {}},
    ),
    "a ride with every field": rate_case(
        boardings__0__annulled=False, boardings__0__continues=None, boardings__0__class="HALF",
        boardings__0__purse="STUDENT", boardings__0__trip="102-0715-I", boardings__0__epoch=2,
    ),
    "a ride that names its purse alone": rate_case(boardings__0__purse="STUDENT"),
    "no boardings": rate_case(boardings=[], expect={"billable": 0, "excluded": {}}),
    "no history": acquire_case(history=[]),
    "a reason that lists no boarding": rate_case(expect={"excluded": {"PASSBACK": [], "OVER_CAP": []}}),
    "a birth date that nobody knows": decide_case(holder__birth_date=None),
    "fares of some days side by side": decide_case(
        fares=[{"network": "URBAN", "from": "2023-10-16", "cents": 450},
               {"network": "URBAN", "from": "2026-03-01", "until": "2026-03-01", "cents": 0},
               {"network": "URBAN", "from": "2026-03-02", "until": "2026-03-02", "cents": 200},
               {"network": "URBAN", "from": "2026-03-01", "until": "2026-03-02", "cents": 100, "line": "999"},
               {"network": "INTERIOR", "from": "2026-03-01", "until": "2026-03-02", "cents": 300}],
    ),
    "the same fare twice": decide_case(
        fares=[{"network": "URBAN", "from": "2023-10-16", "cents": 450},
               {"network": "URBAN", "from": "2023-10-16", "cents": 450}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OPTIONAL.values(), ids=OPTIONAL)
def test_what_the_format_allows_is_accepted(tmp_path: Path, case: Case):
    code, lines = report(written(tmp_path / "a.json", case))

    assert lines == ["1 passed, 0 failed"]
    assert code == 0


def test_another_law_file_decides_by_its_own_rows(tmp_path: Path):
    """H123: an act of 1 April 2026 ends the repayment of teachers; before it they are billed, after it not."""
    law = tmp_path / "law.toml"
    law.write_text(
        law_text().replace('id = "TEACHER-2005"', 'id = "TEACHER-2005"\nto = 2026-03-31')
        + '\n[[rule]]\nid = "TEACHER-ACT"\ncategory = "TEACHER"\nfrom = 2026-04-01\nrider_pays = "nothing"\n'
        'repaid_percent = 0\nstatus = "none"\nturnstile = "TURN"\nnetworks = ["URBAN"]\n'
        'article = "Decreto de exemplo, art. 1"\n',
        encoding="utf-8",
    )
    rights = [{"category": "TEACHER", "from": "2026-02-01", "ended_on": None}]
    before = decide_case(tap__occurred_at="2026-03-31T23:59:59-03:00", holder__rights=rights)
    after = decide_case(tap__occurred_at="2026-04-01T00:00:00-03:00", holder__rights=rights)
    before["expect"] = {"rule": "TEACHER-2005", "rider_cents": 0, "city_cents": 450, "operator_cents": 0}
    after["expect"] = {"rule": "TEACHER-ACT", "rider_cents": 0, "city_cents": 0, "operator_cents": 450}

    code, lines = report(written(tmp_path / "a.json", before, after), law=law)

    assert lines == ["2 passed, 0 failed"]
    assert code == 0


def test_a_law_file_that_is_broken_stops_the_run(tmp_path: Path):
    code, lines = report(CASES[0], law=tmp_path / "nowhere.toml")

    assert code == 1
    assert "nowhere.toml: cannot be read" in lines[0]
