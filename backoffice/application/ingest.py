"""The ingester: the journal streams into SQL, and the one who says that a Redis process may be believed.

At least once, exactly once in effect: rows and progress are one transaction; what Redis is told follows the commit.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial

import structlog
from sqlalchemy import Engine

from backoffice.adapters.hot_state import HotState, ShardState
from backoffice.adapters.ingest_lock import IngestLock
from backoffice.adapters.journal_stream import StreamItem, read_streams, trim_commands, waiting
from backoffice.adapters.redis_link import RedisLink, Unavailable
from backoffice.application.collector import no_search_for_cycles
from backoffice.application.ingest_plan import Decoded
from backoffice.application.ingest_progress import OtherIngester, Position
from backoffice.application.ingest_write import JournalWriter, Round
from backoffice.application.publish import Law
from backoffice.application.rebuild import Progress, Rebuilder, load_positions, no_progress
from backoffice.application.verify_hot_state import repair_register, shards_without_usage
from backoffice.persistence.bulk import DatabaseAway
from validator.records.keys import SHARDS

_log = structlog.get_logger("catraca.ingest")

COUNT = 200
"""Entries read of one stream at a time: at most 12,800 (some 30 MB) in one transaction, twice that in memory."""

_LOOK_S = 0.1
_AWAY_PAUSE_S = 0.2
_REPORT_S = 60.0


class OtherDatabase(RuntimeError):
    """Redis holds counts that this database knows nothing of; the message says what to do."""


@dataclass(slots=True)
class Tally:
    """What this process has done so far.

    Attributes:
        entries: Entries read.
        rows: Rows written.
        forks: Second entries under used sequences.
        rejected: Rejected rows.
        gaps: Numbers of commits that never came: their entries are in no stream.
        broken_heads: Heads that the rows contradict, or that the device's key did not sign.
        rebuilt: Shards rebuilt.
    """

    entries: int = 0
    rows: int = 0
    forks: int = 0
    rejected: int = 0
    gaps: int = 0
    broken_heads: int = 0
    rebuilt: int = 0


@dataclass(slots=True)
class _Taken:
    """Items of one read that may be written, and shards that must be rebuilt instead."""

    items: list[StreamItem] = field(default_factory=list)
    after: dict[int, Position] = field(default_factory=dict)
    regressed: set[int] = field(default_factory=set)
    gaps: int = 0


@dataclass(frozen=True, slots=True)
class _Portion:
    """One read of the streams: its items, those that may be written, and these decoded."""

    items: list[StreamItem]
    taken: _Taken
    decoded: list[Decoded]


class Ingester:
    """Ingest on one link to one Redis process; made anew when the link breaks."""

    def __init__(
        self,
        engine: Engine,
        hot: HotState,
        law: Law,
        clock: Callable[[], datetime],
        tally: Tally | None = None,
    ) -> None:
        self._engine = engine
        self._hot = hot
        self._writer = JournalWriter(engine)
        self._rebuilder = Rebuilder(engine, hot, self._writer, law, clock)
        self._law = law
        self._clock = clock
        self._positions: dict[int, Position] = {}
        self._looked = 0.0
        self._ahead: _Portion | None = None
        self._thread = ThreadPoolExecutor(1) if engine.dialect.name == "postgresql" else None
        self.tally = tally or Tally()

    def begin(self, progress: Progress = no_progress) -> None:
        """Compare the Redis process with SQL, rebuild what differs, and then say that it may be believed.

        Raises:
            EvictingRedis: the server may drop keys.
            OtherDatabase: the database is empty and Redis is not.
        """
        self._hot.refuse_eviction()
        self._ahead = None
        self._positions = load_positions(self._engine)
        states = self._hot.shard_states()
        if not self._positions and any(state.generation is not None for state in states):
            raise OtherDatabase(
                "Este Redis guarda contagens de outro banco de dados. Aponte CATRACA_DATABASE_URL para o banco certo, "
                "ou, se o banco é mesmo novo, esvazie o Redis (FLUSHALL) e comece de novo."
            )
        verified = self._hot.verified()
        unsound = unsound_shards(states, self._positions)
        if not verified:
            unsound |= shards_without_usage(self._engine, self._hot)
        if unsound:
            self._rebuild(unsound, progress)
        if not verified:
            repair_register(self._engine, self._hot, self._law, self._clock())
            self._hot.set_verified()
            _log.info("redis_verified", run_id=self._hot.link.run_id, rebuilt=len(unsound))

    def step(self) -> int:
        """One round: read, write, acknowledge; returns how many entries were read."""
        if time.monotonic() - self._looked > _LOOK_S:
            if not self._hot.verified():  # emptied while it ran: whoever connects anew waits for this
                self.begin()
            unsound = unsound_shards(self._hot.shard_states(), self._positions)
            if unsound:
                self._rebuild(unsound)
            self._looked = time.monotonic()
        with no_search_for_cycles():
            return self._round()

    def _round(self) -> int:
        portion = self._ahead or self._portion(self._positions)
        self._ahead = None
        if not portion.items:
            return 0
        before, taken = self._positions, portion.taken
        written, ahead = self._write(portion, before)
        moved = [n for n, position in taken.after.items() if position != before[n]]
        self._positions = taken.after
        trims = trim_commands((number, taken.after[number].stream_id) for number in moved)
        self._hot.acknowledge(written.durable.items(), written.expiring, trims)
        self._count(len(portion.items), taken, written)
        if taken.regressed or written.repeated_effects:
            self._rebuild(taken.regressed | written.repeated_effects)
        elif ahead is not None and ahead.items:
            self._ahead = ahead
        return len(portion.items)

    def _write(self, portion: _Portion, before: Mapping[int, Position]) -> tuple[Round, _Portion | None]:
        """Write a portion while the next one is read.

        One after the other on SQLite, whose driver gives Python's lock away for every row.
        """
        taken = portion.taken
        write = partial(self._writer.write, taken.items, before, taken.after, portion.decoded)
        if self._thread is None:
            return write(), None
        writing = self._thread.submit(write)
        try:
            ahead = self._portion(taken.after)
        finally:
            wait([writing])
        return writing.result(), ahead

    def _portion(self, positions: Mapping[int, Position]) -> _Portion:
        """What follows a position in the streams."""
        reached = {number: position.stream_id for number, position in positions.items()}
        items = read_streams(self._hot.link, reached, count=COUNT)
        taken = _take(items, positions)
        return _Portion(items, taken, self._writer.read(taken.items))

    def report(self) -> None:
        """One log line: what was done, and how far behind."""
        lag = waiting(self._hot.link)
        _log.info("ingest_progress", **asdict(self.tally), waiting=lag.entries, seconds_behind=lag.seconds)

    def rebuild_all(self, progress: Progress = no_progress) -> None:
        """Rebuild every shard."""
        self._rebuild(set(range(SHARDS)), progress)

    def _rebuild(self, shards: set[int], progress: Progress = no_progress) -> None:
        self._ahead = None
        self._positions |= self._rebuilder.rebuild(shards, progress)
        self.tally.rebuilt += len(shards)

    def _count(self, entries: int, taken: _Taken, written: Round) -> None:
        tally = self.tally
        tally.entries += entries
        tally.rows += written.rows
        tally.forks += written.forks
        tally.rejected += written.rejected
        tally.gaps += taken.gaps
        if taken.gaps:
            _log.error("commits_missing", count=taken.gaps)
        if written.forks or written.rejected:
            _log.warning("entries_set_apart", forks=written.forks, rejected=written.rejected)
        for device, epoch, seq, verdict in written.verdicts:
            if verdict in ("BROKEN", "BAD_SIGNATURE"):
                tally.broken_heads += 1
                _log.error("head_not_believed", device=device, epoch=epoch, seq=seq, verdict=verdict)


def unsound_shards(states: Sequence[ShardState], positions: Mapping[int, Position]) -> set[int]:
    """Shards whose counters do not go on where SQL stands, or that somebody has fenced."""
    return {
        number
        for number, state in enumerate(states)
        if state.fenced
        or number not in positions
        or state.generation != positions[number].generation
        or state.commit_no < positions[number].commit_no
    }


def _take(items: Iterable[StreamItem], positions: Mapping[int, Position]) -> _Taken:
    """Follow each shard's commit numbers; one that comes twice means that Redis has lost what SQL has."""
    taken = _Taken()
    commits = {number: position.commit_no for number, position in positions.items()}
    reached: dict[int, str] = {}
    for item in items:
        shard, commit_no = item.shard, item.commit_no
        if shard in taken.regressed:
            continue
        if commit_no != 0:  # else it cannot be read
            if item.generation != positions[shard].generation or commit_no <= commits[shard]:
                taken.regressed.add(shard)
                continue
            taken.gaps += commit_no - commits[shard] - 1
            commits[shard] = commit_no
        taken.items.append(item)
        reached[shard] = item.stream_id
    taken.after = dict(positions)
    for shard, stream_id in reached.items():
        taken.after[shard] = Position(stream_id, commits[shard], positions[shard].generation)
    return taken


