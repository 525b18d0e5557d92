"""A device is believed until the very instant of its revocation: by the ride's own time and by the time it came."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.backoffice.claims_city import LONG_AGO, ClaimsCity, at, make_claims_city
from tests.backoffice.claims_month import close, documents, excluded

REVOKED = at("2026-03-11 14:00")
MOMENT = timedelta(microseconds=1)


@pytest.fixture
def city(sqlite_url: str) -> Iterator[ClaimsCity]:
    made = make_claims_city(sqlite_url)
    made.register(
        "device_revocations",
        device_id="d-azul",
        epoch=1,
        revoked_at=REVOKED,
        reason="furto",
        recorded_at=LONG_AGO,
        revision=2,
    )
    yield made
    made.engine.dispose()


@pytest.mark.parametrize(
    ("rode", "came", "believed"),
    [
        (timedelta(hours=-1), timedelta(hours=-1), True),
        (-2 * MOMENT, -MOMENT, True),
        (-MOMENT, timedelta(0), False),
        (timedelta(days=-1), timedelta(days=2), False),
        (timedelta(0), timedelta(0), False),
        (timedelta(days=1), timedelta(hours=-1), False),
    ],
    ids=["before", "just before", "came at T", "rode before, came after", "at T", "dated ahead"],
)
def test_what_came_before_it_is_billed_and_what_came_since_waits(
    city: ClaimsCity, rode: timedelta, came: timedelta, believed: bool
):
    city.tap(REVOKED + rode, holder=city.student(), received=REVOKED + came, offline=True)
    city.store()

    document = documents(close(city))["azul"]

    assert (document["totals"]["rides"], excluded(document)) == (
        (1, {}) if believed else (0, {"DEVICE_REVOKED": 1})
    )


@pytest.mark.parametrize(
    ("came", "found"),
    [(-MOMENT, {"ANNULLED": 1}), (timedelta(0), {"NO_RELEASE": 1})],
    ids=["just before", "at T"],
)
def test_what_it_says_of_earlier_rides_counts_until_then(
    city: ClaimsCity, came: timedelta, found: dict[str, int]
):
    """A release and an annulment; a theft is recorded the next day, so that no flag says who sent them."""
    holder = city.student()
    for hours, options in ((5, {}), (3, {"annulled_after": 5.0})):
        city.tap(REVOKED - timedelta(hours=hours), holder=holder, **options)
        city.rows[-1][1]["received_at"] = REVOKED + came
    city.store()

    document = documents(close(city))["azul"]

    assert (document["totals"]["rides"], excluded(document)) == (1, found)


def test_the_other_devices_of_the_operator_are_believed(city: ClaimsCity):
    city.tap(REVOKED + timedelta(hours=1), holder=city.student(), device="d2azul")
    city.store()

    assert documents(close(city))["azul"]["totals"]["rides"] == 1
