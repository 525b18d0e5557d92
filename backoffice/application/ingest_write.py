"""One round of ingest in SQL: rows, sequences, heads and the shards' progress, in one transaction."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sqlalchemy import CursorResult, Engine, bindparam, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from backoffice.adapters.journal_stream import StreamItem
from backoffice.application.ingest_chain import ChainState, judge_head, keep_heads, waiting_heads
from backoffice.application.ingest_clash import settle_clash
from backoffice.application.ingest_plan import Decoded, Epoch, Plan, decode, epochs_of, make_plan
from backoffice.application.ingest_probe import months_of, refused_places, taken_ids
from backoffice.application.ingest_ranges import SequenceRanges
from backoffice.application.ingest_rows import POISON, Row
from backoffice.application.sequence_gaps import load_ranges
from backoffice.persistence.base import Base, WriteSession, writing
from backoffice.persistence.bulk import DuplicateRow, UnfitRow, insert_rows
from backoffice.persistence.journal import BoardingRow, DeviceEpochRow, RejectedRow, ShardRow, TapKeyRow
from backoffice.persistence.partitions import ensure_partitions
from validator.records.snapshot import DurableRecord

_MAX_EPOCHS_KEPT = 20_000
_ATTEMPTS = 4
_CHUNK = 400
_TABLES = ("boardings", "releases", "annulments", "rejected", "tap_keys")


class OtherIngester(RuntimeError):
    """Another process moved the shards' progress; this one must stop."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a shard is in SQL: last stream id, commit and generation."""

    stream_id: str
    commit_no: int
    generation: int


@dataclass(slots=True)
class Round:
    """What a round wrote.

    Attributes:
        rows: New rows.
        repeated_effects: Shards in which an entry with effects came that was a row already: usage counted it twice.
        durable: What is durable of each epoch that was touched.
        expiring: (boarding id, home shard) of boardings that became durable.
        verdicts: Heads that were judged: device, epoch, sequence, verdict.
        forks: Second entries under used sequences, of this round.
        rejected: Rejected rows of this round, poison included.
    """

    rows: int = 0
    repeated_effects: set[int] = field(default_factory=set)
    durable: dict[Epoch, DurableRecord] = field(default_factory=dict)
    expiring: list[tuple[str, int]] = field(default_factory=list)
    verdicts: list[tuple[str, int, int, str]] = field(default_factory=list)
    forks: int = 0
    rejected: int = 0


class JournalWriter:
    """Writes rounds; remembers which sequences are rows, and trusts that memory only while SQL agrees."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ranges: dict[Epoch, SequenceRanges] = {}
        self._partitions: set[str] = set()

    def write(
        self,
        items: Sequence[StreamItem],
        before: Mapping[int, Position],
        after: Mapping[int, Position],
    ) -> Round:
        """Write items, exactly once in effect, and the shards' progress from `before` to `after`.

        Raises:
            OtherIngester: the progress in SQL is not `before`.
            sqlalchemy.exc.OperationalError: the database is away; nothing was written.
        """
        decoded = [decode(item) for item in items]
        taken: set[str] = set()
        refused: set[tuple[int, int, int]] = set()
        for _ in range(_ATTEMPTS):
            try:
                return self._write_once(decoded, before, after, taken, refused)
            except DuplicateRow:
                self._forget(epochs_of(decoded))
                taken |= taken_ids(self._engine, decoded)
            except UnfitRow:
                self._forget(epochs_of(decoded))
                refused |= refused_places(self._engine, decoded)
            except BaseException:
                self._forget(epochs_of(decoded))
                raise
        return self._write_once(decoded, before, after, taken, refused)

    def _write_once(
        self,
        decoded: Sequence[Decoded],
        before: Mapping[int, Position],
        after: Mapping[int, Position],
        taken: Collection[str],
        refused: Collection[tuple[int, int, int]],
    ) -> Round:
        epochs = epochs_of(decoded)
        self._ensure_partitions(decoded)
        with writing(self._engine) as session:
            chains = self._agree(session, epochs)
            old = {epoch: self._ranges[epoch].durable_seq for epoch in epochs}
            plan = make_plan(decoded, self._ranges.__getitem__, taken, refused)
            plan.rows["rejected"] = _not_kept_yet(session, plan.of("rejected"))
            for table in _TABLES:
                insert_rows(session, Base.metadata.tables[table], plan.of(table))
            written = Round(rows=len(plan.of("tap_keys")), rejected=len(plan.of("rejected")))
            for clash in plan.clashes:
                settled = settle_clash(session, clash)
                written.forks += settled == "FORK"
                if settled == "SAME" and clash.entry is not None and clash.entry.effects:
                    written.repeated_effects.add(clash.item.shard)
            keep_heads(session, plan.heads)
            self._judge(session, chains, written)
            self._note_epochs(session, chains)
            _move_shards(session, before, after)
            written.durable = {epoch: self._ranges[epoch].record() for epoch in epochs}
            written.expiring = _newly_durable(session, plan, old, self._ranges)
        return written

    def _agree(self, session: WriteSession, epochs: Collection[Epoch]) -> dict[Epoch, ChainState]:
        """Lock the epochs' rows and read again what somebody else (a declared loss) has changed."""
        if len(self._ranges) > _MAX_EPOCHS_KEPT:
            self._ranges.clear()
        rows: dict[Epoch, DeviceEpochRow] = {}
        chains: dict[Epoch, ChainState] = {}
        ordered = sorted(epochs)
        for start in range(0, len(ordered), _CHUNK):
            named = tuple_(DeviceEpochRow.device, DeviceEpochRow.epoch).in_(ordered[start : start + _CHUNK])
            found = select(DeviceEpochRow).where(named).order_by(DeviceEpochRow.device, DeviceEpochRow.epoch)
            rows |= {(row.device, row.epoch): row for row in session.scalars(found.with_for_update())}
        for epoch in ordered:
            row = rows.get(epoch)
            known = self._ranges.get(epoch)
            if row is None:
                self._ranges[epoch] = SequenceRanges()
            elif known is None or (known.durable_seq, known.top_seq) != (row.durable_seq, row.top_seq):
                self._ranges[epoch] = load_ranges(session, *epoch, durable_seq=row.durable_seq)
            chains[epoch] = (
                ChainState()
                if row is None
                else ChainState(row.covered_seq, row.chain_head, row.broken, row.closed)
            )
        return chains

    def _judge(self, session: WriteSession, chains: dict[Epoch, ChainState], written: Round) -> None:
        for head in waiting_heads(session, chains):
            epoch = (head.device, head.epoch)
            durable_seq = self._ranges[epoch].durable_seq
            verdict, chains[epoch] = judge_head(session, head, durable_seq, chains[epoch])
            if verdict != "WAITING":
                written.verdicts.append((head.device, head.epoch, head.seq, verdict))

    def _note_epochs(self, session: WriteSession, chains: Mapping[Epoch, ChainState]) -> None:
        if not chains:
            return
        rows = []
        for (device, epoch), chain in sorted(chains.items(), key=lambda pair: pair[0]):
            ranges = self._ranges[device, epoch]
            rows.append(
                {
                    "device": device,
                    "epoch": epoch,
                    "durable_seq": ranges.durable_seq,
                    "top_seq": ranges.top_seq,
                    "covered_seq": chain.covered_seq,
                    "chain_head": chain.chain_head,
                    "broken": chain.broken,
                    "closed": chain.closed,
                }
            )
        dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
        insert = dialect.insert(DeviceEpochRow)
        changed = {name: insert.excluded[name] for name in rows[0] if name not in ("device", "epoch")}
        session.execute(insert.on_conflict_do_update(index_elements=["device", "epoch"], set_=changed), rows)

    def _ensure_partitions(self, decoded: Sequence[Decoded]) -> None:
        if self._engine.dialect.name != "postgresql":
            return
        missing = months_of(decoded) - self._partitions
        if missing:
            ensure_partitions(self._engine, sorted(missing))
            self._partitions |= missing

    def _forget(self, epochs: Collection[Epoch]) -> None:
        for epoch in epochs:
            self._ranges.pop(epoch, None)