def run_ingest(
    engine: Engine,
    redis_url: str,
    law: Law,
    clock: Callable[[], datetime],
    stop: threading.Event,
    *,
    poll_s: float = 0.05,
    tally: Tally | None = None,
) -> None:
    """Ingest until `stop` is set; waits for its turn, for Redis and for the database.

    Args:
        engine: The database.
        redis_url: Where Redis is.
        law: The rule table, for snapshots that a rebuild writes.
        clock: Tells the instant.
        stop: Ends the run.
        poll_s: Pause between looks at empty streams, in seconds.
        tally: Where to count; for metrics.

    Raises:
        EvictingRedis, OtherDatabase: a person must repair the set-up.
    """
    counted = tally or Tally()
    with IngestLock(engine) as lock:
        while not stop.is_set():
            try:
                if not lock.held() and not lock.acquire():
                    stop.wait(_AWAY_PAUSE_S)
                    continue
                with RedisLink(redis_url) as link:
                    _follow(Ingester(engine, HotState(link), law, clock, counted), stop, poll_s)
            except (*Unavailable, *DatabaseAway) as error:
                _log.warning("ingester_waits", why=str(error).splitlines()[0])
                stop.wait(_AWAY_PAUSE_S)
            except OtherIngester as error:
                _log.error("ingester_stands_back", why=str(error))
                lock.release()
                stop.wait(_AWAY_PAUSE_S)


