"""Tables of the journal: what devices did, as the ingester wrote it. Append-only, except the progress tables.

Codes are kept as words (`ELDER`, `NO_PASSES`), amounts in centavos, flags as the number of a `Flag` (records.codes).
`holder` is the hot holder id. `generation` and `commit_no` order the commits of one shard; a holder's usage is the
fold of the effects of all its rows in that order.
"""

from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    Uuid,
    event,
    literal,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from validator.records.codes import Flag

Digest = Annotated[bytes, mapped_column(LargeBinary(32))]
Blob = Annotated[bytes, mapped_column(LargeBinary)]
BoardingId = Annotated[str, mapped_column(Uuid(as_uuid=False))]
Word = Annotated[str, mapped_column(String(24))]
Given = Annotated[str, mapped_column(Text)]
"""A text as a device or an operator gave it, of any length."""
Big = Annotated[int, mapped_column(BigInteger)]
MonthText = Annotated[str, mapped_column(String(7))]


_UNDATED = text(f"(flags & {Flag.CLOCK_QUARANTINE.value}) <> 0")


class ShardRow(Base):
    """How far one shard's stream is in SQL; written in the transaction of the rows."""

    __tablename__ = "shards"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    generation: Mapped[int]
    commit_no: Mapped[Big]
    stream_id: Mapped[str] = mapped_column(String(48))


class TapKeyRow(Base):
    """Every sequence of every device, once: what makes ingest exactly once in effect.

    Attributes:
        boarding_id: Unique; null for conflicts, rejected entries, releases, annulments and losses.
        digest: SHA-256 over the device id and the exact bytes; null for a declared loss.
        kind: Name of `EntryKind`.
        month: Of boardings and refusals: where in `boardings` the row is.
    """

    __tablename__ = "tap_keys"

    device: Mapped[Given] = mapped_column(primary_key=True)
    epoch: Mapped[Big] = mapped_column(primary_key=True, autoincrement=False)
    seq: Mapped[Big] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[Word]
    digest: Mapped[Digest | None]
    boarding_id: Mapped[BoardingId | None] = mapped_column(unique=True)
    month: Mapped[MonthText | None]


class BoardingRow(Base):
    """A tap with its decision: one row of kind `BOARDING` or `REFUSAL`; partitioned by `month` on PostgreSQL.

    Attributes:
        month: Civil month of `dated_at`, `AAAA-MM`.
        kind: `BOARDING` (accepted) or `REFUSAL`.
        occurred_at: The device's own instant; null where it was unreadable as an instant.
        dated_at: The instant that decides age, fare, rule, cap and month.
        medium: `card`, `uid`, `document`, `key` or `cash`.
        keyed: Category keyed by the driver or proved by a document.
        revision: Revision of the holder's snapshot that the decision saw.
        reason: Name of the reason, `OK` for an accepted boarding.
        rule, rules: Id of the rule row, version of the rule table.
        month_boardings, passes: What the answer said to remain.
        effects: What changed in the holder's usage (`backoffice.persistence.journal_effects`); null for nothing.
        continues: The boarding that this one continues.
        flags: Number of `Flag`.
    """

    __tablename__ = "boardings"

    month: Mapped[MonthText] = mapped_column(primary_key=True)
    device: Mapped[Given] = mapped_column(primary_key=True)
    epoch: Mapped[Big] = mapped_column(primary_key=True, autoincrement=False)
    seq: Mapped[Big] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[Word]
    boarding_id: Mapped[BoardingId]
    digest: Mapped[Digest]
    received_at: Mapped[datetime]
    batch: Mapped[bool]
    occurred_at: Mapped[datetime | None]
    dated_at: Mapped[datetime]
    line: Mapped[Given | None]
    vehicle: Mapped[Given | None]
    trip: Mapped[Given | None]
    medium: Mapped[Word | None]
    keyed: Mapped[Word | None]
    document: Mapped[Given | None]
    tendered_cents: Mapped[Big | None]
    holder: Mapped[str | None] = mapped_column(String(16))
    card_number: Mapped[Big | None]
    card_issue: Mapped[int | None]
    revision: Mapped[Big | None]
    city_revision: Mapped[Big | None]
    reason: Mapped[Word]
    category: Mapped[Word | None]
    rule: Mapped[Given | None]
    rules: Mapped[Given | None]
    fare_cents: Mapped[Big]
    rider_cents: Mapped[Big]
    city_cents: Mapped[Big]
    operator_cents: Mapped[Big]
    change_cents: Mapped[Big]
    turnstile: Mapped[Word | None]
    month_boardings: Mapped[Big | None]
    passes: Mapped[Big | None]
    effects: Mapped[Blob | None]
    continues: Mapped[BoardingId | None]
    flags: Mapped[int]
    shard: Mapped[int]
    generation: Mapped[int]
    commit_no: Mapped[Big]

    __table_args__ = (
        Index(None, "holder", "month"),
        Index(None, "shard", "generation", "commit_no"),
        Index("ix_boardings_undated", "received_at", postgresql_where=_UNDATED, sqlite_where=_UNDATED),
        {"postgresql_partition_by": "LIST (month)"},
    )


