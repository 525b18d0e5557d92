"""What one round of ingest writes: pure, decided from the entries and the sequences that are rows already."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from backoffice.adapters.journal_stream import StreamItem
from backoffice.application.ingest_ranges import SequenceRanges
from backoffice.application.ingest_rows import (
    ROW_OF,
    Row,
    Unfit,
    head_row,
    key_of,
    poison_row,
    rejected_row,
)
from backoffice.application.ingest_straight import boarding_values, fitting
from backoffice.persistence.bulk import Wire
from validator.records.codes import EntryKind
from validator.records.journal import JournalEntry, unpack_entry
from validator.records.packing import RecordError

Epoch = tuple[str, int]
"""Device and epoch."""

_KEY_OF_VALUES = itemgetter(1, 2, 3, 4, 6, 5, 0)
"""Of a row of `boardings` that of `tap_keys`: device, epoch, sequence, kind, digest, boarding id and month."""

Place = tuple[str, int, int, bytes | None, int]
"""Device, epoch and sequence of a new row; of a boarding its id; the shard."""


class Decoded(NamedTuple):
    """An item with its entry.

    Attributes:
        entry: None for poison.
        fault: What is wrong with poison.
        values: The values of its row, where the entry may go the straight way.
    """

    item: StreamItem
    entry: JournalEntry | None
    fault: str = ""
    values: tuple[Any, ...] | None = None


@dataclass(slots=True)
class Plan:
    """Rows by table.

    Attributes:
        rows: New rows by table name, of entries that went the careful way.
        boardings: New rows of the straight way, in the order of the table's columns.
        keys: A row of `tap_keys` for each new sequence, likewise.
        places: Where each of them stands.
        heads: Signed heads, which may have come before.
        clashes: Entries under a sequence that is a row already: the same again, or a fork.
    """

    rows: dict[str, list[Row]] = field(default_factory=dict)
    boardings: list[tuple[Any, ...]] = field(default_factory=list)
    keys: list[tuple[Any, ...]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    heads: list[Row] = field(default_factory=list)
    clashes: list[Decoded] = field(default_factory=list)

    def put(self, table: str, row: Row) -> None:
        """Add a row to a table."""
        self.rows.setdefault(table, []).append(row)

    def of(self, table: str) -> list[Row]:
        """The rows of a table."""
        return self.rows.get(table, [])


def read(item: StreamItem, wire: Wire) -> Decoded:
    """Read an item's entry, for the straight way where it fits."""
    entry = fitting(item)
    return decode(item) if entry is None else Decoded(item, entry, "", boarding_values(item, entry, wire))


def decode(item: StreamItem) -> Decoded:
    """Read an item's entry, for the careful way; bytes that are none, or name no device and sequence, are poison."""
    try:
        entry = unpack_entry(item.entry)
        kind = EntryKind(entry.kind)
        if kind is EntryKind.HEAD:
            head_row(entry)
        else:
            key_of(entry)
    except (RecordError, Unfit, ValueError) as error:
        return Decoded(item, None, str(error))
    return Decoded(item, entry)


def epochs_of(decoded: Collection[Decoded]) -> set[Epoch]:
    """Device and epoch of all entries that name one."""
    return {(d.entry.device, d.entry.epoch) for d in decoded if d.entry is not None}


def make_plan(
    decoded: Collection[Decoded],
    ranges: Callable[[Epoch], SequenceRanges],
    wire: Wire,
    taken: Collection[bytes] = (),
    refused: Collection[tuple[int, int, int]] = (),
) -> Plan:
    """Decide what becomes which row. Counts every new sequence in its ranges.

    Args:
        decoded: Entries, in the order in which they were committed.
        ranges: The sequences of an epoch that are rows.
        wire: The form of values that the database's driver wants.
        taken: Boarding ids that stand in SQL under another sequence.
        refused: Places of items whose rows the database does not take.
    """
    plan = Plan()
    used: set[bytes | None] = set(taken)
    for one in decoded:
        item, entry = one.item, one.entry
        if entry is None:
            plan.put("rejected", poison_row(item, one.fault))
            continue
        if entry.kind == EntryKind.HEAD:
            plan.heads.append(head_row(entry))
            continue
        if not ranges((entry.device, entry.epoch)).add(entry.seq):
            plan.clashes.append(one)
        elif one.values is not None and entry.boarding not in used:
            plan.boardings.append(one.values)
            plan.keys.append(_KEY_OF_VALUES(one.values))
            plan.places.append((entry.device, entry.epoch, entry.seq, entry.boarding, item.shard))
            used.add(entry.boarding)
        else:
            _put_new(plan, one, entry, wire, used, refused=item.place in refused)
    return plan


def _put_new(
    plan: Plan, one: Decoded, entry: JournalEntry, wire: Wire, used: set[bytes | None], *, refused: bool
) -> None:
    """The rows of an entry whose sequence is new, the careful way."""
    item, kind = one.item, EntryKind(entry.kind)
    try:
        if refused:
            raise Unfit("the database does not take its values")
        table, row = row_for(item, entry)
    except Unfit as error:
        kind, table = EntryKind.REJECTED, "rejected"
        row = rejected_row(item, entry, kind.name, f"{error}")
    if table == "boardings":
        if entry.boarding in used:
            kind, table = EntryKind.CONFLICT, "rejected"
            row = rejected_row(
                item, entry, kind.name, f"boarding id {row['boarding_id']} stands under another tap"
            )
        else:
            used.add(entry.boarding)
    boarding, month = (entry.boarding, row["month"]) if table == "boardings" else (None, None)
    boarding_id = None if boarding is None else wire.as_id(boarding)
    plan.put(table, row)
    plan.keys.append((*key_of(entry), kind.name, entry.digest, boarding_id, month))
    plan.places.append((*key_of(entry), boarding, item.shard))


def row_for(item: StreamItem, entry: JournalEntry) -> tuple[str, Row]:
    """Table and row of an entry.

    Raises:
        Unfit: it cannot become the row of its kind.
    """
    kind = EntryKind(entry.kind)
    if kind in ROW_OF:
        table, make = ROW_OF[kind]
        return table, make(item, entry)
    return "rejected", rejected_row(item, entry, kind.name, entry.note or "")
