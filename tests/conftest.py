"""Fixtures that every test may use: real servers, fresh databases, and a network that ends at this machine.

One Redis and one PostgreSQL run for each xdist worker, started when the first test asks for them.
"""

import ipaddress
import itertools
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import redis

from backoffice.adapters.embedded_redis import EmbeddedRedis
from tests.servers import fresh_database, redis_binary, running_postgres

# The machine is shared and its speed says nothing about the law, so no example has a deadline.
# Everybody explores new examples; CI repeats the same ones, so that what it lands does not hang on chance.
hypothesis.settings.register_profile(
    "catraca", deadline=None, print_blob=True, derandomize="CI" in os.environ, database=None
)
hypothesis.settings.load_profile("catraca")

_DATABASE_NUMBERS = itertools.count(1)


class OutsideNetwork(RuntimeError):
    """A test tried to leave this machine."""


def _refuse_outside(event: str, args: tuple[object, ...]) -> None:
    if event != "socket.connect" or not isinstance(args[1], tuple):
        return
    host = str(args[1][0])
    try:
        inside = host in ("", "localhost") or ipaddress.ip_address(host.split("%")[0]).is_loopback
    except ValueError:
        inside = False
    if not inside:
        raise OutsideNetwork(f"tests stay on this machine, but one tried to connect to {host}")


sys.addaudithook(_refuse_outside)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    """The worker's Redis or Valkey server. A test that kills it need not start it again, but see `private_redis`."""
    with EmbeddedRedis(tmp_path_factory.mktemp("redis"), binary=redis_binary()) as server:
        yield server


@pytest.fixture
def redis_url(redis_server: EmbeddedRedis) -> str:
    """The address of the worker's Redis, which is empty and configured as at its start."""
    url = redis_server.start()
    with redis.Redis.from_url(url) as client:
        client.config_set("maxmemory-policy", "noeviction", "maxmemory", "0")
        client.flushall()
        client.script_flush()
        client.function_flush()
    return url


@pytest.fixture
def private_redis(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    """A running server for this test alone, to be killed, stopped, emptied, or given an older file."""
    server = EmbeddedRedis(tmp_path / "private", binary=redis_binary())
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def postgres_server_url() -> Iterator[str]:
    """The worker's PostgreSQL server, by the address of its database `postgres`."""
    named = os.environ.get("CATRACA_TEST_PG_URL")
    if named:
        yield named
        return
    # Not pytest's folder: where PostgreSQL must run as the user nobody, that one is closed to it.
    with (
        tempfile.TemporaryDirectory(prefix="catraca-postgres-") as folder,
        running_postgres(Path(folder)) as url,
    ):
        yield url.render_as_string(hide_password=False)


@pytest.fixture
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    """An empty PostgreSQL database of this test's own."""
    with fresh_database(postgres_server_url, f"catraca_test_{os.getpid()}_{next(_DATABASE_NUMBERS)}") as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """An SQLite database of this test's own, which does not exist yet."""
    return f"sqlite:///{tmp_path / 'catraca.sqlite'}"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """An empty database, once on SQLite and once on PostgreSQL."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(scope="session")
def outside_data() -> Path:
    """The folder of outside data that CATRACA_OUTSIDE_DATA names; missing is an error."""
    named = os.environ.get("CATRACA_OUTSIDE_DATA", "")
    if not named or not Path(named).is_dir():
        raise FileNotFoundError(f"CATRACA_OUTSIDE_DATA names no folder: {named!r}")
    return Path(named)
