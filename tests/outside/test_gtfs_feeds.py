"""Real feeds: all of them are imported, and a second time nothing changes."""

from pathlib import Path

import pytest

from backoffice.adapters.gtfs_feed import GtfsFeed
from backoffice.application.import_gtfs import ImportReport, import_gtfs
from backoffice.application.read_gtfs import LineRules, read_gtfs
from backoffice.persistence.base import make_engine, writing
from backoffice.persistence.migrate import migrate
from tests.backoffice.register_city import NOW, TODAY

pytestmark = pytest.mark.outside


def load(database_url: str, path: Path, rules: LineRules) -> tuple[ImportReport, ImportReport]:
    engine = make_engine(database_url)
    migrate(engine)
    reports = []
    for _ in range(2):
        with GtfsFeed(path) as feed:
            contents = read_gtfs(feed, rules)
        with writing(engine) as session:
            reports.append(import_gtfs(session, None, NOW, contents, from_day=TODAY))
    engine.dispose()
    return reports[0], reports[1]


@pytest.mark.parametrize(
    ("name", "operators", "lines", "trips"),
    [
        ("bage_rs.zip", 1, 16, 2361),
        ("r5r_poa_eptc.zip", 1, 115, 2374),
        ("faresv2_zakroczym.zip", 1, 3, 48),
        ("spec_sample_feed_1.zip", 1, 5, 11),
    ],
)
def test_a_real_feed_is_imported_once(
    outside_data: Path, database_url: str, name: str, operators: int, lines: int, trips: int
):
    first, second = load(database_url, outside_data / "data" / "gtfs" / name, LineRules())

    assert (first.operators, first.lines, first.trips) == (operators, lines, trips)
    assert (second.operators, second.lines, second.trips, second.trips_changed) == (0, 0, 0, 0)


def test_the_operators_of_bage_stand_in_the_description_of_its_routes(outside_data: Path, sqlite_url: str):
    path = outside_data / "data" / "gtfs" / "bage_rs.zip"

    first, _ = load(sqlite_url, path, LineRules(operator_column="route_desc"))

    assert first.operators == 2
