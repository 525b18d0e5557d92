"""From the journal streams into SQL, exactly once, against the front's own rate and a raw binary COPY."""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import redis
from sqlalchemy import Engine, select

from backoffice.adapters.hot_state import HotState
from backoffice.adapters.law_file import law_from, law_mapping_from
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.ingest import Ingester
from backoffice.application.publish import Law
from backoffice.persistence.base import make_engine, reading
from backoffice.persistence.journal import TapKeyRow
from backoffice.persistence.migrate import migrate
from loadtests.bench.audit import WrongAnswer
from loadtests.bench.generator import Load, closed_loop
from loadtests.bench.machine import pin, processors
from loadtests.bench.stage import Stage, now
from loadtests.bench.table import Measured, NotMeasured, Outcome
from loadtests.bench.taps import TapMaker
from validator.records.keys import SHARDS, VERIFIED, commit_no_key, fence_key, generation_key, journal_key

_CHUNK = 100_000


def law() -> Law:
    """The packaged rule table, as the processes of the back office hold it."""
    return Law(law_from(None), law_mapping_from(None))


class Streams:
    """The journal of real taps, kept aside so that it can be ingested again and again."""

    def __init__(self, client: "redis.Redis", ids: list[str]) -> None:
        self.ids = ids
        self._client = client
        self._journals = [client.dump(journal_key(number)) for number in range(SHARDS)]
        self._commits = [client.get(commit_no_key(number)) for number in range(SHARDS)]

    def empty(self) -> None:
        """Take streams, counters and generations out, so that a new database may begin with this Redis."""
        for number in range(SHARDS):
            keys = (journal_key(number), commit_no_key(number), generation_key(number), fence_key(number))
            self._client.delete(*keys)
        self._client.delete(VERIFIED)

    def refill(self) -> None:
        """Put streams and counters back as they were."""
        for number, (dumped, commits) in enumerate(zip(self._journals, self._commits, strict=True)):
            if dumped is not None and commits is not None:
                self._client.restore(journal_key(number), 0, dumped, replace=True)
                self._client.set(commit_no_key(number), commits)


def measure_ingest(stage: Stage) -> Iterator[Outcome]:
    """Rows a second into PostgreSQL and SQLite; every tap of the run is then one row, looked up one by one."""
    if stage.tier.rows == 0:
        for key in ("ingest_vs_peak", "ingest_vs_copy", "ingest_sqlite"):
            yield NotMeasured(key, f"not measured in the {stage.tier.name} tier")
        return
    peaks: list[float] = []
    rates: dict[str, list[float]] = {"postgres": [], "sqlite": []}
    copies: list[float] = []
    with stage.redis(stage.tier.holders) as (url, city), redis.Redis.from_url(url) as client:
        with stage.validator(url) as port:
            streams = _journal(stage, url, port, TapMaker(city), client, peaks)
        with stage.postgres() as server:
            for _ in range(max(1, stage.tier.rounds - 1)):
                rates["sqlite"].append(_ingest(stage, url, _sqlite(stage), streams))
                database = _fresh_database(server)
                rates["postgres"].append(_ingest(stage, url, database, streams))
                copies.append(_raw_copy(database))
    peak = max(peaks)
    for name, values in rates.items():
        for value in values:
            stage.figures.add(f"ingest into {name}", "rows/s", value)
    for value in copies:
        stage.figures.add("raw binary COPY", "rows/s", value)
    yield Measured("ingest_vs_peak", [rate / peak for rate in rates["postgres"]])
    yield Measured("ingest_vs_copy", [a / b for a, b in zip(rates["postgres"], copies, strict=True)])
    yield Measured("ingest_sqlite", rates["sqlite"])


