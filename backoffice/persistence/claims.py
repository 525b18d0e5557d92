"""Tables of the month's closing and of the claims (faturas de reembolso). Append-only: what is closed stays as it is.

A closing is the city's, for all operators at once; it freezes the verdict of every boarding, the end state of every
holder, and one claim per operator. Late rides go to a further closing of the same month (`part` 2, 3, ...), whose
claims are complementary. No database id is ever printed.
"""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.domain.exclusions import ExclusionReason
from backoffice.domain.rides import Verdict
from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference, word
from backoffice.persistence.journal import Big, BoardingId, Given, MonthText
from validator.domain.vocabulary import Category, RideClass, Turnstile


class ClaimKind(StrEnum):
    """The month's claim, or one for rides that came after it was closed."""

    MAIN = "MAIN"
    COMPLEMENTARY = "COMPLEMENTARY"


class ClaimState(StrEnum):
    """Where a claim is on its way; each step is a row."""

    DRAFT = "DRAFT"
    CLOSED = "CLOSED"
    SENT = "SENT"
    ATTESTED = "ATTESTED"
    CUT = "CUT"
    PAID = "PAID"


class EntryKindWord(StrEnum):
    """What an entry does to the sum of its boarding."""

    BILL = "BILL"
    REVERSAL = "REVERSAL"
    CUT = "CUT"
    DELTA = "DELTA"


class ClosingRow(Base):
    """One closing of one month.

    Attributes:
        part: 1 for the month's own closing, more for complementary ones.
        closed_at: The instant of closing, an argument: what was received later is not in it.
        closed_by: Login of who closed it.
        rules_version: Version of the rule table.
        fares_sha256: SHA-256 of all fares that counted.
    """

    __tablename__ = "month_closings"
    __table_args__ = (UniqueConstraint("month", "part"), CheckConstraint("part >= 1", name="part"))

    id: Mapped[BigId]
    month: Mapped[MonthText]
    part: Mapped[int]
    closed_at: Mapped[datetime]
    closed_by: Mapped[str] = mapped_column(String(64))
    rules_version: Mapped[str] = mapped_column(String(64))
    fares_sha256: Mapped[str] = mapped_column(String(64))


class RatedRow(Base):
    """The frozen verdict of one boarding; amounts in centavos.

    Attributes:
        holder: Hot holder id, null for a boarding of nobody.
        operator: Code of the operator whose ride it was, as of the instant, by the register.
        dated_at: The instant that the ride is dated on.
        rule: Id of the rule row.
        purse: Purse that gave a pass, with the number of the pass in that purse, which names its lot.
        counts_cap: Whether it holds a place in the month's cap.
        personal: Whether passback is measured from it.
        took: Whether its place and pass are taken in the holder's end state.
        waits: Whether a later closing may still bill it, once a person or the device's journal has settled it.
    """

    __tablename__ = "rated_boardings"
    __table_args__ = (
        CheckConstraint("rider_cents + city_cents + operator_cents = fare_cents", name="parts"),
        CheckConstraint("rider_cents >= 0 AND city_cents >= 0 AND operator_cents >= 0", name="not_negative"),
        CheckConstraint("(verdict = 'billable') = (city_cents > 0)", name="billed_has_amount"),
        CheckConstraint("(verdict = 'excluded') = (reason IS NOT NULL)", name="excluded_has_reason"),
        CheckConstraint("verdict <> 'billable' OR rule IS NOT NULL", name="billed_has_rule"),
        CheckConstraint("(purse IS NULL) = (pass_number IS NULL)", name="pass_is_numbered"),
        Index(None, "closing_id", "operator", "verdict"),
        Index(None, "holder", "month"),
    )

    boarding_id: Mapped[BoardingId] = mapped_column(primary_key=True)
    closing_id: Mapped[int] = reference("month_closings.id", primary_key=True)
    month: Mapped[MonthText]
    holder: Mapped[str | None] = mapped_column(String(16))
    operator: Mapped[str] = mapped_column(String(32))
    device: Mapped[Given]
    epoch: Mapped[Big]
    seq: Mapped[Big]
    dated_at: Mapped[datetime]
    line: Mapped[Given | None]
    vehicle: Mapped[Given | None]
    verdict: Mapped[Verdict] = word(Verdict, "verdict")
    reason: Mapped[ExclusionReason | None] = word(ExclusionReason, "reason", nullable=True)
    category: Mapped[Category | None] = word(Category, "category", nullable=True)
    ride_class: Mapped[RideClass | None] = word(RideClass, "ride_class", nullable=True)
    rule: Mapped[str | None] = mapped_column(String(64))
    turnstile: Mapped[Turnstile] = word(Turnstile, "turnstile")
    fare_cents: Mapped[Big]
    rider_cents: Mapped[Big]
    city_cents: Mapped[Big]
    operator_cents: Mapped[Big]
    purse: Mapped[str | None] = mapped_column(String(24))
    pass_number: Mapped[Big | None]
    counts_cap: Mapped[bool]
    personal: Mapped[bool]
    took: Mapped[bool]
    waits: Mapped[bool]


