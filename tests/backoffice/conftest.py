"""Fixtures of the register's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backoffice.register_city import RegisterCity, make_city


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
