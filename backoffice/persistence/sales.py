"""Sales of passes: one row is one lot; a holder's lots stand in order of purchase, that is of `id`."""

from datetime import date, datetime

from sqlalchemy import CheckConstraint, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.domain.acquisition import Plan
from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference, word
from validator.domain.vocabulary import Network, Product


class SaleRow(Base):
    """Passes bought together, in centavos of the day of purchase.

    Attributes:
        face_cents: Fare of one pass on the day of purchase.
        paid_cents: What the buyer paid for one pass: the half, rounded down, of a student's; the whole of others.
        plan: Plan that was named (Decreto art. 70, d); student passes only.
        window_first: First civil day of the window that the purchase fell in; None outside art. 70.
        window_until: First civil day after that window.
        enrolment_id: The declaration that the sale relied on; student passes only.
        fare_id: The fare that priced it.
    """

    __tablename__ = "sales"
    __table_args__ = (
        CheckConstraint("units >= 1", name="units"),
        CheckConstraint("face_cents > 0", name="face"),
        CheckConstraint(
            "paid_cents = CASE WHEN product = 'STUDENT' THEN face_cents / 2 ELSE face_cents END", name="price"
        ),
        CheckConstraint("product <> 'STUDENT' OR network = 'URBAN'", name="students_ride_urban"),
        CheckConstraint("product <> 'STUDENT' OR enrolment_id IS NOT NULL", name="students_are_enrolled"),
        Index(None, "holder_id", "product", "sold_on"),
        Index(None, "holder_id", "revision"),
    )

    id: Mapped[BigId]
    holder_id: Mapped[int] = reference("holders.id")
    product: Mapped[Product] = word(Product, "product")
    network: Mapped[Network] = word(Network, "network")
    units: Mapped[int]
    face_cents: Mapped[int]
    paid_cents: Mapped[int]
    plan: Mapped[Plan | None] = word(Plan, "plan", nullable=True)
    window_first: Mapped[date | None]
    window_until: Mapped[date | None]
    enrolment_id: Mapped[int | None] = reference("enrolments.id")
    fare_id: Mapped[int] = reference("fares.id")
    sold_on: Mapped[date] = mapped_column(index=True)
    recorded_at: Mapped[datetime]
    desk: Mapped[str] = mapped_column(String(64))
    sold_by: Mapped[int] = reference("users.id")
    request_id: Mapped[str | None] = mapped_column(String(64), unique=True)
    """The desk's own number of the request: sent twice, it sells once."""
    revision: Mapped[int]
