"""What riders heard of each tap, and whether the database ends with the same: tap by tap, after a load of locust."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import redis
from sqlalchemy import Engine, func, select

from backoffice.adapters.hot_state import HotState
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.ingest import Ingester
from backoffice.persistence.base import make_engine, reading
from backoffice.persistence.journal import BoardingRow, TapKeyRow
from backoffice.persistence.migrate import migrate
from loadtests.bench.audit import WrongAnswer
from loadtests.bench.city import USED
from loadtests.bench.ingest import Streams, law
from validator.records.keys import usage_key
from validator.records.usage import unpack_usage

Row = tuple[str, str, int, int]
"""Kind, reason, fare and rider's part of a row."""


class HeardFile:
    """Writes down what came back for each tap, one line each."""

    def __init__(self, path: Path) -> None:
        self._out = path.open("a", encoding="utf-8", buffering=1 << 16)

    def single(self, boarding_id: str, status: int, body: bytes) -> None:
        """The answer to a tap on the single route; status 0 where none came."""
        said = json.loads(body) if status == 200 else {}
        row = None
        if said and said["outcome"] != "recorded":
            kind = "BOARDING" if said["outcome"] == "accepted" else "REFUSAL"
            row = [kind, said["reason"]["name"], said["fare_cents"], said["rider_cents"]]
        self._write(boarding_id, recorded=status == 200, row=row)

    def batch(self, boarding_ids: Sequence[str], status: int, body: bytes) -> None:
        """The answer to an upload."""
        items = json.loads(body)["items"] if status == 200 else [{"recorded": False}] * len(boarding_ids)
        for boarding_id, item in zip(boarding_ids, items, strict=True):
            self._write(boarding_id, recorded=item["recorded"], row=None)

    def _write(self, boarding_id: str, *, recorded: bool, row: list[object] | None) -> None:
        self._out.write(json.dumps([boarding_id, recorded, row]) + "\n")

    def close(self) -> None:
        """Nothing more will be heard."""
        self._out.close()


@dataclass(slots=True)
class Settled:
    """What the comparison found.

    Attributes:
        taps: Taps sent.
        recorded: Those that were answered as recorded, each of them one row.
        lost: Rows of taps whose answer did not arrive.
        rider_cents: What riders paid, by the rows.
        outcomes: Rows by kind and reason.
    """

    taps: int = 0
    recorded: int = 0
    lost: int = 0
    rider_cents: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    def told(self) -> str:
        """In one line."""
        found = ", ".join(f"{name} {count:,}" for name, count in self.outcomes.most_common())
        return (
            f"{self.taps:,} taps sent, {self.recorded:,} answered and found in SQL one by one, {self.lost:,} more "
            f"rows whose answer was refused or lost; {found}; riders paid {self.rider_cents / 100:,.2f}"
        )


def settle(url: str, folder: Path, path: Path) -> Settled:
    """Ingest the journal of a load into an empty SQLite and compare it with what was heard.

    Raises:
        WrongAnswer: the first difference.
    """
    engine = make_engine(f"sqlite:///{folder / 'settled.sqlite'}")
    try:
        migrate(engine)
        with redis.Redis.from_url(url) as client:
            streams = Streams(client, [])
            streams.empty()
            with RedisLink(url) as link:
                ingester = Ingester(engine, HotState(link), law(), lambda: datetime.now(UTC))
                ingester.begin()
                streams.refill()
                while ingester.step():
                    pass
            settled = _compare(engine, path)
            _compare_usage(engine, client)
    finally:
        engine.dispose()
    return settled


def _heard(path: Path) -> Iterator[tuple[str, bool, Row | None]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            boarding_id, recorded, row = json.loads(line)
            yield boarding_id, recorded, None if row is None else (row[0], row[1], row[2], row[3])


def _compare(engine: Engine, path: Path) -> Settled:
    settled = Settled()
    columns = (BoardingRow.kind, BoardingRow.reason, BoardingRow.fare_cents, BoardingRow.rider_cents)
    with reading(engine) as session:
        rows: dict[str, Row] = {}
        for boarding_id, kind, reason, fare, rider in session.execute(
            select(BoardingRow.boarding_id, *columns)
        ):
            rows[str(UUID(str(boarding_id)))] = (kind, reason, fare, rider)
        keys = session.scalar(select(func.count()).select_from(TapKeyRow))
    if keys != len(rows):
        raise WrongAnswer(f"{keys:,} sequences are in SQL and {len(rows):,} boardings")
    for kind, reason, _, rider_cents in rows.values():
        settled.outcomes[f"{kind} {reason}"] += 1
        settled.rider_cents += rider_cents if kind == "BOARDING" else 0
    for boarding_id, recorded, heard in _heard(path):
        settled.taps += 1
        row_found = rows.pop(boarding_id, None)
        if not recorded:
            settled.lost += row_found is not None
            continue
        settled.recorded += 1
        if row_found is None or (heard is not None and heard != row_found):
            raise WrongAnswer(f"tap {boarding_id}: riders heard {heard}, SQL says {row_found}")
    if rows:
        raise WrongAnswer(f"SQL has {len(rows):,} boardings that nobody sent, such as {next(iter(rows))}")
    return settled


def _compare_usage(engine: Engine, client: "redis.Redis") -> None:
    """Passes that Redis counts as used, against rides in SQL that spent one."""
    spent = Counter[str]()
    spends = BoardingRow.category.in_(("VT", "PREPAID", "STUDENT_50"))
    with reading(engine) as session:
        query = select(BoardingRow.holder, func.count()).where(BoardingRow.kind == "BOARDING", spends)
        for holder, count in session.execute(query.group_by(BoardingRow.holder)):
            spent[holder or ""] = count
    for holder, count in spent.items():
        packed = client.get(usage_key(holder))
        used = sum(unpack_usage(packed).used.values()) if isinstance(packed, bytes) else 0
        if used != USED + count:
            raise WrongAnswer(f"holder {holder}: Redis counts {used} passes, SQL {USED} and {count} more")
