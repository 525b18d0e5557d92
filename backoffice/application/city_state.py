"""The city as recorded: fares, lines, vehicles, breakdowns and keys, for the publisher, the desks and the rating."""

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeVar

from sqlalchemy import ColumnElement, and_, select, true
from sqlalchemy.orm import Session

from backoffice.persistence.acts import ActRow
from backoffice.persistence.fares import FareRow
from backoffice.persistence.lines import LineOperatorRow, LineRow
from backoffice.persistence.operators import OperatorEndingRow, OperatorRow
from backoffice.persistence.vehicles import BreakdownRow, RepairRow, VehicleOperatorRow
from validator.domain.fares import Fare
from validator.domain.money import Cents
from validator.domain.vocabulary import Network

T = TypeVar("T")


def fares_as_recorded(session: Session, *, recorded_until: datetime | None = None) -> list[Fare]:
    """All fares that count, oldest first; those that a later row corrects are left out.

    Args:
        session: Any session.
        recorded_until: The last instant of recording that counts (inclusive); None for all.
    """
    return [fare for _, fare in fare_rows_as_recorded(session, recorded_until=recorded_until)]


def fare_rows_as_recorded(
    session: Session, *, recorded_until: datetime | None = None
) -> list[tuple[FareRow, Fare]]:
    """The same as rows with their fares, for those who must cite the row."""
    rows = session.execute(
        select(FareRow, ActRow)
        .join(ActRow, ActRow.id == FareRow.act_id)
        .order_by(FareRow.first_day, FareRow.id)
    ).all()
    counted = [(row, act) for row, act in rows if recorded_until is None or row.recorded_at <= recorded_until]
    corrected = {row.corrects_id for row, _ in counted}
    return [(row, _fare(row, act)) for row, act in counted if row.id not in corrected]


def _fare(row: FareRow, act: ActRow) -> Fare:
    return Fare(row.network, row.first_day, row.last_day, Cents(row.cents), row.line, row.medium, act.title)


@dataclass(frozen=True, slots=True)
class LineOnDay:
    """A line with the codes of the operators that run it on one civil day."""

    code: str
    name: str
    network: Network
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A vehicle that was declared broken from an instant on, until another or None."""

    id: int
    vehicle: str
    from_at: datetime
    until_at: datetime | None


class Authorities:
    """Who may run what, on every civil day, as recorded when it was read: for taps that come late.

    The register alone decides, never what a tap says of itself.
    """

    def __init__(
        self,
        lines: Iterable[LineRow],
        runs: Iterable[tuple[str, str, date, bool]],
        vehicles: Iterable[tuple[str, str | None, date]],
        ended: dict[str, date],
    ) -> None:
        self._lines = {line.code: line for line in lines}
        self._networks = {code: line.network for code, line in self._lines.items()}
        self._runs: dict[tuple[str, str], list[tuple[date, bool]]] = {}
        for line, operator, day, does in runs:
            self._runs.setdefault((line, operator), []).append((day, does))
        self._operators_of: dict[str, list[str]] = {}
        for line, operator in self._runs:
            self._operators_of.setdefault(line, []).append(operator)
        self._vehicles: dict[str, list[tuple[date, str | None]]] = {}
        for vehicle, owner, day in vehicles:
            self._vehicles.setdefault(vehicle, []).append((day, owner))
        self._ended = ended

    def network(self, line: str) -> Network | None:
        """The network of a line; None for one that nobody knows."""
        return self._networks.get(line)

    def runs(self, operator: str, line: str, day: date) -> bool:
        """Whether an operator runs a line on a civil day."""
        row = self._lines.get(line)
        if row is None or (row.first_day or day) > day or (row.last_day or day) < day:
            return False
        return self._active(operator, day) and _on(self._runs.get((line, operator), ()), day) is True

    def owner(self, vehicle: str, day: date) -> str | None:
        """The operator whose vehicle it is on a civil day; None where nobody's."""
        owner = _on(self._vehicles.get(vehicle, ()), day)
        return owner if owner is not None and self._active(owner, day) else None

    def lines_on(self, day: date) -> list[LineOnDay]:
        """All lines with their operators on a civil day, by code; a line that has ended is left out."""
        return [
            LineOnDay(code, line.name, line.network, self._running(code, day))
            for code, line in sorted(self._lines.items())
            if line.last_day is None or line.last_day >= day
        ]

    def vehicles_on(self, day: date) -> list[tuple[str, str]]:
        """All vehicles that are somebody's on a civil day, with the operator's code, by number."""
        owners = ((vehicle, self.owner(vehicle, day)) for vehicle in sorted(self._vehicles))
        return [(vehicle, owner) for vehicle, owner in owners if owner is not None]

    def _running(self, line: str, day: date) -> tuple[str, ...]:
        operators = sorted(self._operators_of.get(line, ()))
        return tuple(operator for operator in operators if self.runs(operator, line, day))

    def _active(self, operator: str, day: date) -> bool:
        ended = self._ended.get(operator)
        return ended is None or day < ended