def _not_kept_yet(session: WriteSession, rejected: list[Row]) -> list[Row]:
    """Rejected rows without the poison that a stream gave before: it has no key that could tell."""
    kept = []
    for row in rejected:
        if row["kind"] == POISON:
            same = select(RejectedRow.id).where(
                RejectedRow.kind == POISON,
                RejectedRow.shard == row["shard"],
                RejectedRow.stream_id == row["stream_id"],
                RejectedRow.raw == row["raw"],
            )
            if session.execute(same).first() is not None:
                continue
        kept.append(row)
    return kept


def _move_shards(
    session: WriteSession, before: Mapping[int, Position], after: Mapping[int, Position]
) -> None:
    """Move the progress, and notice another process that did."""
    moved = [
        {
            "_number": number,
            "_old": before[number].stream_id,
            "stream_id": position.stream_id,
            "commit_no": position.commit_no,
        }
        for number, position in after.items()
        if position != before[number]
    ]
    if not moved:
        return
    table = Base.metadata.tables[ShardRow.__tablename__]
    statement = (
        update(table)
        .where(table.c.number == bindparam("_number"), table.c.stream_id == bindparam("_old"))
        .values(stream_id=bindparam("stream_id"), commit_no=bindparam("commit_no"))
    )
    result = cast("CursorResult[Any]", session.connection().execute(statement, moved))
    if result.rowcount != len(moved):
        raise OtherIngester("another ingester has moved the shards' progress; this one stops")


def _newly_durable(
    session: WriteSession, plan: Plan, old: Mapping[Epoch, int], ranges: Mapping[Epoch, SequenceRanges]
) -> list[tuple[str, int]]:
    """Boardings that this round made durable, those of earlier rounds above a gap included."""
    fresh = [
        (row["boarding_id"], row["shard"])
        for row in plan.of("boardings")
        if row["seq"] <= ranges[row["device"], row["epoch"]].durable_seq
    ]
    counts = dict.fromkeys(old, 0)
    for row in plan.of("tap_keys"):
        epoch = (row["device"], row["epoch"])
        counts[epoch] += old[epoch] < row["seq"] <= ranges[epoch].durable_seq
    for epoch, count in counts.items():
        if ranges[epoch].durable_seq - old[epoch] > count:
            fresh += _boardings_between(session, epoch, old[epoch], ranges[epoch].durable_seq)
    return fresh


def _boardings_between(session: WriteSession, epoch: Epoch, after: int, until: int) -> list[tuple[str, int]]:
    rows = session.execute(
        select(BoardingRow.boarding_id, BoardingRow.shard)
        .join(
            TapKeyRow,
            (TapKeyRow.month == BoardingRow.month)
            & (TapKeyRow.device == BoardingRow.device)
            & (TapKeyRow.epoch == BoardingRow.epoch)
            & (TapKeyRow.seq == BoardingRow.seq),
        )
        .where(TapKeyRow.device == epoch[0], TapKeyRow.epoch == epoch[1])
        .where(TapKeyRow.seq > after, TapKeyRow.seq <= until)
    )
    return [(boarding_id, shard) for boarding_id, shard in rows]