class EndStateRow(Base):
    """What a holder had consumed after a closing: where the next rating starts. The latest closing's row counts.

    `usage` is `validator.records.usage.pack_usage`: places of the cap by month, passes taken by purse, last boardings.
    """

    __tablename__ = "holder_end_states"

    holder: Mapped[str] = mapped_column(String(16), primary_key=True)
    closing_id: Mapped[int] = reference("month_closings.id", primary_key=True)
    usage: Mapped[bytes] = mapped_column(LargeBinary)


class ClaimRow(Base):
    """One operator's claim for one month; the number is gapless within operator and year of closing.

    Attributes:
        operator: Code of the operator.
        lines_cents: Sum of its lines.
        adjustments_cents: Sum of its adjustments of earlier months; may be negative.
        total_cents: Both.
        document: The claim as printed, canonical JSON: frozen, and written to files byte by byte.
        annex_sha256: SHA-256 of the annex of boardings.
    """

    __tablename__ = "claims"
    __table_args__ = (
        UniqueConstraint("operator", "year", "number"),
        UniqueConstraint("closing_id", "operator"),
        CheckConstraint("number >= 1", name="number"),
        CheckConstraint("lines_cents >= 0", name="lines_not_negative"),
        CheckConstraint("lines_cents + adjustments_cents = total_cents", name="total"),
    )

    id: Mapped[BigId]
    closing_id: Mapped[int] = reference("month_closings.id")
    operator: Mapped[str] = reference("operators.code")
    year: Mapped[int]
    number: Mapped[int]
    month: Mapped[MonthText]
    kind: Mapped[ClaimKind] = word(ClaimKind, "kind")
    lines_cents: Mapped[Big]
    adjustments_cents: Mapped[Big]
    total_cents: Mapped[Big]
    annex_sha256: Mapped[str] = mapped_column(String(64))
    document: Mapped[str] = mapped_column(Text)


class ClaimLineRow(Base):
    """One line of a claim: rides of one category, rule, line and face fare. Unit amounts and sums in centavos."""

    __tablename__ = "claim_lines"
    __table_args__ = (
        CheckConstraint("quantity >= 1", name="quantity"),
        CheckConstraint("rider_cents >= 0 AND city_cents > 0 AND operator_cents >= 0", name="not_negative"),
        CheckConstraint("rider_cents + city_cents + operator_cents = fare_cents", name="parts"),
        CheckConstraint("total_cents = quantity * city_cents", name="total"),
    )

    claim_id: Mapped[int] = reference("claims.id", primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    category: Mapped[Category] = word(Category, "category")
    rule: Mapped[str] = mapped_column(String(64))
    line: Mapped[str] = mapped_column(Text)
    fare_cents: Mapped[Big]
    rider_cents: Mapped[Big]
    city_cents: Mapped[Big]
    operator_cents: Mapped[Big]
    quantity: Mapped[int]
    total_cents: Mapped[Big]


class ClaimEntryRow(Base):
    """What a claim asks for one boarding, or takes back: at most one BILL ever; the others cite it by its boarding.

    Attributes:
        cents: Centavos; positive for BILL, negative for REVERSAL and CUT, either for DELTA.
        reason: Why, for all but BILL.
    """

    __tablename__ = "claim_entries"
    __table_args__ = (
        CheckConstraint("kind <> 'BILL' OR cents > 0", name="bill_is_positive"),
        CheckConstraint("kind NOT IN ('REVERSAL', 'CUT') OR cents < 0", name="taken_back_is_negative"),
        CheckConstraint("kind = 'BILL' OR reason IS NOT NULL", name="correction_has_reason"),
        Index(
            "uq_claim_entries_billed_once",
            "boarding_id",
            unique=True,
            sqlite_where=text("kind = 'BILL'"),
            postgresql_where=text("kind = 'BILL'"),
        ),
        Index(
            "uq_claim_entries_reversed_once",
            "boarding_id",
            unique=True,
            sqlite_where=text("kind = 'REVERSAL'"),
            postgresql_where=text("kind = 'REVERSAL'"),
        ),
    )

    id: Mapped[BigId]
    claim_id: Mapped[int] = reference("claims.id", index=True)
    boarding_id: Mapped[BoardingId]
    kind: Mapped[EntryKindWord] = word(EntryKindWord, "kind")
    cents: Mapped[Big]
    reason: Mapped[str | None] = mapped_column(String(200))


class ClaimStateRow(Base):
    """One step of a claim, with who took it."""

    __tablename__ = "claim_states"

    id: Mapped[BigId]
    claim_id: Mapped[int] = reference("claims.id", index=True)
    state: Mapped[ClaimState] = word(ClaimState, "state")
    at: Mapped[datetime]
    by: Mapped[str] = mapped_column(String(64))
    note: Mapped[str | None] = mapped_column(String(300))
