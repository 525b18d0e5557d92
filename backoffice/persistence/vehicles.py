"""Vehicles, whose they are from which day on, and their breakdowns (Lei art. 48, VI)."""

from datetime import date, datetime

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference


class VehicleRow(Base):
    """One vehicle, named by the number that is painted on it."""

    __tablename__ = "vehicles"

    number: Mapped[str] = mapped_column(String(64), primary_key=True)
    plate: Mapped[str | None] = mapped_column(String(8))
    recorded_at: Mapped[datetime]


class VehicleOperatorRow(Base):
    """From a civil day on a vehicle is an operator's, or nobody's; of several rows the last recorded counts."""

    __tablename__ = "vehicle_operators"
    __table_args__ = (Index(None, "vehicle", "from_day"),)

    id: Mapped[BigId]
    vehicle: Mapped[str] = reference("vehicles.number")
    operator_id: Mapped[int | None] = reference("operators.id")
    from_day: Mapped[date]
    recorded_at: Mapped[datetime]


class BreakdownRow(Base):
    """A vehicle that its operator declared broken from an instant on."""

    __tablename__ = "breakdowns"

    id: Mapped[BigId]
    vehicle: Mapped[str] = reference("vehicles.number", index=True)
    from_at: Mapped[datetime]
    declared_by: Mapped[int] = reference("users.id")
    recorded_at: Mapped[datetime]


class RepairRow(Base):
    """The instant from which a broken vehicle runs again."""

    __tablename__ = "repairs"

    breakdown_id: Mapped[int] = reference("breakdowns.id", primary_key=True)
    until_at: Mapped[datetime]
    declared_by: Mapped[int] = reference("users.id")
    recorded_at: Mapped[datetime]
