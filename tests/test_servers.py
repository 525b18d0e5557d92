"""The fixtures give what they promise."""

import socket

import pytest
import redis
import sqlalchemy
from sqlalchemy import text

from backoffice.adapters.embedded_redis import EmbeddedRedis
from tests import servers


@pytest.mark.hot_state
@pytest.mark.parametrize("turn", [1, 2])
def test_redis_is_empty_for_every_test(redis_url: str, turn: int):
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left by turn", turn)
        client.config_set("maxmemory-policy", "allkeys-lru")


@pytest.mark.hot_state
def test_redis_comes_back_after_a_test_that_killed_it(
    redis_server: EmbeddedRedis, request: pytest.FixtureRequest
):
    redis_server.kill()
    url = request.getfixturevalue("redis_url")

    with redis.Redis.from_url(url) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


@pytest.mark.hot_state
def test_a_private_redis_is_another_server(redis_server: EmbeddedRedis, private_redis: EmbeddedRedis):
    assert private_redis.pid not in (None, redis_server.pid)


@pytest.mark.parametrize("turn", [1, 2])
def test_the_database_is_empty_for_every_test(database_url: str, turn: int):
    engine = sqlalchemy.create_engine(database_url)
    with engine.begin() as connection:
        assert sqlalchemy.inspect(connection).get_table_names() == []
        connection.execute(text("CREATE TABLE boarding (turn integer)"))
    engine.dispose()


def test_the_network_ends_at_this_machine():
    with socket.socket() as outside, pytest.raises(RuntimeError, match="stay on this machine"):
        outside.connect(("192.0.2.1", 80))


def test_a_server_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CATRACA_TEST_REDIS_BINARY", "no-such-server")

    with pytest.raises(servers.ServerMissing, match="no-such-server"):
        servers.redis_binary()
