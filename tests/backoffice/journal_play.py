"""Journal entries for tests of ingest, and a commit into Redis as small as the protocol allows."""

import hashlib
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import redis
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Engine, MetaData, func, select

from backoffice.adapters.law_file import law_from, law_mapping_from
from backoffice.application.ingest import Ingester
from backoffice.application.publish import Law
from backoffice.persistence.base import make_engine, reading
from backoffice.persistence.tables import all_tables
from validator.domain.usage import LastBoarding, Usage
from validator.domain.vocabulary import Category
from validator.records.codes import CATEGORY_CODE, PURSE_CODE, EntryKind
from validator.records.device_messages import chain_next, chain_start, head_message
from validator.records.journal import (
    AnswerRecord,
    HeadRecord,
    JournalEntry,
    pack_answer,
    pack_entry,
    pack_head,
    pack_id,
)
from validator.records.keys import (
    ID_SECONDS,
    VERIFIED,
    commit_no_key,
    device_shard,
    durable_key,
    generation_key,
    holder_shard,
    id_key,
    journal_key,
    seen_key,
    usage_key,
)
from validator.records.packing import to_digits, to_micros
from validator.records.snapshot import DurableRecord, unpack_durable
from validator.records.usage import EffectRecord, fold, last_record, pack_usage, unpack_usage

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
DEVICE_KEY = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)


def clock() -> datetime:
    return NOW


def packaged() -> Law:
    return Law(law_from(None), law_mapping_from(None))


def database(url: str) -> Engine:
    engine = make_engine(url)
    with engine.execution_options(catraca_writes=True).begin() as connection:
        all_tables().create_all(connection)
    return engine


def digest(*parts: object) -> bytes:
    return hashlib.sha256(repr(parts).encode()).digest()


def boarding_id(device: str, seq: int) -> UUID:
    return UUID(bytes=digest("boarding", device, seq)[:16])


def boarding(
    device: str, seq: int, holder: str | None = None, *, epoch: int = 1, variant: int = 0, **changes: Any
) -> JournalEntry:
    """A half-fare boarding of a holder, or a cash boarding of nobody."""
    at = NOW - timedelta(hours=6) + timedelta(seconds=20 * seq)
    identity = boarding_id(device, seq)
    effects: tuple[EffectRecord, ...] = ()
    if holder is not None:
        last = LastBoarding(str(identity), at, "1207", Category.STUDENT_50)
        effects = (EffectRecord(202603, PURSE_CODE["STUDENT"], True, last_record(last), True),)
    fields: dict[str, Any] = {
        "kind": int(EntryKind.BOARDING),
        "device": device,
        "epoch": epoch,
        "seq": seq,
        "digest": digest(device, epoch, seq, variant),
        "received_micros": to_micros(at + timedelta(seconds=1)),
        "boarding": identity.bytes,
        "occurred_micros": to_micros(at),
        "dated_micros": to_micros(at),
        "line": "102",
        "vehicle": "1207",
        "medium": 0 if holder is not None else 4,
        "holder": None if holder is None else to_digits(holder),
        "reason": 0,
        "category": CATEGORY_CODE[Category.STUDENT_50 if holder is not None else Category.FULL],
        "rule": "half",
        "rules": "v1",
        "fare_cents": 450,
        "rider_cents": 225 if holder is not None else 450,
        "city_cents": 225 if holder is not None else 0,
        "turnstile": 0,
        "effects": effects,
        "month_boardings": 49 if holder is not None else None,
        "passes": 9 if holder is not None else None,
    }
    return JournalEntry(**(fields | changes))


def release(
    device: str, seq: int, of: JournalEntry, *, released: bool = True, **changes: Any
) -> JournalEntry:
    fields: dict[str, Any] = {
        "kind": int(EntryKind.RELEASE),
        "device": device,
        "epoch": of.epoch,
        "seq": seq,
        "digest": digest(device, of.epoch, seq, "release"),
        "received_micros": of.received_micros + 1_000_000,
        "batch": True,
        "boarding": of.boarding,
        "holder": of.holder,
        "released": released,
        "ride_class": "HALF",
        "online": True,
        "effects": () if released else _undone(of),
    }
    return JournalEntry(**(fields | changes))


def annulment(device: str, seq: int, of: JournalEntry) -> JournalEntry:
    return JournalEntry(
        kind=int(EntryKind.ANNULMENT),
        device=device,
        epoch=of.epoch,
        seq=seq,
        digest=digest(device, of.epoch, seq, "annulment"),
        received_micros=of.received_micros + 1_000_000,
        boarding=of.boarding,
        occurred_micros=of.received_micros + 1_000_000,
        holder=of.holder,
        effects=_undone(of),
    )


def _undone(of: JournalEntry) -> tuple[EffectRecord, ...]:
    return tuple(
        EffectRecord(e.month, e.uses, e.counts_cap, e.boarding, e.personal, undone=True) for e in of.effects
    )