def _journal(
    stage: Stage, url: str, port: int, maker: TapMaker, client: "redis.Redis", peaks: list[float]
) -> Streams:
    """Let the validator write the journal, by taps over HTTP."""
    ids: list[str] = []
    while len(ids) < stage.tier.rows:
        taps = maker.singles(min(_CHUNK, stage.tier.rows - len(ids)), now())
        peaks.append(send_all(port, taps.requests).per_second)
        ids += taps.boarding_ids
        stage.say(f"journal of {len(ids):,} taps, {peaks[-1]:,.0f}/s")
    return Streams(client, ids)


def send_all(port: int, requests: Sequence[bytes]) -> Load:
    """Send requests as fast as they are answered, and as a device does: what is told to come again comes again.

    Returns:
        What the first sending of all of them saw.

    Raises:
        WrongAnswer: something was answered that no repetition mends, or is still refused after a minute.
    """
    first = load = closed_loop(port, requests, seconds=600, warm_up_s=0)
    for _ in range(60):
        busy = [answer.index for answer in load.answers if answer.status == 503]
        if load.with_status(200) + len(busy) != len(requests):
            raise WrongAnswer(f"{len(requests) - load.with_status(200) - len(busy)} taps were not answered")
        if not busy:
            return first
        time.sleep(1)
        requests = [requests[index] for index in busy]
        load = closed_loop(port, requests, seconds=600, warm_up_s=0)
    raise WrongAnswer(f"{len(requests)} taps were still refused after a minute")


def _ingest(stage: Stage, url: str, database: str, streams: Streams) -> float:
    engine = make_engine(database)
    migrate(engine)
    streams.empty()
    try:
        with RedisLink(url) as link:
            ingester = Ingester(engine, HotState(link), law(), lambda: datetime.now(UTC))
            ingester.begin()
            streams.refill()
            with on_server_processor():
                began = time.perf_counter()
                while ingester.step():
                    pass
                seconds = time.perf_counter() - began
        _compare(engine, streams.ids)
    finally:
        engine.dispose()
    rate = len(streams.ids) / seconds
    stage.say(
        f"ingest into {engine.dialect.name}: {rate:,.0f} rows/s, all {len(streams.ids):,} found one by one"
    )
    return rate


def _compare(engine: Engine, ids: list[str]) -> None:
    with reading(engine) as session:
        found = [UUID(text).bytes for text in session.scalars(select(TapKeyRow.boarding_id))]
    if sorted(found) != sorted(UUID(text).bytes for text in ids):
        raise WrongAnswer(f"{len(ids):,} taps were sent and {len(found):,} rows are in SQL, or others")


@contextlib.contextmanager
def on_server_processor() -> Iterator[None]:
    """This process does the server's work for a while, on its processor."""
    pin(os.getpid(), processors().server)
    try:
        yield
    finally:
        pin(os.getpid(), processors().rest)


def _sqlite(stage: Stage) -> str:
    return f"sqlite:///{stage.new_folder('sqlite') / 'catraca.sqlite'}"


def _fresh_database(server: str) -> str:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS ingested WITH (FORCE)")
        connection.execute("CREATE DATABASE ingested TEMPLATE template0")
    return server.rsplit("/", 1)[0] + "/ingested"


def _raw_copy(database: str) -> float:
    """Rows a second of COPY in binary form into a table with the primary key: the same rows, nothing else."""
    with psycopg.connect(database) as connection:
        cursor = connection.cursor()
        with cursor.copy("COPY (SELECT * FROM boardings) TO STDOUT (FORMAT BINARY)") as out:
            data = [bytes(block) for block in out]
        cursor.execute("CREATE TABLE copied (LIKE boardings INCLUDING DEFAULTS)")
        cursor.execute("ALTER TABLE copied ADD PRIMARY KEY (month, device, epoch, seq)")
        connection.commit()
        began = time.perf_counter()
        with cursor.copy("COPY copied FROM STDIN (FORMAT BINARY)") as copy:
            for block in data:
                copy.write(block)
        connection.commit()
        return cursor.rowcount / (time.perf_counter() - began)
