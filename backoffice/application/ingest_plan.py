"""What one round of ingest writes: pure, decided from the entries and the sequences that are rows already."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

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
    tap_key_row,
)
from validator.records.codes import EntryKind
from validator.records.journal import JournalEntry, unpack_entry
from validator.records.packing import RecordError

Epoch = tuple[str, int]
"""Device and epoch."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """An item with its entry, None for poison, which `fault` then names."""

    item: StreamItem
    entry: JournalEntry | None
    fault: str = ""


@dataclass(slots=True)
class Plan:
    """Rows by table.

    Attributes:
        rows: New rows by table name.
        heads: Signed heads, which may have come before.
        clashes: Entries under a sequence that is a row already: the same again, or a fork.
        touched: Epochs of all entries.
    """

    rows: dict[str, list[Row]] = field(default_factory=dict)
    heads: list[Row] = field(default_factory=list)
    clashes: list[Decoded] = field(default_factory=list)
    touched: set[Epoch] = field(default_factory=set)

    def put(self, table: str, row: Row) -> None:
        """Add a row to a table."""
        self.rows.setdefault(table, []).append(row)

    def of(self, table: str) -> list[Row]:
        """The rows of a table."""
        return self.rows.get(table, [])


def decode(item: StreamItem) -> Decoded:
    """Read an item's entry; bytes that are none, or name no device and sequence, are poison."""
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
    taken: Collection[str] = (),
    refused: Collection[tuple[int, int, int]] = (),
) -> Plan:
    """Decide what becomes which row. Counts every new sequence in its ranges.

    Args:
        decoded: Entries, in the order in which they were committed.
        ranges: The sequences of an epoch that are rows.
        taken: Boarding ids that stand in SQL under another sequence.
        refused: Places of items whose rows the database does not take.
    """
    plan = Plan(touched=epochs_of(decoded))
    used = set(taken)
    for one in decoded:
        item, entry = one.item, one.entry
        if entry is None:
            plan.put("rejected", poison_row(item, one.fault))
            continue
        if entry.kind == EntryKind.HEAD:
            plan.heads.append(head_row(entry))
            continue
        key = key_of(entry)
        if not ranges(key[:2]).add(key[2]):
            plan.clashes.append(one)
            continue
        _put_new(plan, one, entry, used, refused=item.place in refused)
    return plan


def _put_new(plan: Plan, one: Decoded, entry: JournalEntry, used: set[str], *, refused: bool) -> None:
    """The rows of an entry whose sequence is new."""
    item, key, kind = one.item, key_of(entry), EntryKind(entry.kind)
    try:
        if refused:
            raise Unfit("the database does not take its values")
        table, row = row_for(item, entry)
    except Unfit as error:
        kind, table = EntryKind.REJECTED, "rejected"
        row = rejected_row(item, entry, kind.name, f"{error}")
    if table == "boardings":
        if row["boarding_id"] in used:
            kind, table = EntryKind.CONFLICT, "rejected"
            row = rejected_row(
                item, entry, kind.name, f"boarding id {row['boarding_id']} stands under another tap"
            )
        else:
            used.add(row["boarding_id"])
    plan.put(table, row)
    plan.put("tap_keys", tap_key_row(key, kind.name, entry.digest, row if table == "boardings" else None))


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