def conflict(device: str, seq: int, of: JournalEntry, *, epoch: int = 1) -> JournalEntry:
    return JournalEntry(
        kind=int(EntryKind.CONFLICT),
        device=device,
        epoch=epoch,
        seq=seq,
        digest=digest(device, epoch, seq, "conflict"),
        received_micros=of.received_micros,
        boarding=of.boarding,
        note="boarding id used before for another tap",
    )


def rejected(device: str, seq: int, raw: bytes = b"{", *, epoch: int = 1) -> JournalEntry:
    return JournalEntry(
        kind=int(EntryKind.REJECTED),
        device=device,
        epoch=epoch,
        seq=seq,
        digest=digest(device, epoch, seq, "rejected"),
        received_micros=to_micros(NOW),
        batch=True,
        raw=raw,
        note="not JSON",
    )


def head(
    device: str, digests: Iterable[bytes], *, epoch: int = 1, closing: bool = False, key: Any = DEVICE_KEY
) -> JournalEntry:
    """The signed head after these digests, from sequence 1 on."""
    value, seq = chain_start(device, epoch), 0
    for one in digests:
        value, seq = chain_next(value, one), seq + 1
    signature = key.sign(head_message(device, epoch, seq, value, closing=closing))
    return JournalEntry(
        kind=int(EntryKind.HEAD),
        device=device,
        epoch=epoch,
        seq=0,
        digest=b"",
        received_micros=to_micros(NOW),
        raw=pack_head(HeadRecord(seq, value, signature, closing)),
    )


def answer(entry: JournalEntry) -> AnswerRecord:
    """The answer that a validator keeps of a boarding."""
    assert entry.reason is not None
    assert entry.turnstile is not None
    assert entry.occurred_micros is not None
    return AnswerRecord(
        entry.reason,
        entry.category,
        entry.fare_cents,
        entry.rider_cents,
        entry.turnstile,
        entry.month_boardings,
        entry.passes,
        entry.rules or "",
        entry.device,
        entry.holder,
        entry.occurred_micros,
        (entry.vehicle or "") if entry.holder is not None else "",
        entry.effects[0].own() if entry.effects else None,
        city_cents=entry.city_cents,
        change_cents=entry.change_cents,
        purse=entry.effects[0].uses if entry.effects else None,
    )


class SmallValidator:
    """Commits entries as the protocol says, without deciding anything; replays what it has seen."""

    def __init__(self, url: str) -> None:
        self.redis: Any = redis.Redis.from_url(url)

    def wait_until_verified(self) -> None:
        """A validator commits nothing while the ingester still rebuilds; neither does this one."""
        deadline = time.monotonic() + 30
        while self.redis.get(VERIFIED) is None:
            assert time.monotonic() < deadline, "the ingester did not open the hot state"
            time.sleep(0.01)

    def home(self, entry: JournalEntry) -> int:
        return device_shard(entry.device) if entry.holder_id is None else holder_shard(entry.holder_id)

    def commit(self, entry: JournalEntry) -> bool:
        """Commit unless the boarding was seen; False for a replay."""
        home = self.home(entry)
        ride = entry.kind in (EntryKind.BOARDING, EntryKind.REFUSAL) and entry.boarding is not None
        if ride:
            identity = UUID(bytes=entry.boarding)
            if not self.redis.set(id_key(identity), pack_id(entry.digest, home), nx=True, ex=ID_SECONDS):
                return False
            self.redis.set(seen_key(home, identity), pack_answer(answer(entry)), ex=ID_SECONDS)
        if entry.holder_id is not None and entry.effects:
            usage = self.redis.get(usage_key(entry.holder_id))
            after = fold(unpack_usage(usage) if usage else Usage(), entry.effects)
            self.redis.set(usage_key(entry.holder_id), pack_usage(after))
        self.journal(home, pack_entry(entry))
        return True

    def journal(self, home: int, packed: bytes) -> None:
        number = self.redis.incr(commit_no_key(home))
        generation = self.redis.get(generation_key(home)) or b"1"
        self.redis.xadd(journal_key(home), {"e": packed, "n": number, "g": generation})

    def usage(self, holder: str) -> bytes | None:
        found: bytes | None = self.redis.get(usage_key(holder))
        return found


def rows(engine: Engine, *tables: str, without: Iterable[str] = ()) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of tables in a fixed order, without the columns that say when and how they came."""
    left_out = {"id", "shard", "generation", "commit_no", "stream_id", "received_at", *without}
    metadata: MetaData = all_tables()
    found = {}
    with engine.connect() as connection:
        for name in tables:
            columns = [column for column in metadata.tables[name].c if column.name not in left_out]
            found[name] = sorted((tuple(row) for row in connection.execute(select(*columns))), key=repr)
    return found


JOURNAL_TABLES = (
    "tap_keys",
    "boardings",
    "releases",
    "annulments",
    "rejected",
    "forks",
    "signed_heads",
    "device_epochs",
)


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
