"""Partitions of `boardings` on PostgreSQL: one for each civil month, made when the first boarding of it comes."""

from collections.abc import Iterable

from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from backoffice.persistence.advisory_lock import take_turn
from backoffice.persistence.base import writing
from backoffice.persistence.journal import DEFAULT_PARTITION, BoardingRow
from validator.domain.service_time import parse_month

PREFIX = f"{BoardingRow.__tablename__}_"
"""How the names of partitions begin; whoever compares tables with models leaves these out."""

_TURN = "partitions of boardings"


def ensure_partitions(engine: Engine, months: Iterable[str]) -> None:
    """Make the partitions of these months where they are missing; nothing on SQLite.

    A month whose first rows came into the default partition (a device whose clock ran ahead) stays there: correct,
    and only slower to read.

    Raises:
        sqlalchemy.exc.OperationalError: a reader held the table for five seconds; try again.
    """
    if engine.dialect.name != "postgresql":
        return
    with writing(engine) as session:
        take_turn(session, _TURN)
        session.execute(text(DEFAULT_PARTITION))
    for month in months:
        _ensure_partition(engine, parse_month(month))


def _ensure_partition(engine: Engine, month: str) -> None:
    name = PREFIX + month.replace("-", "_")
    try:
        with writing(engine) as session:
            take_turn(session, _TURN)
            if session.scalar(text("SELECT to_regclass(:name)"), {"name": name}) is not None:
                return
            session.execute(text("SET LOCAL lock_timeout = '5s'"))
            # ATTACH, unlike PARTITION OF, lets readers and writers of the other months go on.
            session.execute(text(f"CREATE TABLE {name} (LIKE boardings INCLUDING ALL)"))
            session.execute(text(f"ALTER TABLE boardings ATTACH PARTITION {name} FOR VALUES IN ('{month}')"))
    except IntegrityError:
        return
