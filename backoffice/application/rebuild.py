"""Rebuild shards of the hot state from SQL: fence, drain, fold, restore, open under a new generation.

While it runs the shard answers nothing; whatever goes wrong in between leaves the fence or another generation behind,
and the next look at the shard begins again.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import Engine, literal_column, select, union_all, update
from sqlalchemy.orm import Session

from backoffice.adapters.hot_state import HotState
from backoffice.adapters.journal_stream import START, read_streams, stream_place
from backoffice.application.collector import no_search_for_cycles
from backoffice.application.ingest_progress import Position
from backoffice.application.ingest_write import JournalWriter
from backoffice.application.publish import Law
from backoffice.application.publish_records import (
    NO_USAGE,
    all_devices,
    all_holders,
    all_uid_publications,
    city_record,
    device_publications,
    holder_publications,
    packed_city,
)
from backoffice.application.rebuild_answers import kept_answers
from backoffice.application.sequence_gaps import load_ranges
from backoffice.persistence.base import Base, reading, writing
from backoffice.persistence.city import CityRow
from backoffice.persistence.journal import DeviceEpochRow, ShardRow
from backoffice.persistence.journal_effects import unpack_effects
from validator.domain.fares import FareError
from validator.domain.service_time import civil_date
from validator.domain.usage import Usage
from validator.records.keys import device_shard, holder_shard, uid_shard
from validator.records.snapshot import DurableRecord
from validator.records.usage import fold, pack_usage

_log = structlog.get_logger("catraca.rebuild")

Progress = Callable[[int, int], None]
"""Told after each shard: how many are open again, of how many."""

_DRAIN_COUNT = 200
_CHUNK = 500
_EFFECT_TABLES = ("boardings", "releases", "annulments", "rejected", "forks")


def no_progress(_done: int, _total: int) -> None:
    """Tell nobody."""


def load_positions(engine: Engine) -> dict[int, Position]:
    """Each shard's progress as SQL has it."""
    with reading(engine) as session:
        return {
            row.number: Position(row.stream_id, row.commit_no, row.generation)
            for row in session.scalars(select(ShardRow))
        }


