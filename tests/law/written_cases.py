"""Valid golden cases to change and break, and the report of a run over them."""

import io
import json
from pathlib import Path
from typing import Any

from backoffice.application.law_cases import check_law

Case = dict[str, Any]


def report(*paths: Path, law: Path | None = None) -> tuple[int, list[str]]:
    out = io.StringIO()
    code = check_law(paths, out, law=law)
    return code, out.getvalue().splitlines()


def decide_case(**changes: Any) -> Case:
    """A valid case; `tap__line=3` sets `case["tap"]["line"]`, and `...` removes the field."""
    case: Case = {
        "kind": "decide",
        "name": "half fare",
        "tap": {"occurred_at": "2026-03-02T07:15:02-03:00", "line": "102", "network": "URBAN",
                "vehicle": "1207", "medium": {"kind": "card"}},
        "holder": {
            "birth_date": "2009-05-10",
            "rights": [{"category": "STUDENT_50", "from": "2026-02-01", "ended_on": None}],
            "purses": [{"product": "STUDENT", "network": "URBAN",
                        "lots": [{"units": 50, "face_cents": 450, "paid_cents": 225}]}],
        },
        "usage": {"half_fare": {}, "used": {}, "last": None},
        "fares": [{"network": "URBAN", "from": "2023-10-16", "cents": 450}],
        "expect": {"outcome": "accepted", "city_cents": 225},
    }  # fmt: skip
    return changed(case, changes)


def acquire_case(**changes: Any) -> Case:
    case: Case = {
        "kind": "acquire",
        "name": "first fifty",
        "school_days": 200,
        "authorised_extra": 0,
        "history": [{"on": "2026-01-02", "plan": "MONTH", "units": 10}],
        "request": {"on": "2026-03-02", "plan": "MONTH", "units": 50},
        "expect": {"outcome": "accepted", "window": ["2026-03-02", "2026-04-02"], "remaining": 0},
    }
    return changed(case, changes)


def rate_case(**changes: Any) -> Case:
    case = decide_case(
        kind="rate",
        name="one ride",
        month="2026-03",
        tap=...,
        usage=...,
        expect={"billable": 1, "city_cents": 225},
    )
    case["boardings"] = [
        {"boarding_id": "b1", "occurred_at": "2026-03-02T07:15:02-03:00", "received_at": "2026-03-02T07:15:03-03:00",
         "line": "102", "network": "URBAN", "vehicle": "1207", "device": "d1", "device_seq": 1,
         "medium": {"kind": "card"}, "mode": "online", "device_outcome": "accepted"}
    ]  # fmt: skip
    return changed(case, changes)


def changed(case: Case, changes: dict[str, Any]) -> Case:
    for path, value in changes.items():
        *parents, last = path.split("__")
        place: Any = case
        for name in parents:
            place = place[int(name) if name.isdigit() else name]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return case


def written(path: Path, *cases: object) -> Path:
    path.write_text(json.dumps({"cases": cases}), encoding="utf-8")
    return path
