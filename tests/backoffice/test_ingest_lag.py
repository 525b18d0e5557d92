"""The metrics page tells how far journal and outbox are behind, also while Redis is away."""

import pytest

from backoffice.adapters.embedded_redis import EmbeddedRedis
from backoffice.application.ingest_lag import GAUGES, as_metrics, lag
from tests.backoffice.journal_play import SmallValidator, boarding
from tests.backoffice.register_city import NOW, RegisterCity

pytestmark = pytest.mark.hot_state


def test_what_waits_is_counted(sqlite_city: RegisterCity, redis_url: str) -> None:
    SmallValidator(redis_url).commit(boarding("v-1", 1))
    numbers = lag(sqlite_city.engine, redis_url, NOW)
    assert set(numbers) == set(GAUGES)
    assert numbers["catraca_journal_waiting_entries"] == 1
    assert numbers["catraca_outbox_waiting_rows"] > 0
    assert numbers["catraca_redis_verified"] == 0
    text = as_metrics(numbers)
    assert "# TYPE catraca_journal_waiting_entries gauge\ncatraca_journal_waiting_entries 1\n" in text


def test_a_redis_that_is_away_hides_nothing_else(
    sqlite_city: RegisterCity, private_redis: EmbeddedRedis
) -> None:
    private_redis.kill()
    numbers = lag(sqlite_city.engine, private_redis.url, NOW)
    assert numbers["catraca_redis_up"] == 0
    assert "catraca_journal_waiting_entries" not in numbers
    assert numbers["catraca_outbox_waiting_rows"] > 0
