"""The bench's city in the tables of the peers."""

from importlib import resources

import psycopg

from loadtests.bench.city import PASSES, BenchCity


def write_peer_city(url: str, city: BenchCity) -> None:
    """Make the peers' tables anew and fill them with the holders who can tap."""
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS boardings, holders CASCADE")
        connection.execute("DROP FUNCTION IF EXISTS board")
        connection.execute((resources.files("loadtests.peers") / "tables.sql").read_text(encoding="utf-8"))
        with connection.cursor().copy("COPY holders (holder_id, category, passes) FROM STDIN") as copy:
            for rider in city.riders:
                if rider.token is not None:
                    copy.write_row((rider.holder_id, rider.category.value, PASSES))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE holders")


def count_of_peer(url: str) -> tuple[int, int]:
    """Boardings in the peer's table, and passes that its holders have used: the peer's answers are checked too."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM boardings), (SELECT sum(%s - passes) FROM holders)", (PASSES,)
        ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])
