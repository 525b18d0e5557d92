"""A clock that runs backwards inside a trip: the sequence orders, the time only dates (and the upload may be stale)."""

from datetime import timedelta

import pytest

from tests.validator.conftest import Service
from tests.validator.seeded_city import NOW, SeededCity, iso, prepaid
from validator.domain.usage import Usage

pytestmark = pytest.mark.hot_state


async def test_taps_keep_the_order_of_their_sequence(city: SeededCity, service: Service):
    device, card = city.device(), city.holder("00000000000000aa", prepaid())
    minutes = [0, -30, -10, -40]
    for number, minute in enumerate(minutes, start=1):
        device.tap(number, card.medium, occurred_at=iso(NOW + timedelta(minutes=minute)))

    items = (await service.batch(device, device.batch())).json()["items"]

    assert [item["verdict"] for item in items] == ["statistical"] * 4
    rides = [entry for entry in city.journal() if entry.boarding is not None]
    assert [entry.seq for entry in rides] == [1, 2, 3, 4]
    assert [(entry.occurred_micros or 0) // 60_000_000 for entry in rides] == [
        int((NOW + timedelta(minutes=minute)).timestamp()) // 60 for minute in minutes
    ]


async def test_the_latest_boarding_is_the_latest_by_its_instant(city: SeededCity, service: Service):
    """The second tap went back over midnight of the month: each counts in its own month, the later stays the last."""
    device, card = city.device(), city.student()
    march = NOW.replace(day=1, hour=3, minute=0, second=0)
    device.tap(1, card.medium, occurred_at=iso(march))
    device.tap(2, card.medium, occurred_at=iso(march - timedelta(milliseconds=1)))

    await service.batch(device, device.batch())

    usage: Usage = city.usage()
    assert usage.half_fare == {"2026-02": 1, "2026-03": 1}
    assert usage.last is not None
    assert usage.last.occurred_at == march


async def test_a_batch_that_was_kept_for_three_days_is_taken(city: SeededCity, service: Service):
    """Freshness is the upload's; its taps have their own instants and the chain. A stale upload is not refused."""
    device, card = city.device(), city.student()
    device.tap(1, card.medium, occurred_at=iso(NOW - timedelta(days=3)))
    kept = device.batch()

    first = await service.batch(device, kept, Catraca_Sent_At=iso(NOW - timedelta(days=3)))
    again = await service.batch(device, kept)

    assert [answer.json()["items"][0]["verdict"] for answer in (first, again)] == ["billable", "billable"]
    assert city.usage().half_fare == {"2026-02": 1}


async def test_the_offset_of_an_old_table_of_summer_time_dates_nothing(city: SeededCity, service: Service):
    """Half past midnight of 1 March by the device's offset is still February in the city: the instant rules (H33)."""
    device, card = city.device(), city.student()
    device.tap(1, card.medium, occurred_at="2026-03-01T00:30:00-02:00")
    device.tap(2, card.medium, occurred_at="2026-03-01T00:30:00-03:00", vehicle="1208")

    await service.items(device)

    assert city.usage().half_fare == {"2026-02": 1, "2026-03": 1}
