"""The journal streams into rows: exactly once, every sequence one row, poison kept, durable ranges told."""

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Engine, func, select, text

from backoffice.adapters.hot_state import HotState
from backoffice.adapters.ingest_lock import IngestLock
from backoffice.adapters.journal_stream import Waiting, waiting
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.ingest import COUNT, Ingester
from backoffice.application.ingest_write import OtherIngester
from backoffice.application.sequence_gaps import declare_lost, missing_ranges
from backoffice.persistence.base import reading, writing
from backoffice.persistence.devices import DeviceKeyRow, DeviceRow
from backoffice.persistence.journal import (
    BoardingRow,
    DeviceEpochRow,
    ForkRow,
    RejectedRow,
    SignedHeadRow,
    TapKeyRow,
)
from backoffice.persistence.operators import OperatorKind, OperatorRow
from tests.backoffice.journal_play import (
    DEVICE_KEY,
    NOW,
    SmallValidator,
    annulment,
    boarding,
    clock,
    conflict,
    database,
    head,
    packaged,
    rejected,
    release,
)
from validator.records.codes import EntryKind
from validator.records.journal import JournalEntry, pack_entry
from validator.records.keys import DURABLE_SECONDS, durable_key, id_key, journal_key, seen_key
from validator.records.snapshot import DurableRecord, unpack_durable

HOLDER = "00000000000000aa"

pytestmark = pytest.mark.hot_state


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = database(database_url)
    yield made
    made.dispose()


@pytest.fixture
def ingester(engine: Engine, redis_url: str) -> Iterator[Ingester]:
    with RedisLink(redis_url) as link:
        made = Ingester(engine, HotState(link), packaged(), clock)
        made.begin()
        yield made


@pytest.fixture
def bus(redis_url: str, ingester: Ingester) -> SmallValidator:
    return SmallValidator(redis_url)


def ingest_all(ingester: Ingester) -> int:
    total = 0
    while read := ingester.step():
        total += read
    return total


def count(engine: Engine, table: type) -> int:
    with reading(engine) as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def durable(bus: SmallValidator, device: str) -> DurableRecord:
    return unpack_durable(bus.redis.get(durable_key(device, 1)))


def register_device(engine: Engine, device: str) -> None:
    with writing(engine) as session:
        session.add(
            OperatorRow(
                id=1, code="azul", name="Azul", kind=OperatorKind.COMPANY, recorded_at=NOW, document=None
            )
        )
        session.flush()
        session.add(DeviceRow(id=device, operator_id=1, revision=1, published_revision=0, recorded_at=NOW))
        session.flush()
        session.add(
            DeviceKeyRow(
                device_id=device,
                epoch=1,
                token_sha256="0" * 64,
                public_key=DEVICE_KEY.public_key().public_bytes_raw(),
                valid_from=NOW,
                recorded_at=NOW,
                revision=1,
            )
        )


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


def test_a_valid_head_covers_what_a_broken_one_does_not(
    engine: Engine, ingester: Ingester, bus: SmallValidator
) -> None:
    register_device(engine, "v-1")
    taps = [boarding("v-1", seq) for seq in range(1, 7)]
    digests = [tap.digest for tap in taps]
    signed_early = head("v-1", digests[:4])
    bus.journal(0, pack_entry(signed_early))
    for tap in taps:
        bus.commit(tap)
    forged = head("v-1", [*digests[:4], b"\x00" * 32, digests[5]])
    bus.journal(0, pack_entry(forged))
    ingest_all(ingester)

    with reading(engine) as session:
        verdicts = dict(session.execute(select(SignedHeadRow.seq, SignedHeadRow.verdict)).all())
        state = session.get_one(DeviceEpochRow, ("v-1", 1))
        assert verdicts == {4: "VALID", 6: "BROKEN"}
        assert (state.covered_seq, state.broken, state.closed) == (4, True, False)

    bus.journal(0, pack_entry(head("v-1", digests, closing=True)))
    ingest_all(ingester)
    with reading(engine) as session:
        state = session.get_one(DeviceEpochRow, ("v-1", 1))
        assert (state.covered_seq, state.broken, state.closed) == (6, True, True)


