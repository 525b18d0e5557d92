"""Fixtures of the register's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from backoffice.adapters.hot_state import HotState
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.ingest import Ingester
from tests.backoffice.journal_play import SmallValidator, clock, database, packaged
from tests.backoffice.register_city import RegisterCity, make_city
from tests.backoffice.register_http import Api, app_of


@pytest.fixture
def city(database_url: str, tmp_path: Path) -> Iterator[RegisterCity]:
    """A city in a database of its own, once on SQLite and once on PostgreSQL."""
    made = make_city(database_url, tmp_path)
    yield made
    made.engine.dispose()


@pytest.fixture
def sqlite_city(sqlite_url: str, tmp_path: Path) -> Iterator[RegisterCity]:
    """The same on SQLite only, for rules that no database changes."""
    made = make_city(sqlite_url, tmp_path)
    yield made
    made.engine.dispose()


@pytest.fixture
def api(city: RegisterCity) -> Iterator[Api]:
    """A client of the city's API, once on SQLite and once on PostgreSQL."""
    with TestClient(app_of(city), raise_server_exceptions=False) as client:
        yield Api(city, client)


@pytest.fixture
def lite(sqlite_city: RegisterCity) -> Iterator[Api]:
    """The same on SQLite only."""
    with TestClient(app_of(sqlite_city), raise_server_exceptions=False) as client:
        yield Api(sqlite_city, client)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """An empty database with all tables."""
    made = database(database_url)
    yield made
    made.dispose()


@pytest.fixture
def ingester(engine: Engine, redis_url: str) -> Iterator[Ingester]:
    """An ingester that has verified the worker's Redis."""
    with RedisLink(redis_url) as link:
        made = Ingester(engine, HotState(link), packaged(), clock)
        made.begin()
        yield made


@pytest.fixture
def bus(redis_url: str, ingester: Ingester) -> SmallValidator:
    """Who commits entries into shards that the ingester has opened."""
    return SmallValidator(redis_url)
