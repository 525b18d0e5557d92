"""What register and journals make of a ride: whose it is, why it may wait. Both databases are met in other tests."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from backoffice.persistence.base import writing
from backoffice.persistence.holders import HolderRow
from tests.backoffice.claims_city import HASH, LONG_AGO, ClaimsCity, at, make_claims_city
from tests.backoffice.claims_month import close, documents, excluded
from validator.records.codes import Flag

RIDE = "2026-03-10 07:00"


@pytest.fixture
def city(sqlite_url: str) -> Iterator[ClaimsCity]:
    made = make_claims_city(sqlite_url)
    yield made
    made.engine.dispose()


def closed(city: ClaimsCity, operator: str = "azul", **options: Any) -> dict[str, Any]:
    city.store(**options)
    document: dict[str, Any] = documents(close(city))[operator]
    return document


def card(city: ClaimsCity, *states: tuple[int, str, datetime], number: int = 77) -> None:
    """A card of holder 1 with the states of its issues."""
    city.register("city_keys", key_id=1, public_key=HASH, valid_from=LONG_AGO, recorded_at=LONG_AGO)
    city.register("cards", id=1, holder_id=1, number=number, kind="QR", recorded_at=LONG_AGO)
    issued = set()
    for revision, (issue, state, recorded_at) in enumerate(states, start=1):
        common = {"holder_id": 1, "card_id": 1, "issue": issue, "revision": revision}
        if issue not in issued:
            issued.add(issue)
            city.register(
                "card_issues",
                **common,
                key_id=1,
                token_sha256=f"{issue:064x}",
                token_hash8=b"12345678",
                issued_at=recorded_at,
            )
        city.register("card_states", **common, state=state, reason="-", recorded_at=recorded_at)
    raise_revision(city, len(states))


def raise_revision(city: ClaimsCity, revision: int) -> None:
    with writing(city.engine) as session:
        session.execute(update(HolderRow).where(HolderRow.id == 1).values(revision=revision))


def test_a_ride_without_a_release_waits(city: ClaimsCity) -> None:
    city.tap(at(RIDE), holder=city.student(), released=None)

    assert excluded(closed(city)) == {"NO_RELEASE": 1}


@pytest.mark.parametrize("offline", [False, True])
def test_a_refusal_without_a_release_is_no_ride_whether_it_was_sent_again_or_not(
    city: ClaimsCity, offline: bool
) -> None:
    city.tap(at(RIDE), holder=city.student(), refused="NO_PASSES", released=None, offline=offline)
    city.cash(at("2026-03-10 08:00"))

    assert excluded(closed(city)) == {}


def test_a_ride_that_no_signed_head_covers_waits(city: ClaimsCity) -> None:
    city.tap(at(RIDE), holder=city.student())

    document = closed(city, cover=False)

    assert excluded(document) == {"NOT_COVERED": 1}
    assert document["totals"]["total_cents"] == 0


def test_a_head_that_came_after_the_closing_covers_nothing_in_it(city: ClaimsCity) -> None:
    city.tap(at(RIDE), holder=city.student())

    assert excluded(closed(city, heads_at=at("2026-04-09 07:00"))) == {"NOT_COVERED": 1}


def test_a_rider_who_was_held_over_an_accepted_answer_did_not_ride(city: ClaimsCity) -> None:
    holder = city.student()
    city.tap(at(RIDE), holder=holder, released=False)
    city.tap(at("2026-03-10 07:01"), holder=holder)

    document = closed(city)

    assert (document["totals"]["rides"], excluded(document)) == (1, {})


def test_a_rider_let_in_over_a_refusal_rode_and_is_judged(city: ClaimsCity) -> None:
    holder = city.student(units=1)
    city.tap(at(RIDE), holder=holder)
    city.tap(at("2026-03-10 08:00"), holder=holder, refused="NO_PASSES")

    document = closed(city)

    assert (document["totals"]["rides"], excluded(document)) == (1, {"NO_PASSES": 1})


def test_who_pays_in_money_after_a_refused_card_is_counted_and_not_billed(city: ClaimsCity) -> None:
    city.tap(at(RIDE), holder=city.student(), refused="CARD_BLOCKED", ride_class="FULL")

    document = closed(city)

    assert (document["statistical"][0]["category"], excluded(document)) == ("FULL", {})


def test_a_line_of_another_operator_waits_and_takes_a_pass(city: ClaimsCity) -> None:
    holder = city.student(units=1)
    city.tap(at(RIDE), holder=holder, line="202")
    city.tap(at("2026-03-11 07:00"), holder=holder)

    document = closed(city)

    assert excluded(document) == {"LINE_UNSETTLED": 1, "NO_PASSES": 1}
    assert any("LINE_UNSETTLED" in warning for warning in document["warnings"])


def test_an_unknown_vehicle_waits(city: ClaimsCity) -> None:
    city.tap(at(RIDE), holder=city.student(), vehicle="9999")

    assert excluded(closed(city)) == {"VEHICLE_UNSETTLED": 1}


def test_a_vehicle_of_another_operator_waits_in_the_claim_of_its_owner(city: ClaimsCity) -> None:
    city.tap(at(RIDE), holder=city.student(), vehicle="2201", line="202")

    assert excluded(closed(city, "verde")) == {"VEHICLE_UNSETTLED": 1}


def test_a_device_that_is_registered_in_the_vehicle_may_ride_in_it(city: ClaimsCity) -> None:
    city.tap(at(RIDE), holder=city.student(), vehicle="2201", line="202")
    city.register(
        "device_assignments",
        device_id="d-azul",
        vehicle="2201",
        from_at=at("2026-03-09 00:00"),
        recorded_at=LONG_AGO,
    )

    assert closed(city, "verde")["totals"]["rides"] == 1


def test_claims_are_split_on_the_day_of_a_transfer(city: ClaimsCity) -> None:
    holder = city.student()
    for day in ("14", "15", "16", "17", "18"):
        city.tap(at(f"2026-03-{day} 07:00"), holder=holder)
    day = {"from_day": date(2026, 3, 16), "recorded_at": LONG_AGO}
    city.register("vehicle_operators", vehicle="1201", operator_id=2, **day)
    city.register("line_operators", line_id=1, operator_id=1, runs=False, **day)
    city.register("line_operators", line_id=1, operator_id=2, runs=True, **day)

    city.store()
    found = documents(close(city))

    assert {operator: document["totals"]["rides"] for operator, document in found.items()} == {
        "azul": 2,
        "verde": 3,
    }


def test_a_revoked_device_is_not_believed_and_takes_nothing(city: ClaimsCity) -> None:
    holder = city.student(units=2)
    for when in ("2026-03-10 07:00", "2026-03-12 07:00", "2026-03-12 18:00"):
        city.tap(at(when), holder=holder, device="d2azul" if when.endswith("12 07:00") else "d-azul")
    city.register(
        "device_revocations",
        device_id="d2azul",
        epoch=1,
        revoked_at=at("2026-03-11 00:00"),
        reason="furto",
        recorded_at=LONG_AGO,
        revision=2,
    )

    document = closed(city)

    assert (document["totals"]["rides"], excluded(document)) == (2, {"DEVICE_REVOKED": 1})


def test_what_a_device_says_after_its_revocation_neither_lets_in_nor_takes_back(city: ClaimsCity) -> None:
    """Whoever has the device writes what he likes about what was answered before."""
    holder = city.student()
    for when, options in (("2026-03-10 07:00", {}), ("2026-03-10 17:00", {"annulled_after": 5.0})):
        city.tap(at(when), holder=holder, **options)
        city.rows[-1][1]["flags"] = int(Flag.REVOKED_DEVICE)

    document = closed(city)

    assert (document["totals"]["rides"], excluded(document)) == (1, {"NO_RELEASE": 1})


@pytest.mark.parametrize(
    ("blocked", "found"),
    [
        ("2026-03-08 12:00", {"CARD_BLOCKED": 1}),
        ("2026-03-09 12:00", {}),
        ("2026-03-10 12:00", {}),
    ],
    ids=["before every list that counts", "after the oldest list", "after the ride"],
)
def test_a_blocked_card_rides_on_until_the_lists_must_know(
    city: ClaimsCity, blocked: str, found: dict[str, int]
) -> None:
    holder = city.student()
    card(city, (1, "LIVE", LONG_AGO), (1, "BLOCKED", at(blocked)))
    city.tap(at(RIDE), holder=holder, offline=True, card=(77, 1))

    assert excluded(closed(city)) == found


def test_both_cards_of_a_replacement_count_to_one_person(city: ClaimsCity) -> None:
    holder = city.student()
    card(
        city,
        (1, "LIVE", LONG_AGO),
        (1, "REPLACED", at("2026-03-20 12:00")),
        (2, "LIVE", at("2026-03-20 12:00")),
    )
    for day in range(1, 27):
        city.tap(at(f"2026-03-{day:02} 07:00"), holder=holder, offline=True, card=(77, 1))
        city.tap(at(f"2026-03-{day:02} 17:00"), holder=holder, revision=3, card=(77, 2), device="d2azul")

    document = closed(city)

    # From 21 March, 12:00, every list shows the replacement: five rides of the old card. They keep their places.
    assert document["totals"]["rides"] == 46
    assert excluded(document) == {"CARD_REPLACED": 5, "OVER_CAP": 1}


def test_an_online_ride_is_judged_on_the_revision_that_it_was_decided_with(city: ClaimsCity) -> None:
    holder = city.student()
    city.register(
        "right_endings",
        holder_id=1,
        right_id=1,
        ended_on=date(2026, 3, 5),
        reason="óbito",
        recorded_by=1,
        recorded_at=at("2026-03-10 06:00"),
        revision=2,
    )
    raise_revision(city, 2)
    city.tap(at(RIDE), holder=holder, revision=1)
    city.tap(at("2026-03-10 08:00"), holder=holder, revision=2)
    city.tap(at("2026-03-10 09:00"), holder=holder, offline=True)
    city.tap(at("2026-03-12 09:00"), holder=holder, offline=True)

    document = closed(city)

    assert (document["totals"]["rides"], excluded(document)) == (2, {"RIGHT_ENDED": 2})


def test_a_right_that_was_registered_a_moment_before_an_offline_ride_counts(city: ClaimsCity) -> None:
    holder = city.student(recorded_at=at("2026-03-10 06:59"))
    city.tap(at(RIDE), holder=holder, offline=True)

    assert closed(city)["totals"]["rides"] == 1


@pytest.mark.parametrize(("seconds", "rides"), [(0, 0), (60, 0), (60.001, 1), (-1, 1)])
def test_an_annulment_counts_within_a_minute_of_the_devices_own_clock(
    city: ClaimsCity, seconds: float, rides: int
) -> None:
    city.tap(at(RIDE), holder=city.student(), annulled_after=seconds)

    assert closed(city)["totals"]["rides"] == rides


def test_only_the_device_of_a_boarding_can_annul_it(city: ClaimsCity) -> None:
    boarding = city.tap(at(RIDE), holder=city.student())
    city.add(
        "annulments",
        device="d-verde",
        epoch=1,
        seq=900,
        boarding_id=boarding,
        digest=HASH,
        received_at=at(RIDE),
        batch=False,
        occurred_at=at(RIDE) + timedelta(seconds=5),
        flags=0,
        shard=0,
        generation=1,
        commit_no=1,
    )

    assert closed(city)["totals"]["rides"] == 1


def test_an_elder_needs_no_card_and_is_never_billed(city: ClaimsCity) -> None:
    city.tap(at(RIDE), medium="document", keyed="ELDER", category="ELDER", ride_class="FREE")
    city.tap(at(RIDE), holder=city.holder(birth=date(1961, 3, 10)), category="ELDER", ride_class="FREE")
    city.tap(at(RIDE), holder=city.holder(birth=date(1963, 3, 10)), category="ELDER", ride_class="FREE")

    document = closed(city)

    assert document["totals"]["rides"] == 0
    assert {row["category"]: row["quantity"] for row in document["statistical"]} == {
        "ELDER_60_64": 1,
        "ELDER_65": 1,
        "ELDER_AGE_UNKNOWN": 1,
    }


def test_vale_transporte_never_pays_a_students_half_fare(city: ClaimsCity) -> None:
    holder = city.holder(("STUDENT_50", "2026-02-01", None), lots=(("VT", "URBAN", 5, 450, 450),))
    city.tap(at(RIDE), holder=holder, ride_class="HALF")
    city.tap(at("2026-03-10 08:00"), holder=holder, ride_class="PURSE", category="VT")

    document = closed(city)

    assert (document["totals"]["rides"], excluded(document)) == (0, {"NO_PASSES": 1})
    assert document["statistical"][0]["category"] == "VT"


def test_turning_and_not_turning_rides_are_counted_by_line(city: ClaimsCity) -> None:
    holder = city.student()
    city.tap(at(RIDE), holder=holder)
    city.tap(at("2026-03-10 08:00"), holder=holder, annulled_after=3)
    city.cash(at("2026-03-10 08:10"))
    city.tap(at("2026-03-10 08:11"), medium="key", keyed="CHILD", category="CHILD", ride_class="FREE")

    assert closed(city)["turnstile"] == [{"line": "101", "turned": 2, "not_turned": 1}]


def test_a_right_is_never_billed_on_a_chip(city: ClaimsCity) -> None:
    pupil = city.student()
    teacher = city.holder(("TEACHER", "2020-02-01", None), birth=date(1980, 3, 1))
    city.tap(at("2026-03-10 07:00"), holder=pupil)
    city.tap(at("2026-03-10 08:00"), holder=pupil, medium="uid", offline=True)
    city.tap(at("2026-03-10 09:00"), holder=teacher, medium="uid", offline=True, ride_class="FREE")

    document = closed(city)

    assert document["totals"]["total_cents"] == 225
    assert excluded(document) == {"NO_PASSES": 1, "NO_RIGHT": 1}