def _follow(ingester: Ingester, stop: threading.Event, poll_s: float) -> None:
    ingester.begin()
    reported = time.monotonic()
    while not stop.is_set():
        if ingester.step() == 0:
            stop.wait(poll_s)
        if time.monotonic() - reported > _REPORT_S:
            ingester.report()
            reported = time.monotonic()


def rebuild_all(
    engine: Engine,
    redis_url: str,
    law: Law,
    clock: Callable[[], datetime],
    progress: Progress,
    *,
    timeout_s: float = 600.0,
) -> None:
    """Rebuild the whole hot state: by this process, or, where an ingester runs, by that one while this one watches.

    Raises:
        TimeoutError: the ingester did not open all shards in time.
        redis.RedisError: Redis went away.
    """
    with IngestLock(engine) as lock, RedisLink(redis_url) as link:
        hot = HotState(link)
        if lock.acquire():
            hot.raise_fences(range(SHARDS))
            Ingester(engine, hot, law, clock).begin(progress)
            return
        hot.raise_fences(range(SHARDS))
        deadline = time.monotonic() + timeout_s
        while (fenced := sum(state.fenced for state in hot.shard_states())) > 0:
            progress(SHARDS - fenced, SHARDS)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{fenced} shards are still fenced; look at the ingester's log")
            time.sleep(_LOOK_S)
        progress(SHARDS, SHARDS)
