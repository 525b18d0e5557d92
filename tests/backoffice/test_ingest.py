"""The journal streams into rows: exactly once, every sequence one row, poison kept, durable ranges told."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import Engine, select

from backoffice.application.ingest import Ingester
from backoffice.application.sequence_gaps import declare_lost, missing_ranges
from backoffice.persistence.base import reading, writing
from backoffice.persistence.journal import (
    BoardingRow,
    ForkRow,
    RejectedRow,
    TapKeyRow,
)
from tests.backoffice.journal_play import (
    NOW,
    SmallValidator,
    annulment,
    boarding,
    conflict,
    count,
    durable,
    ingest_all,
    rejected,
    release,
)
from validator.records.codes import EntryKind
from validator.records.journal import JournalEntry, pack_entry
from validator.records.keys import DURABLE_SECONDS, id_key, seen_key
from validator.records.packing import pack_values
from validator.records.snapshot import DurableRecord

HOLDER = "00000000000000aa"

pytestmark = pytest.mark.hot_state


def test_every_kind_of_entry_becomes_one_row(engine: Engine, ingester: Ingester, bus: SmallValidator) -> None:
    first = boarding("v-1", 1, HOLDER)
    refusal = boarding("v-1", 2, HOLDER, kind=int(EntryKind.REFUSAL), reason=15, effects=(), category=None)
    for entry in (
        first,
        refusal,
        release("v-1", 3, first),
        annulment("v-1", 4, first),
        conflict("v-1", 5, first),
        rejected("v-1", 6, b"\xff\x00"),
    ):
        bus.commit(entry)

    assert ingest_all(ingester) == 6

    with reading(engine) as session:
        kinds = dict(session.execute(select(TapKeyRow.seq, TapKeyRow.kind)).all())
        row = session.scalars(select(BoardingRow).where(BoardingRow.seq == 1)).one()
        bad = session.scalars(select(RejectedRow).where(RejectedRow.seq == 6)).one()
        assert (row.month, row.category, row.reason, row.medium, row.turnstile) == (
            "2026-03",
            "STUDENT_50",
            "OK",
            "card",
            "TURN",
        )
        assert row.boarding_id == str(UUID(bytes=first.boarding))
        assert row.dated_at == datetime(2026, 3, 10, 6, 0, 20, tzinfo=UTC)
        assert (bad.raw, bad.note) == (b"\xff\x00", "not JSON")
    assert kinds == {
        1: "BOARDING",
        2: "REFUSAL",
        3: "RELEASE",
        4: "ANNULMENT",
        5: "CONFLICT",
        6: "REJECTED",
    }
    assert durable(bus, "v-1") == DurableRecord(6, 6)


def test_the_same_entry_twice_is_one_row_and_another_one_is_a_fork(
    engine: Engine, ingester: Ingester, bus: SmallValidator
) -> None:
    cash = boarding("v-1", 1)
    bus.journal(bus.home(cash), pack_entry(cash))
    bus.journal(bus.home(cash), pack_entry(cash))
    other = boarding("v-1", 1, variant=1, boarding=UUID(int=7).bytes)
    bus.journal(bus.home(other), pack_entry(other))

    ingest_all(ingester)

    assert count(engine, BoardingRow) == 1
    assert count(engine, ForkRow) == 1
    assert ingester.tally.forks == 1


def test_a_boarding_id_under_two_sequences_stands_once(
    engine: Engine, ingester: Ingester, bus: SmallValidator
) -> None:
    first = boarding("v-1", 1)
    bus.commit(first)
    ingest_all(ingester)
    again = boarding("v-2", 1, boarding=first.boarding)
    neighbour = boarding("v-3", 1)
    bus.journal(bus.home(again), pack_entry(again))
    bus.commit(neighbour)

    ingest_all(ingester)

    with reading(engine) as session:
        kinds = dict(session.execute(select(TapKeyRow.device, TapKeyRow.kind)).all())
    assert kinds == {"v-1": "BOARDING", "v-2": "CONFLICT", "v-3": "BOARDING"}


@pytest.mark.parametrize(
    "poison",
    [b"", b"\x02abc", b"\x01\xc1", b"\x01\x93\x01\x02\x03"],
    ids=["empty", "other version", "no MessagePack", "too short"],
)
def test_poison_is_kept_and_blocks_nothing(
    engine: Engine, ingester: Ingester, bus: SmallValidator, poison: bytes
) -> None:
    after = boarding("v-1", 1)
    bus.journal(bus.home(after), poison)
    bus.commit(after)

    ingest_all(ingester)

    with reading(engine) as session:
        kept = session.scalars(select(RejectedRow)).one()
        assert (kept.kind, kept.raw, kept.device) == ("POISON", poison, None)
    assert count(engine, BoardingRow) == 1


def test_an_entry_that_ends_before_its_reason_is_rejected_and_blocks_nothing(
    engine: Engine, ingester: Ingester, bus: SmallValidator
) -> None:
    after = boarding("v-1", 1)
    cut = pack_values((0, "v-9", 1, 1, bytes(32), 1_772_700_000_000_000, False, bytes(16), 1))
    bus.journal(bus.home(after), cut)
    bus.commit(after)

    ingest_all(ingester)

    with reading(engine) as session:
        kept = session.scalars(select(RejectedRow)).one()
        assert (kept.kind, kept.raw, kept.device) == ("REJECTED", cut, "v-9")
    assert count(engine, BoardingRow) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"line": "10\x002"},
        {"reason": 999},
        {"category": -1},
        {"boarding": b"short"},
        {"fare_cents": 2**63},
        {"occurred_micros": 2**62, "dated_micros": 2**62},
        {"holder": "short"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_an_entry_that_fits_no_row_is_rejected_under_its_sequence(
    engine: Engine, ingester: Ingester, bus: SmallValidator, changes: dict[str, object]
) -> None:
    entry = boarding("v-1", 1, **changes)
    bus.journal(3, pack_entry(entry))
    bus.commit(boarding("v-1", 2))

    ingest_all(ingester)

    with reading(engine) as session:
        assert session.scalars(select(RejectedRow.seq)).all() == [1]
    assert durable(bus, "v-1").durable_seq == 2


def test_gaps_are_told_and_filled_and_answers_let_go(
    engine: Engine, ingester: Ingester, bus: SmallValidator
) -> None:
    taps = {seq: boarding("v-1", seq, HOLDER) for seq in range(1, 8)}
    for seq in (1, 2, 4, 7):
        bus.commit(taps[seq])
    ingest_all(ingester)
    assert durable(bus, "v-1") == DurableRecord(2, 7, ((3, 3), (5, 6)))
    with reading(engine) as session:
        assert missing_ranges(session, "v-1", 1) == ((3, 3), (5, 6))
    assert ttl(bus, taps[2]) <= DURABLE_SECONDS < ttl(bus, taps[4])

    bus.commit(taps[3])
    ingest_all(ingester)

    assert durable(bus, "v-1") == DurableRecord(4, 7, ((5, 6),))
    assert ttl(bus, taps[4]) <= DURABLE_SECONDS < ttl(bus, taps[7])


def ttl(bus: SmallValidator, entry: JournalEntry) -> int:
    assert entry.boarding is not None
    identity = UUID(bytes=entry.boarding)
    lives = {bus.redis.ttl(id_key(identity)), bus.redis.ttl(seen_key(bus.home(entry), identity))}
    assert max(lives) - min(lives) <= 1
    return max(lives)


def test_a_declared_loss_unsticks_and_what_turns_up_later_is_a_fork(
    engine: Engine, ingester: Ingester, bus: SmallValidator
) -> None:
    for seq in (1, 4):
        bus.commit(boarding("v-1", seq))
    ingest_all(ingester)

    with writing(engine) as session:
        assert declare_lost(session, "v-1", 1, 1, 3, by="gestor", at=NOW) == 2

    bus.commit(boarding("v-1", 5))
    bus.commit(boarding("v-1", 2))
    ingest_all(ingester)
    assert durable(bus, "v-1") == DurableRecord(5, 5)
    assert count(engine, ForkRow) == 1
    with reading(engine) as session:
        kinds = dict(session.execute(select(TapKeyRow.seq, TapKeyRow.kind)).all())
        assert kinds[2] == kinds[3] == "DECLARED_LOST"
        notes = session.scalars(select(RejectedRow.note)).all()
    assert all("gestor" in note for note in notes)
