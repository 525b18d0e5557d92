"""Whatever the order, the portions and the repetitions in which entries arrive, the rows are the same."""

import itertools
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from backoffice.adapters.journal_stream import StreamItem
from backoffice.application.ingest_ranges import SequenceRanges
from backoffice.application.ingest_write import JournalWriter
from backoffice.application.sequence_gaps import load_ranges
from backoffice.persistence.base import reading
from backoffice.persistence.journal import DeviceEpochRow
from tests.backoffice.journal_play import (
    JOURNAL_TABLES,
    annulment,
    boarding,
    conflict,
    database,
    rejected,
    release,
    rows,
)
from validator.records.journal import JournalEntry, pack_entry

HOLDER = "00000000000000aa"


def journal_of_two_devices() -> list[JournalEntry]:
    """Two devices, gaps included, and a conflict that cites a sequence which a tap stands under."""
    entries = [boarding("v-1", seq, HOLDER if seq % 2 else None) for seq in (1, 2, 3, 5, 6, 9)]
    entries += [release("v-1", 4, entries[0]), annulment("v-1", 7, entries[2]), rejected("v-1", 11)]
    entries += [boarding("v-2", seq) for seq in (2, 3)]
    entries += [conflict("v-2", 5, entries[0]), conflict("v-2", 3, entries[1])]
    return entries


ENTRIES = journal_of_two_devices()


@st.composite
def arrivals(draw: st.DrawFn) -> list[list[int]]:
    """Every entry at least once, some again, in any order, in portions."""
    again = draw(st.lists(st.sampled_from(range(len(ENTRIES))), max_size=10))
    order = draw(st.permutations([*range(len(ENTRIES)), *again]))
    cuts = draw(st.lists(st.integers(0, len(order)), max_size=4))
    bounds = [0, *sorted(cuts), len(order)]
    return [order[start:end] for start, end in itertools.pairwise(bounds)]


def written(portions: Sequence[Sequence[int]]) -> dict[str, list[tuple[object, ...]]]:
    engine: Engine = database("sqlite://")
    writer = JournalWriter(engine)
    number = 0
    for portion in portions:
        items = []
        for index in portion:
            number += 1
            items.append(StreamItem(index % 64, f"{number}-0", pack_entry(ENTRIES[index]), number, 1))
        writer.write(items, {}, {})
    found = rows(engine, *JOURNAL_TABLES)
    engine.dispose()
    return found


IN_ORDER = written([range(len(ENTRIES))])


@settings(max_examples=60)
@given(arrivals())
def test_any_order_gives_the_same_rows(portions: list[list[int]]) -> None:
    assert written(portions) == IN_ORDER


def test_the_rows_are_what_they_should_be() -> None:
    assert [len(IN_ORDER[name]) for name in ("tap_keys", "boardings", "releases", "annulments")] == [
        12,
        8,
        1,
        1,
    ]
    assert [len(IN_ORDER[name]) for name in ("rejected", "forks")] == [2, 1]
    epochs = [row[:4] for row in IN_ORDER["device_epochs"]]
    assert epochs == [("v-1", 1, 7, 11), ("v-2", 1, 0, 5)]


@given(st.lists(st.integers(1, 60), max_size=80))
def test_ranges_know_exactly_the_sequences_that_came(seqs: list[int]) -> None:
    ranges = SequenceRanges()
    came: set[int] = set()
    for seq in seqs:
        assert ranges.add(seq) == (seq not in came)
        came.add(seq)
    top = max(came, default=0)
    assert ranges.top_seq == top
    missing = {seq for first, last in ranges.missing for seq in range(first, last + 1)}
    assert missing == set(range(1, top + 1)) - came
    assert all((seq in ranges) == (seq in came) for seq in range(1, 62))
    durable = next(n for n in range(top + 1) if n + 1 not in came)
    assert ranges.durable_seq == durable


@given(st.sets(st.integers(1, 2_000), min_size=1, max_size=400))
def test_a_record_with_too_many_gaps_never_calls_durable_what_is_not(seqs: set[int]) -> None:
    ranges = SequenceRanges()
    for seq in seqs:
        ranges.add(seq)
    record = ranges.record()
    assert all(seq in seqs for seq in range(1, 2_002) if record.covers(seq))


def test_ranges_read_from_the_rows_are_those_kept_in_memory() -> None:
    engine = database("sqlite://")
    writer = JournalWriter(engine)
    items = [StreamItem(0, f"{n}-0", pack_entry(entry), n, 1) for n, entry in enumerate(ENTRIES, 1)]
    writer.write(items, {}, {})
    with reading(engine) as session:
        for device, durable_seq in session.execute(select(DeviceEpochRow.device, DeviceEpochRow.durable_seq)):
            for start in (0, durable_seq):
                loaded = load_ranges(session, device, 1, durable_seq=start)
                kept = writer._ranges[device, 1]
                assert (loaded.top_seq, loaded.missing) == (kept.top_seq, kept.missing)
    engine.dispose()