def _on(rows: Sequence[tuple[date, T]], day: date) -> T | None:
    """The value of the row with the latest day up to `day`; of several for one day the last one counts."""
    place = bisect.bisect_right(rows, day, key=lambda row: row[0])
    return rows[place - 1][1] if place else None


def authorities(session: Session, *, recorded_until: datetime | None = None) -> Authorities:
    """Lines, vehicles and operators of all days.

    Args:
        session: Any session.
        recorded_until: The last instant of recording that counts for who runs and owns what (inclusive); None for all.
    """

    def counts(row: type[LineOperatorRow | VehicleOperatorRow | OperatorEndingRow]) -> ColumnElement[bool]:
        return true() if recorded_until is None else row.recorded_at <= recorded_until

    runs = session.execute(
        select(LineRow.code, OperatorRow.code, LineOperatorRow.from_day, LineOperatorRow.runs)
        .join(LineRow, LineRow.id == LineOperatorRow.line_id)
        .join(OperatorRow, OperatorRow.id == LineOperatorRow.operator_id)
        .where(counts(LineOperatorRow))
        .order_by(LineOperatorRow.from_day, LineOperatorRow.id)
    ).all()
    vehicles = session.execute(
        select(VehicleOperatorRow.vehicle, OperatorRow.code, VehicleOperatorRow.from_day)
        .outerjoin(OperatorRow, OperatorRow.id == VehicleOperatorRow.operator_id)
        .where(counts(VehicleOperatorRow))
        .order_by(VehicleOperatorRow.from_day, VehicleOperatorRow.id)
    ).all()
    endings = session.execute(
        select(OperatorRow.code, OperatorEndingRow.ended_on)
        .join(OperatorEndingRow, OperatorEndingRow.operator_id == OperatorRow.id)
        .where(counts(OperatorEndingRow))
        .order_by(OperatorEndingRow.id)
    )
    return Authorities(
        session.scalars(select(LineRow)).all(),
        [(line, operator, day, does) for line, operator, day, does in runs],
        [(vehicle, operator, day) for vehicle, operator, day in vehicles],
        {row[0]: row[1] for row in endings},
    )


def breakdowns_since(
    session: Session, instant: datetime, *, recorded_until: datetime | None = None
) -> list[Breakdown]:
    """Breakdowns that were not repaired before an instant, oldest first, as recorded until another or now."""
    repaired = RepairRow.breakdown_id == BreakdownRow.id
    declared: ColumnElement[bool] = true()
    if recorded_until is not None:
        repaired = and_(repaired, RepairRow.recorded_at <= recorded_until)
        declared = BreakdownRow.recorded_at <= recorded_until
    rows = session.execute(
        select(BreakdownRow, RepairRow.until_at)
        .outerjoin(RepairRow, repaired)
        .where(declared)
        .order_by(BreakdownRow.from_at, BreakdownRow.id)
    ).all()
    spans: list[tuple[BreakdownRow, datetime | None]] = [(row, until) for row, until in rows]
    return [
        Breakdown(row.id, row.vehicle, row.from_at, until)
        for row, until in spans
        if until is None or until >= instant
    ]
