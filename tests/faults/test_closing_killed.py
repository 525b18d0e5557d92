"""A closing that dies leaves nothing behind, and one that works keeps nobody from writing."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import event, func, select, text

from backoffice.application.close_month import close_month
from backoffice.persistence.base import make_engine, reading, writing
from backoffice.persistence.claims import ClaimRow, ClosingRow, EndStateRow, RatedRow
from tests.backoffice.claims_city import BOOK, CLOSING, make_claims_city
from tests.backoffice.claims_month import MARCH, a_month, close, closer
from validator.domain.service_time import Month

TABLES = (ClosingRow, RatedRow, EndStateRow, ClaimRow)


@pytest.mark.parametrize("moment", ["rating", "writing"])
def test_a_closing_that_is_killed_leaves_nothing_and_the_next_gives_the_same_bytes(
    database_url: str, tmp_path: Path, moment: str
) -> None:
    undisturbed = make_claims_city(f"sqlite:///{tmp_path / 'undisturbed.sqlite'}")
    city = make_claims_city(database_url)
    for each in (undisturbed, city):
        a_month(each)
        each.store()

    died = subprocess.run(
        [sys.executable, "-m", "tests.faults.dying_closing", database_url, moment], check=False, timeout=60
    )

    assert died.returncode == -signal.SIGKILL
    with reading(city.engine) as session:
        assert [session.scalar(select(func.count()).select_from(table)) for table in TABLES] == [0] * 4
    assert close(city).claims == close(undisturbed).claims
    city.engine.dispose()
    undisturbed.engine.dispose()


def test_others_write_while_a_month_is_rated(database_url: str) -> None:
    """On SQLite, which has one writer, a closing takes its turn only when all verdicts are found."""
    city = make_claims_city(database_url)
    a_month(city)
    city.store()
    other = make_engine(database_url)
    if other.dialect.name == "sqlite":
        event.listen(other, "connect", lambda connection, _: connection.execute("PRAGMA busy_timeout=0"))
    written = []

    def progress(_done: int, _total: int) -> None:
        with writing(other) as session:
            session.execute(text("UPDATE holders SET published_revision = published_revision + 1"))
        written.append(1)

    closed = close_month(city.engine, BOOK, MARCH, at=CLOSING, by=closer(city), progress=progress)

    assert written
    assert not closed.closed_before
    other.dispose()
    city.engine.dispose()


def test_a_closing_that_another_one_overtakes_begins_again(sqlite_url: str) -> None:
    """Another month is closed while March is rated: what was found of March is thrown away and found again."""
    city = make_claims_city(sqlite_url)
    student = city.student()
    city.tap(CLOSING.replace(month=3, day=10), holder=student)
    city.store()
    began = []

    def progress(_done: int, _total: int) -> None:
        began.append(1)
        if len(began) == 1:
            other = make_engine(sqlite_url)
            with writing(other) as session:
                session.add(
                    ClosingRow(
                        month=Month("2026-01"),
                        part=1,
                        closed_at=CLOSING,
                        closed_by="other",
                        rules_version=BOOK.version,
                        fares_sha256="0" * 64,
                    )
                )
            other.dispose()

    close_month(city.engine, BOOK, MARCH, at=CLOSING, by=closer(city), progress=progress)

    with reading(city.engine) as session:
        assert list(session.scalars(select(ClosingRow.month).order_by(ClosingRow.id))) == [
            "2026-01",
            "2026-03",
        ]
    assert len(began) > 1
    city.engine.dispose()
