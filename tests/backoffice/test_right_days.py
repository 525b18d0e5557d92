"""Days of a right: none before birth, and rights of one category that overlap are shown to both persons."""

from datetime import date

import pytest

from backoffice.application.errors import Invalid
from backoffice.application.register_rights import end_right
from backoffice.application.staff import as_registrar
from tests.backoffice.register_city import NOW, TODAY, RegisterCity
from tests.backoffice.register_http import Api
from validator.domain.vocabulary import Category

FEBRUARY = date(2026, 2, 1)


def ask(api: Api, holder: int, first: str, ended: str | None = None) -> dict[str, object]:
    body = {
        "category": "STUDENT_50",
        "first_day": first,
        "ended_on": ended,
        "evidence": ["IDENTITY", "ADDRESS", "ENROLMENT", "NEED"],
        "seen_on": str(TODAY),
        "school_id": api.city.public_school,
    }
    made: dict[str, object] = api("clerk", "POST", f"/holders/{holder}/right-requests", body, 201)
    return made


def overlaps(api: Api, request: object) -> object:
    rows = api("manager", "GET", "/right-requests", code=200)
    return next(row["overlaps"] for row in rows if row["id"] == request)


def test_a_right_does_not_begin_before_birth(sqlite_city: RegisterCity):
    holder = sqlite_city.holder(birth=date(2012, 5, 4))

    with pytest.raises(Invalid, match="antes do nascimento"):
        sqlite_city.right(holder, school=sqlite_city.public_school, first_day=date(2012, 5, 3))

    assert sqlite_city.right(holder, school=sqlite_city.public_school, first_day=date(2012, 5, 4))


@pytest.mark.parametrize(
    ("first", "ended", "warned"),
    [
        ("2026-03-02", None, True),
        ("2025-01-01", None, True),
        ("2026-02-01", "2026-02-02", True),
        ("2026-06-30", "2026-12-31", True),
        ("2026-07-01", "2026-12-31", False),
        ("2025-02-01", "2026-02-01", False),
    ],
)
def test_an_overlap_is_shown_to_who_asks_and_to_who_approves(
    api: Api, first: str, ended: str | None, warned: bool
):
    holder = api.city.holder()
    right = api.city.right(
        holder, school=api.city.public_school, first_day=FEBRUARY, ended_on=date(2026, 7, 1)
    )

    made = ask(api, holder, first, ended)

    assert made["overlaps"] == ([right] if warned else [])
    assert overlaps(api, made["id"]) == made["overlaps"]


def test_a_right_that_was_ended_overlaps_no_more_nor_does_one_of_another_category(lite: Api):
    city, holder = lite.city, lite.city.holder()
    ended = city.right(holder, school=city.public_school, first_day=FEBRUARY)
    city.right(holder, Category.TEACHER, city.public_school, FEBRUARY)
    with city.writing() as session:
        clerk = as_registrar(city.staff("clerk"))
        end_right(session, clerk, NOW, right_id=ended, ended_on=date(2026, 3, 1), reason="mudou de escola")

    assert ask(lite, holder, "2026-03-01")["overlaps"] == []
    assert ask(lite, holder, "2026-02-28")["overlaps"] == [ended]