def test_a_head_signed_by_another_key_covers_nothing(
    engine: Engine, ingester: Ingester, bus: SmallValidator
) -> None:
    register_device(engine, "v-1")
    tap = boarding("v-1", 1)
    bus.commit(tap)
    stranger = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
    bus.journal(0, pack_entry(head("v-1", [tap.digest], key=stranger)))
    ingest_all(ingester)
    with reading(engine) as session:
        assert session.scalars(select(SignedHeadRow.verdict)).all() == ["BAD_SIGNATURE"]
        assert session.get_one(DeviceEpochRow, ("v-1", 1)).covered_seq == 0


def test_streams_are_trimmed_and_the_wait_is_told(
    ingester: Ingester, bus: SmallValidator, redis_url: str
) -> None:
    for seq in range(1, 120):
        bus.commit(boarding("v-1", seq))
    with RedisLink(redis_url) as link:
        before = waiting(link)
        assert before.entries == 119
        assert 0 <= before.seconds < 60
        ingest_all(ingester)
        assert waiting(link) == Waiting(0, 0)
    assert all(bus.redis.xlen(journal_key(number)) == 0 for number in range(64))


def test_a_long_pause_is_caught_up_in_bounded_portions(
    engine: Engine, ingester: Ingester, bus: SmallValidator, redis_url: str
) -> None:
    for seq in range(1, 3 * COUNT):
        bus.commit(boarding("v-1", seq))
    assert ingester.step() == COUNT
    with RedisLink(redis_url) as link:
        successor = Ingester(engine, HotState(link), packaged(), clock)
        successor.begin()
        assert ingest_all(successor) == 2 * COUNT - 1
    assert durable(bus, "v-1").durable_seq == 3 * COUNT - 1


def test_a_second_ingester_writes_nothing(
    engine: Engine, ingester: Ingester, bus: SmallValidator, redis_url: str
) -> None:
    """The lock failed, and two follow the same streams: the one that comes late stands back."""
    with RedisLink(redis_url) as link:
        other = Ingester(engine, HotState(link), packaged(), clock)
        other.begin()
        bus.commit(boarding("v-1", 1))
        ingest_all(other)
    bus.commit(boarding("v-1", 2))
    with pytest.raises(OtherIngester):
        ingest_all(ingester)
    assert count(engine, BoardingRow) == 1


def test_a_redis_without_memory_is_drained_and_told_later(
    engine: Engine, ingester: Ingester, bus: SmallValidator
) -> None:
    bus.commit(boarding("v-1", 1))
    bus.redis.config_set("maxmemory", "1")
    ingest_all(ingester)
    assert count(engine, BoardingRow) == 1
    assert sum(bus.redis.xlen(journal_key(number)) for number in range(64)) == 0
    assert durable(bus, "v-1") == DurableRecord()

    bus.redis.config_set("maxmemory", "0")
    bus.commit(boarding("v-2", 1))
    ingest_all(ingester)
    assert durable(bus, "v-1") == DurableRecord(1, 1)


def test_only_one_ingester_at_a_time(engine: Engine) -> None:
    with IngestLock(engine) as first, IngestLock(engine) as second:
        assert first.acquire()
        assert not second.acquire()
        first.release()
        assert second.acquire()
        assert second.held()


def test_boardings_of_a_month_lie_in_its_partition(postgres_url: str, redis_url: str) -> None:
    engine = database(postgres_url)
    with RedisLink(redis_url) as link:
        ingester = Ingester(engine, HotState(link), packaged(), clock)
        ingester.begin()
        bus = SmallValidator(redis_url)
        bus.commit(boarding("v-1", 1))
        bus.commit(boarding("v-1", 2, dated_micros=0, occurred_micros=0))
        ingest_all(ingester)
    with engine.connect() as connection:
        where = connection.execute(
            text("SELECT seq, tableoid::regclass::text FROM boardings ORDER BY seq")
        ).all()
    assert [tuple(row) for row in where] == [(1, "boardings_2026_03"), (2, "boardings_default")]
    engine.dispose()