IS_UNDATED = BoardingRow.flags.bitwise_and(
    literal(Flag.CLOCK_QUARANTINE.value, literal_execute=True)
) != literal(0, literal_execute=True)
"""A boarding whose instant is not believed; in numbers and not in parameters, so that the index of those is used."""


class ReleaseRow(Base):
    """What a device did about a tap: let the rider through or not.

    Attributes:
        boarding_id: The tap that it cites.
        ride_class: `FREE`, `HALF`, `PURSE`, `FULL`, or null.
        purse: Key of the purse released on.
        list_version: Version of the list that the device decided with.
        online: Whether the device had the server's answer.
    """

    __tablename__ = "releases"

    device: Mapped[Given] = mapped_column(primary_key=True)
    epoch: Mapped[Big] = mapped_column(primary_key=True, autoincrement=False)
    seq: Mapped[Big] = mapped_column(primary_key=True, autoincrement=False)
    boarding_id: Mapped[BoardingId] = mapped_column(index=True)
    digest: Mapped[Digest]
    received_at: Mapped[datetime]
    released: Mapped[bool]
    ride_class: Mapped[Word | None]
    purse: Mapped[Given | None]
    list_version: Mapped[Big | None]
    online: Mapped[bool | None]
    holder: Mapped[str | None] = mapped_column(String(16), index=True)
    effects: Mapped[Blob | None]
    flags: Mapped[int]
    shard: Mapped[int]
    generation: Mapped[int]
    commit_no: Mapped[Big]

    __table_args__ = (Index(None, "shard", "generation", "commit_no"),)


class AnnulmentRow(Base):
    """The turnstile did not turn: takes back a boarding, or with flag `ANNUL_LATE` only records the attempt.

    Attributes:
        boarding_id: The boarding that it cites.
        occurred_at: The device's own instant of the annulment.
    """

    __tablename__ = "annulments"

    device: Mapped[Given] = mapped_column(primary_key=True)
    epoch: Mapped[Big] = mapped_column(primary_key=True, autoincrement=False)
    seq: Mapped[Big] = mapped_column(primary_key=True, autoincrement=False)
    boarding_id: Mapped[BoardingId] = mapped_column(index=True)
    digest: Mapped[Digest]
    received_at: Mapped[datetime]
    batch: Mapped[bool]
    occurred_at: Mapped[datetime | None]
    holder: Mapped[str | None] = mapped_column(String(16), index=True)
    effects: Mapped[Blob | None]
    flags: Mapped[int]
    shard: Mapped[int]
    generation: Mapped[int]
    commit_no: Mapped[Big]

    __table_args__ = (Index(None, "shard", "generation", "commit_no"),)


TAKES_BACK = AnnulmentRow.flags.bitwise_and(Flag.ANNUL_LATE.value | Flag.REVOKED_DEVICE.value) == 0
"""An annulment that takes its boarding back: it came in time, and not from a revoked device."""


