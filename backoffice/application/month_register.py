"""What the register says of a month's rides, as of the instant of each: whose they were, and why one may have to wait.

Nothing here is taken from what a device says of itself but the numbers of line and vehicle, which are looked up.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import date, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backoffice.application.city_state import (
    Authorities,
    Breakdown,
    authorities,
    breakdowns_since,
    fares_as_recorded,
)
from backoffice.domain.exclusions import ExclusionReason
from backoffice.persistence.devices import DeviceAssignmentRow, DeviceRevocationRow, DeviceRow
from backoffice.persistence.journal import SignedHeadRow
from backoffice.persistence.operators import OperatorRow
from validator.domain.city import City, city_of
from validator.domain.rules import RuleBook
from validator.domain.service_time import Month, civil_date, month_bounds

_COVERING = ("VALID", "RESTARTED")
"""Verdicts of a signed head that vouch for the entries up to it."""


@dataclass(frozen=True, slots=True)
class Owned:
    """Whose ride it was, and why it waits for a person; None where it does not."""

    operator: str
    doubt: ExclusionReason | None


@dataclass(slots=True)
class MonthRegister:
    """The register for one month, read once.

    Attributes:
        city: Rules, and the fares that were recorded until the closing.
        who: Lines, vehicles and operators by day.
        breakdowns: Declared breakdowns by vehicle.
        devices: Operator by device, as registered now.
        covered: Highest sequence that a valid signed head covers, by device and epoch.
        revoked: Instants of revocation by device, with the last epoch that each concerns.
        assigned: Vehicles by device, each from an instant on.
        reference_days: Days of the month and of the closing on which a device's operator may have owned its vehicle.
    """

    city: City
    who: Authorities
    breakdowns: dict[str, list[Breakdown]]
    devices: dict[str, str]
    covered: dict[tuple[str, int], int]
    revoked: dict[str, list[tuple[datetime, int]]]
    assigned: dict[str, list[tuple[datetime, str | None]]]
    reference_days: tuple[date, ...]
    _owned: dict[tuple[str, str, str, date], Owned] = field(default_factory=dict)

    def owned(self, device: str, vehicle: str | None, line: str | None, at: datetime) -> Owned:
        """Whose ride it was on the civil day of its instant: of the operator whose vehicle it was, on a line it ran."""
        day = self.city.at(at).day
        key = (device, vehicle or "", line or "", day)
        found = self._owned.get(key)
        if found is None:
            found = self._owned[key] = self._judge(device, vehicle or "", line or "", day)
        if found.doubt is ExclusionReason.VEHICLE_UNSETTLED and self._hangs_in(device, vehicle, at):
            return self._on_line(found.operator, line or "", day)
        return found

    def _judge(self, device: str, vehicle: str, line: str, day: date) -> Owned:
        own = self.devices.get(device, "")  # an empty code: no claim takes it
        owner = self.who.owner(vehicle, day)
        if owner is None:
            return Owned(own, ExclusionReason.VEHICLE_UNSETTLED)
        near = {owner, *(self.who.owner(vehicle, other) for other in self.reference_days)}
        if own not in near:
            return Owned(owner, ExclusionReason.VEHICLE_UNSETTLED)
        return self._on_line(owner, line, day)

    def _on_line(self, operator: str, line: str, day: date) -> Owned:
        runs = self.who.runs(operator, line, day)
        return Owned(operator, None if runs else ExclusionReason.LINE_UNSETTLED)

    def _hangs_in(self, device: str, vehicle: str | None, at: datetime) -> bool:
        """Whether the device was registered in a vehicle of somebody at an instant."""
        rows = self.assigned.get(device, [])
        place = bisect_right(rows, at, key=lambda row: row[0])
        hangs = place > 0 and vehicle is not None and rows[place - 1][1] == vehicle
        return hangs and self.who.owner(vehicle or "", civil_date(at)) is not None

    def is_covered(self, device: str, epoch: int, seq: int) -> bool:
        """Whether a signed head of the device vouches for a sequence."""
        return seq <= self.covered.get((device, epoch), 0)

    def is_revoked(self, device: str, epoch: int, dated_at: datetime, received_at: datetime) -> bool:
        """Whether a ride comes from a revoked device: dated after the instant of revocation, or received after it."""
        instants = self.revoked.get(device)
        return instants is not None and any(
            epoch <= last and (dated_at >= instant or received_at >= instant) for instant, last in instants
        )

    def broke_down(self, vehicle: str, boarded_at: datetime, at: datetime) -> bool:
        """Whether a vehicle was declared broken between a boarding and a later instant (Lei art. 48, VI)."""
        return any(
            row.from_at <= at and (row.until_at is None or row.until_at > boarded_at)
            for row in self.breakdowns.get(vehicle, ())
        )


def read_register(session: Session, book: RuleBook, month: Month, closed_at: datetime) -> MonthRegister:
    """Everything that the register says for one month, as recorded until the instant of closing."""
    first, after = month_bounds(month)
    broken: dict[str, list[Breakdown]] = {}
    for row in breakdowns_since(session, first, recorded_until=closed_at):
        broken.setdefault(row.vehicle, []).append(row)
    operators = {row[0]: row[1] for row in session.execute(select(OperatorRow.id, OperatorRow.code))}
    devices = session.execute(select(DeviceRow.id, DeviceRow.operator_id))
    return MonthRegister(
        city=city_of(book, fares_as_recorded(session, recorded_until=closed_at)),
        who=authorities(session, recorded_until=closed_at),
        breakdowns=broken,
        devices={device: operators[operator] for device, operator in devices},
        covered=_covered(session, closed_at),
        revoked=_revoked(session, closed_at),
        assigned=_assigned(session, closed_at),
        reference_days=(civil_date(first), civil_date(after), civil_date(closed_at)),
    )


def _covered(session: Session, closed_at: datetime) -> dict[tuple[str, int], int]:
    rows = session.execute(
        select(SignedHeadRow.device, SignedHeadRow.epoch, func.max(SignedHeadRow.seq))
        .where(SignedHeadRow.verdict.in_(_COVERING), SignedHeadRow.received_at <= closed_at)
        .group_by(SignedHeadRow.device, SignedHeadRow.epoch)
    )
    return {(device, epoch): seq for device, epoch, seq in rows}


def _revoked(session: Session, closed_at: datetime) -> dict[str, list[tuple[datetime, int]]]:
    rows = session.execute(
        select(
            DeviceRevocationRow.device_id, DeviceRevocationRow.revoked_at, DeviceRevocationRow.epoch
        ).where(DeviceRevocationRow.recorded_at <= closed_at)
    )
    revoked: dict[str, list[tuple[datetime, int]]] = {}
    for device, instant, epoch in rows:
        revoked.setdefault(device, []).append((instant, epoch))
    return revoked


def _assigned(session: Session, closed_at: datetime) -> dict[str, list[tuple[datetime, str | None]]]:
    rows = session.execute(
        select(DeviceAssignmentRow.device_id, DeviceAssignmentRow.from_at, DeviceAssignmentRow.vehicle)
        .where(DeviceAssignmentRow.recorded_at <= closed_at)
        .order_by(DeviceAssignmentRow.from_at, DeviceAssignmentRow.id)
    )
    assigned: dict[str, list[tuple[datetime, str | None]]] = {}
    for device, instant, vehicle in rows:
        assigned.setdefault(device, []).append((instant, vehicle))
    return assigned