class Rebuilder:
    """Rebuilds shards; one at a time, by the one ingester."""

    def __init__(
        self, engine: Engine, hot: HotState, writer: JournalWriter, law: Law, clock: Callable[[], datetime]
    ) -> None:
        self._engine = engine
        self._hot = hot
        self._writer = writer
        self._law = law
        self._clock = clock

    def rebuild(self, shards: set[int], progress: Progress = no_progress) -> dict[int, Position]:
        """Rebuild shards and open them; returns their new positions.

        Raises:
            redis.RedisError: Redis went away; the shards stay fenced or of another generation.
            sqlalchemy.exc.OperationalError: the database went away; likewise.
        """
        _log.warning("rebuild_begins", shards=len(shards))
        self._hot.raise_fences(sorted(shards))
        self._make_rows(shards)
        self._drain(shards)
        self._restore_city()
        now = self._clock()
        with reading(self._engine) as session:
            holders: dict[int, list[int]] = {}
            for holder_id, hot_id, _, _ in all_holders(session):
                number = holder_shard(hot_id)
                if number in shards:
                    holders.setdefault(number, []).append(holder_id)
            self._restore_devices(session, shards)
            self._restore_uids(session, shards)
            # Closed even when Redis fails in between: what is streamed holds a cursor of the database.
            with closing(kept_answers(session, shards, now)) as portions:
                for answers in portions:
                    self._hot.restore_answers(answers)
            opened: dict[int, Position] = {}
            for number in sorted(shards):
                with no_search_for_cycles():
                    self._restore_holders(session, number, holders.get(number, []), now)
                opened[number] = self._open(number)
                progress(len(opened), len(shards))
        _log.warning("rebuild_ends", shards=len(shards))
        return opened

    def _make_rows(self, shards: Iterable[int]) -> None:
        with writing(self._engine) as session:
            for number in shards:
                if session.get(ShardRow, number) is None:
                    session.add(ShardRow(number=number, generation=0, commit_no=0, stream_id=START))

    def _drain(self, shards: set[int]) -> None:
        """All that still stands in the streams, from their beginnings: what SQL has already adds nothing."""
        positions = {n: p for n, p in load_positions(self._engine).items() if n in shards}
        reached = dict.fromkeys(shards, START)
        while items := read_streams(self._hot.link, reached, count=_DRAIN_COUNT):
            after = dict(positions)
            for item in items:
                reached[item.shard] = item.stream_id
                was = after[item.shard]
                stream_id = max(was.stream_id, item.stream_id, key=stream_place)
                after[item.shard] = Position(stream_id, max(was.commit_no, item.commit_no), was.generation)
            written = self._writer.write(items, positions, after)
            self._hot.acknowledge(written.durable.items(), written.expiring, ())
            positions = after

    def _restore_city(self) -> None:
        publish_city(self._engine, self._hot, self._law, self._clock())

    def _restore_devices(self, session: Session, shards: set[int]) -> None:
        devices = [device for device, _ in all_devices(session) if device_shard(device) in shards]
        self._hot.publish([one[2] for one in device_publications(session, devices)])
        self._hot.write_durable(
            (epoch, record) for epoch, record in durable_records(session) if device_shard(epoch[0]) in shards
        )

    def _restore_uids(self, session: Session, shards: set[int]) -> None:
        """Where to look for the chips of these shards; their holders may live in others."""
        chips = all_uid_publications(session)
        self._hot.publish([record for uid, record in chips if uid_shard(uid) in shards])

    def _restore_holders(self, session: Session, number: int, holder_ids: list[int], now: datetime) -> None:
        usages = fold_shard(session, number)
        for start in range(0, len(holder_ids), _CHUNK):
            chunk = holder_ids[start : start + _CHUNK]
            built = holder_publications(session, self._law.book, chunk, civil_date(now))
            snapshots = [publication for _, _, publication in built]
            self._hot.publish(snapshots)
            hot_ids = [publication.key.rpartition(b":")[2].decode() for publication in snapshots]
            self._hot.write_usage(
                (hot_id, pack_usage(usages.pop(hot_id)) if hot_id in usages else NO_USAGE)
                for hot_id in hot_ids
            )
        self._hot.write_usage((hot_id, pack_usage(usage)) for hot_id, usage in usages.items())

    def _open(self, number: int) -> Position:
        """SQL first, then Redis: a crash in between leaves the fence and an unequal generation, never a false peace."""
        state = self._hot.shard_states([number])[0]
        with writing(self._engine) as session:
            row = session.get_one(ShardRow, number)
            generation = max(row.generation, state.generation or 0) + 1
            commit_no = max(row.commit_no, state.commit_no)
            session.execute(
                update(ShardRow)
                .where(ShardRow.number == number)
                .values(generation=generation, commit_no=commit_no, stream_id=START)
            )
        self._hot.open_shard(number, generation, commit_no)
        return Position(START, commit_no, generation)


def fold_shard(session: Session, number: int) -> dict[str, Usage]:
    """The usage of every holder of a shard that any row tells of: the fold of all effects in order of commit."""
    usages: dict[str, Usage] = {}
    nothing = Usage()
    with closing(_effects(session, number)) as rows:
        for holder, effects, *_ in rows:
            usages[holder] = fold(usages.get(holder, nothing), unpack_effects(effects))
    return usages


def _effects(session: Session, number: int) -> Generator[Any]:
    tables = Base.metadata.tables
    parts = []
    for name in _EFFECT_TABLES:
        columns = tables[name].c
        parts.append(
            select(columns["holder"], columns["effects"], columns["generation"], columns["commit_no"]).where(
                columns["shard"] == number, columns["effects"].is_not(None), columns["holder"].is_not(None)
            )
        )
    ordered = union_all(*parts).order_by(literal_column("generation"), literal_column("commit_no"))
    with session.connection().execute(ordered.execution_options(yield_per=10_000)) as result:
        yield from result


def durable_records(session: Session) -> Iterator[tuple[tuple[str, int], DurableRecord]]:
    """What is durable of every epoch."""
    for row in session.execute(
        select(
            DeviceEpochRow.device, DeviceEpochRow.epoch, DeviceEpochRow.durable_seq, DeviceEpochRow.top_seq
        )
    ).all():
        if row.top_seq == row.durable_seq:
            yield (row.device, row.epoch), DurableRecord(row.durable_seq, row.top_seq)
        else:
            ranges = load_ranges(session, row.device, row.epoch, durable_seq=row.durable_seq)
            yield (row.device, row.epoch), ranges.record()


def publish_city(engine: Engine, hot: HotState, law: Law, now: datetime) -> None:
    """Publish the city as it stands; nothing while its fares are incomplete, which the publisher says."""
    with reading(engine) as session:
        row = session.get(CityRow, 1)
        if row is None or row.revision == 0:
            return
        try:
            record = city_record(session, law.mapping, now)
        except FareError:
            return
        hot.publish([packed_city(record, row.revision)])