class RejectedRow(Base):
    """A sequence that is no boarding: a conflict, an entry that cannot be read, or a declared loss; and poison.

    Attributes:
        kind: `CONFLICT`, `REJECTED`, `DECLARED_LOST`, or `POISON` for bytes that name no device.
        boarding_id: As the entry named it; stands under no key.
        raw: The exact bytes, or the packed entry where those are not known.
        note: Why, in Portuguese; of a declared loss, who declared it and when.
    """

    __tablename__ = "rejected"

    id: Mapped[BigId]
    kind: Mapped[Word]
    device: Mapped[Given | None]
    epoch: Mapped[Big | None]
    seq: Mapped[Big | None]
    boarding_id: Mapped[BoardingId | None]
    digest: Mapped[Digest | None]
    received_at: Mapped[datetime | None]
    raw: Mapped[Blob | None]
    note: Mapped[Given]
    holder: Mapped[str | None] = mapped_column(String(16))
    effects: Mapped[Blob | None]
    flags: Mapped[int]
    shard: Mapped[int | None]
    stream_id: Mapped[str | None] = mapped_column(String(48))
    generation: Mapped[int | None]
    commit_no: Mapped[Big | None]

    __table_args__ = (Index(None, "device", "epoch", "seq"),)


class ForkRow(Base):
    """A second, different entry under a sequence that was used already: evidence, never billed.

    Attributes:
        kind: Name of the entry's kind.
        raw: The packed journal entry.
    """

    __tablename__ = "forks"

    id: Mapped[BigId]
    device: Mapped[Given]
    epoch: Mapped[Big]
    seq: Mapped[Big]
    digest: Mapped[Digest]
    kind: Mapped[Word]
    boarding_id: Mapped[BoardingId | None]
    received_at: Mapped[datetime]
    raw: Mapped[Blob]
    note: Mapped[Given]
    holder: Mapped[str | None] = mapped_column(String(16))
    effects: Mapped[Blob | None]
    shard: Mapped[int]
    generation: Mapped[int]
    commit_no: Mapped[Big]

    __table_args__ = (UniqueConstraint("device", "epoch", "seq", "digest"),)


class SignedHeadRow(Base):
    """A head of a device's chain, as signed and received.

    Attributes:
        seq: Covers the entries of the epoch up to this sequence.
        verdict: `WAITING` for entries that are still missing, `VALID`, `RESTARTED` (valid signature, first head after
            a declared loss), `BROKEN` (the rows give another chain), `SETTLED` (broken, and a person said
            why, once a valid head covered the same entries) or `BAD_SIGNATURE`.
        closing: Whether the epoch ends with it.
    """

    __tablename__ = "signed_heads"

    id: Mapped[BigId]
    device: Mapped[Given]
    epoch: Mapped[Big]
    seq: Mapped[Big]
    head: Mapped[Digest]
    signature: Mapped[Blob]
    closing: Mapped[bool]
    received_at: Mapped[datetime]
    verdict: Mapped[Word]

    __table_args__ = (UniqueConstraint("device", "epoch", "seq", "head", "closing", "signature"),)


class DeviceEpochRow(Base):
    """What of a device's epoch is in SQL; derived from `tap_keys` and `signed_heads`.

    Attributes:
        durable_seq: Every sequence up to it is one row.
        top_seq: Highest sequence that is a row; those in between that are none are missing.
        covered_seq: Highest sequence of a valid signed head: boardings above it are not billable yet.
        chain_head: The chain's value at `covered_seq`.
        broken: Whether a head was found that the rows contradict and nobody has settled.
        closed: Whether a valid closing head has come; without it the epoch's tail is unknown.
    """

    __tablename__ = "device_epochs"

    device: Mapped[Given] = mapped_column(primary_key=True)
    epoch: Mapped[Big] = mapped_column(primary_key=True, autoincrement=False)
    durable_seq: Mapped[Big]
    top_seq: Mapped[Big]
    covered_seq: Mapped[Big]
    chain_head: Mapped[Digest | None]
    broken: Mapped[bool]
    closed: Mapped[bool]


DEFAULT_PARTITION = "CREATE TABLE IF NOT EXISTS boardings_default PARTITION OF boardings DEFAULT"
"""PostgreSQL: where boardings go whose month has no partition, such as those of a device in the year 1970."""


@event.listens_for(BoardingRow.__table__, "after_create")
def _create_default_partition(_table: Any, connection: Connection, **_options: Any) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(DEFAULT_PARTITION)
