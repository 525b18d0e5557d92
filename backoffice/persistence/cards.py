"""Cards, their issues and states. A token is shown once, at issue, and stored as its hash only."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, CheckConstraint, Index, LargeBinary, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference, word


class CardStateWord(StrEnum):
    """State of one issue of a card; the names are those of `CardState` in the records."""

    LIVE = "LIVE"
    BLOCKED = "BLOCKED"
    REPLACED = "REPLACED"


class CardKind(StrEnum):
    """What carries the token."""

    QR = "QR"
    CHIP = "CHIP"


class UidWord(StrEnum):
    """What a row says of a chip's uid."""

    BOUND = "BOUND"
    UNBOUND = "UNBOUND"


class CardRow(Base):
    """A card of a holder; the last digit of its number is a Luhn check digit."""

    __tablename__ = "cards"
    __table_args__ = (CheckConstraint("number BETWEEN 1 AND 281474976710655", name="number"),)

    id: Mapped[BigId]
    holder_id: Mapped[int] = reference("holders.id", index=True)
    number: Mapped[int] = mapped_column(BigInteger, unique=True)
    kind: Mapped[CardKind] = word(CardKind, "kind")
    recorded_at: Mapped[datetime]


class CardIssueRow(Base):
    """One issue of a card: 1 for the first, 2 for the second via."""

    __tablename__ = "card_issues"
    __table_args__ = (
        UniqueConstraint("card_id", "issue"),
        CheckConstraint("issue BETWEEN 1 AND 255", name="issue"),
        Index(None, "holder_id", "revision"),
    )

    id: Mapped[BigId]
    holder_id: Mapped[int] = reference("holders.id")
    card_id: Mapped[int] = reference("cards.id")
    issue: Mapped[int]
    key_id: Mapped[int] = reference("city_keys.key_id")
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    """SHA-256 of the token's bytes, in hexadecimal."""
    token_hash8: Mapped[bytes] = mapped_column(LargeBinary(8))
    """Its first 8 bytes, which a snapshot shows."""
    issued_by: Mapped[int | None] = reference("users.id")
    issued_at: Mapped[datetime]
    revision: Mapped[int]


class CardStateRow(Base):
    """State of an issue from a revision on; the last one recorded counts."""

    __tablename__ = "card_states"
    __table_args__ = (
        Index(None, "card_id", "issue", "revision"),
        Index(None, "holder_id", "revision"),
    )

    id: Mapped[BigId]
    holder_id: Mapped[int] = reference("holders.id")
    card_id: Mapped[int] = reference("cards.id")
    issue: Mapped[int]
    state: Mapped[CardStateWord] = word(CardStateWord, "state")
    reason: Mapped[str] = mapped_column(String(300))
    recorded_by: Mapped[int | None] = reference("users.id")
    recorded_at: Mapped[datetime]
    revision: Mapped[int]


class CardUidRow(Base):
    """A chip's uid bound to an issue of a card, or let go again; the last turn of a uid counts.

    Turns of a uid follow one another without a gap, so that of two desks that bind one chip at once only one can.
    """

    __tablename__ = "card_uids"
    __table_args__ = (
        UniqueConstraint("uid", "turn"),
        CheckConstraint("length(uid) IN (8, 14, 20)", name="uid"),
        CheckConstraint("turn >= 1", name="turn"),
        Index(None, "holder_id", "revision"),
    )

    id: Mapped[BigId]
    holder_id: Mapped[int] = reference("holders.id")
    card_id: Mapped[int] = reference("cards.id")
    issue: Mapped[int]
    uid: Mapped[str] = mapped_column(String(20))
    """4, 7 or 10 bytes in upper-case hexadecimal."""
    turn: Mapped[int]
    state: Mapped[UidWord] = word(UidWord, "state")
    reason: Mapped[str | None] = mapped_column(String(300))
    recorded_by: Mapped[int | None] = reference("users.id")
    recorded_at: Mapped[datetime]
    revision: Mapped[int]
