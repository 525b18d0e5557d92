"""One round of ingest in SQL: rows, sequences, heads and the shards' progress, in one transaction."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import Engine, select

from backoffice.adapters.journal_stream import StreamItem
from backoffice.application.ingest_chain import ChainState, judge_head, keep_heads, waiting_heads
from backoffice.application.ingest_clash import settle_clash
from backoffice.application.ingest_plan import Decoded, Epoch, Place, decode, epochs_of, make_plan, read
from backoffice.application.ingest_probe import months_of, refused_places, taken_ids
from backoffice.application.ingest_progress import Position, locked_epochs, move_shards, note_epochs
from backoffice.application.ingest_ranges import SequenceRanges
from backoffice.application.ingest_rows import POISON, Row
from backoffice.application.sequence_gaps import load_ranges
from backoffice.persistence.base import Base, WriteSession, writing
from backoffice.persistence.bulk import DuplicateRow, UnfitRow, insert_rows, insert_values, wire_of
from backoffice.persistence.journal import BoardingRow, RejectedRow, TapKeyRow
from backoffice.persistence.partitions import ensure_partitions
from validator.records.snapshot import DurableRecord

_MAX_EPOCHS_KEPT = 20_000
_ATTEMPTS = 4
_MAX_ABOVE_KEPT = 10_000
_TABLES = ("boardings", "releases", "annulments", "rejected")


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
    expiring: list[tuple[bytes, int]] = field(default_factory=list)
    verdicts: list[tuple[str, int, int, str]] = field(default_factory=list)
    forks: int = 0
    rejected: int = 0


class JournalWriter:
    """Writes rounds; remembers which sequences are rows, and trusts that memory only while SQL agrees."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._wire = wire_of(engine.dialect.name)
        self._ranges: dict[Epoch, SequenceRanges] = {}
        self._above: dict[Epoch, dict[int, tuple[bytes | None, int]]] = {}
        self._partitions: set[str] = set()

    def read(self, items: Sequence[StreamItem]) -> list[Decoded]:
        """The items with their entries, and with their rows where these are plain."""
        wire = self._wire
        return [read(item, wire) for item in items]

    def write(
        self,
        items: Sequence[StreamItem],
        before: Mapping[int, Position],
        after: Mapping[int, Position],
        decoded: Sequence[Decoded] | None = None,
    ) -> Round:
        """Write items, exactly once in effect, and the shards' progress from `before` to `after`.

        Args:
            items: What was read of the streams.
            before: The progress that must stand in SQL.
            after: The progress that will.
            decoded: `read` of each item, where the caller has done that already.

        Raises:
            OtherIngester: the progress in SQL is not `before`.
            sqlalchemy.exc.OperationalError: the database is away; nothing was written.
        """
        decoded = decoded or self.read(items)
        taken: set[bytes] = set()
        refused: set[tuple[int, int, int]] = set()
        for _ in range(_ATTEMPTS):
            try:
                return self._write_once(decoded, before, after, taken, refused)
            except DuplicateRow:
                self._forget(epochs_of(decoded))
                decoded = [decode(item) for item in items]
                taken |= taken_ids(self._engine, decoded)
            except UnfitRow:
                self._forget(epochs_of(decoded))
                decoded = [decode(item) for item in items]
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
        taken: Collection[bytes],
        refused: Collection[tuple[int, int, int]],
    ) -> Round:
        epochs = epochs_of(decoded)
        self._ensure_partitions(decoded)
        with writing(self._engine) as session:
            chains = self._agree(session, epochs)
            old = {epoch: self._ranges[epoch].durable_seq for epoch in epochs}
            plan = make_plan(decoded, self._ranges.__getitem__, self._wire, taken, refused)
            plan.rows["rejected"] = _not_kept_yet(session, plan.of("rejected"))
            tables = Base.metadata.tables
            insert_values(session, tables["boardings"], plan.boardings)
            for table in _TABLES:
                insert_rows(session, tables[table], plan.of(table))
            insert_values(session, tables["tap_keys"], plan.keys)
            written = Round(rows=len(plan.keys), rejected=len(plan.of("rejected")))
            for clash in plan.clashes:
                settled = settle_clash(session, clash)
                written.forks += settled == "FORK"
                if settled == "TAKEN_OVER" and clash.entry is not None:
                    self._above.pop((clash.entry.device, clash.entry.epoch), None)
                if settled == "SAME" and clash.entry is not None and clash.entry.effects:
                    written.repeated_effects.add(clash.item.shard)
            keep_heads(session, plan.heads)
            self._judge(session, chains, written)
            self._note_epochs(session, chains)
            move_shards(session, before, after)
            written.durable = {epoch: self._ranges[epoch].record() for epoch in epochs}
            written.expiring = self._newly_durable(session, plan.places, old)
        return written

    def _agree(self, session: WriteSession, epochs: Collection[Epoch]) -> dict[Epoch, ChainState]:
        """Lock the epochs' rows and read again what somebody else (a declared loss) has changed."""
        if len(self._ranges) > _MAX_EPOCHS_KEPT:
            self._ranges.clear()
            self._above.clear()
        chains: dict[Epoch, ChainState] = {}
        ordered = sorted(epochs)
        rows = locked_epochs(session, ordered)
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
        rows = []
        for (device, epoch), chain in sorted(chains.items(), key=lambda pair: pair[0]):
            ranges = self._ranges[device, epoch]
            reached = (ranges.durable_seq, ranges.top_seq, chain.covered_seq, chain.chain_head)
            rows.append((device, epoch, *reached, chain.broken, chain.closed))
        note_epochs(session, rows)

    def _ensure_partitions(self, decoded: Sequence[Decoded]) -> None:
        if self._engine.dialect.name != "postgresql":
            return
        plain = {one.values[0] for one in decoded if one.values is not None}
        if plain <= self._partitions and all(one.values is not None for one in decoded):
            return
        missing = months_of(decoded) - self._partitions
        if missing:
            ensure_partitions(self._engine, sorted(missing))
            self._partitions |= missing

    def _forget(self, epochs: Collection[Epoch]) -> None:
        for epoch in epochs:
            self._ranges.pop(epoch, None)
            self._above.pop(epoch, None)

    def _newly_durable(
        self, session: WriteSession, places: Collection[Place], old: Mapping[Epoch, int]
    ) -> list[tuple[bytes, int]]:
        """Boardings that this round made durable, those of earlier rounds above a gap included.

        Rows above a gap are remembered; where that memory does not tell of every sequence that has become durable,
        SQL does.
        """
        fresh: list[tuple[bytes | None, int]] = []
        told = dict.fromkeys(old, 0)
        until = {epoch: self._ranges[epoch].durable_seq for epoch in old}
        for device, epoch, seq, boarding, shard in places:
            name = (device, epoch)
            if seq <= until[name]:
                fresh.append((boarding, shard))
                told[name] += 1
            else:
                self._above.setdefault(name, {})[seq] = (boarding, shard)
        for name, durable_seq in until.items():
            above = self._above.get(name)
            if above and durable_seq > old[name]:
                reached = [seq for seq in above if seq <= durable_seq]
                fresh += [above.pop(seq) for seq in reached]
                told[name] += len(reached)
            if above is not None and len(above) > _MAX_ABOVE_KEPT:
                del self._above[name]
            if durable_seq - old[name] > told[name]:
                fresh += _boardings_between(session, name, old[name], durable_seq)
        return [(boarding, shard) for boarding, shard in fresh if boarding is not None]


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


def _boardings_between(
    session: WriteSession, epoch: Epoch, after: int, until: int
) -> list[tuple[bytes, int]]:
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
    return [(UUID(boarding_id).bytes, shard) for boarding_id, shard in rows]
