"""The demonstration city: two invented operators, lines of both networks, schools, fares with their acts, vehicles."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from backoffice.demo.documents import cnpj
from validator.domain.registration import SchoolNetwork
from validator.domain.service_time import SAO_PAULO, Month, next_month
from validator.domain.vocabulary import Network


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """An operator: its code, its name and its CNPJ."""

    code: str
    name: str
    cnpj: str


@dataclass(frozen=True, slots=True)
class LinePlan:
    """A line and the operator that runs it."""

    code: str
    name: str
    network: Network
    operator: str


@dataclass(frozen=True, slots=True)
class VehiclePlan:
    """A vehicle, the line that it runs, and the validator that hangs in it."""

    number: str
    device_id: str
    line: LinePlan


@dataclass(frozen=True, slots=True)
class SchoolPlan:
    """A school of one of the public networks, or an institution of special education."""

    name: str
    network: SchoolNetwork
    inep: str


@dataclass(frozen=True, slots=True)
class FarePlan:
    """A fare in centavos for a network from a day on, or for the days until `last_day`, and the number of its act."""

    network: Network
    cents: int
    first_day: date
    last_day: date | None
    act: str


@dataclass(frozen=True, slots=True)
class Calendar:
    """The days of the demonstrated month.

    Attributes:
        month: The month.
        days: All its civil days.
        dense: The day that is played in full, with its two rush hours: the second Tuesday.
        fare_change: The third Monday, when the fares rise.
        free: The fourth Sunday, when nobody pays.
        theft: The twentieth day, on which a validator is stolen.
    """

    month: Month
    days: tuple[date, ...]
    dense: date
    fare_change: date
    free: date
    theft: date

    def after(self, days: int) -> date:
        """The day so many days after the month's last."""
        return self.days[-1] + timedelta(days=days)


@dataclass(frozen=True, slots=True)
class CityPlan:
    """All that the register needs before the first holder."""

    operators: tuple[OperatorPlan, ...]
    lines: tuple[LinePlan, ...]
    vehicles: tuple[VehiclePlan, ...]
    schools: tuple[SchoolPlan, ...]
    fares: tuple[FarePlan, ...]
    trips: Mapping[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    """Departures of each line in order: seconds after midnight, and the trip's code."""

    def trip(self, line: str, at: datetime) -> str:
        """The trip that runs on a line at an instant: the last that has departed, or one named by line and hour."""
        local = at.astimezone(SAO_PAULO)
        second = (local.hour * 60 + local.minute) * 60 + local.second
        departures = self.trips.get(line, ())
        number = bisect_right(departures, (second, "\U0010ffff"))
        return departures[max(0, number - 1)][1] if departures else f"{line}-{local:%H}00"

    def fare(self, network: Network, day: date) -> int:
        """The fare of a day in centavos: the days of their own first, then the latest."""
        return max(
            (f for f in self.fares if f.network is network and f.first_day <= day <= (f.last_day or day)),
            key=lambda f: (f.last_day is not None, f.first_day),
        ).cents


def calendar_of(month: Month) -> Calendar:
    """The calendar of a month."""
    day, end = date.fromisoformat(f"{month}-01"), date.fromisoformat(f"{next_month(month)}-01")
    days = tuple(day + timedelta(days=i) for i in range((end - day).days))
    return Calendar(
        month,
        days,
        dense=_nth(days, 1, 2),
        fare_change=_nth(days, 0, 3),
        free=_nth(days, 6, 4),
        theft=days[19],
    )


def _nth(days: Sequence[date], weekday: int, number: int) -> date:
    return [day for day in days if day.weekday() == weekday][number - 1]


OPERATORS = (
    OperatorPlan("araucaria", "Viação Araucária Demonstração Ltda.", cnpj(990000010001)),
    OperatorPlan("pinhao", "Transportes Pinhão Demonstração Ltda.", cnpj(990000020001)),
)

_DISTRICTS = (
    "Centro", "Alvorada", "Bela Vista", "Estação", "Industrial", "Jardim das Flores", "Morada do Sol",
    "Parque Verde", "Pinheirinho", "Universidade", "Vila Nova", "Hospital",
)  # fmt: skip
_COMMUNITIES = (
    "Comunidade Norte",
    "Comunidade Sul",
    "Comunidade Leste",
    "Comunidade Oeste",
    "Ponte Alta",
    "Serra",
)

_NETWORKS = (
    SchoolNetwork.PUBLIC_MUNICIPAL,
    SchoolNetwork.PUBLIC_MUNICIPAL,
    SchoolNetwork.PUBLIC_STATE,
    SchoolNetwork.PUBLIC_STATE,
    SchoolNetwork.PUBLIC_FEDERAL,
)
SCHOOLS = (
    *(
        SchoolPlan(f"Escola Pública Demonstração {number}", network, f"4199{number:04d}")
        for number, network in enumerate(_NETWORKS, start=1)
    ),
    SchoolPlan("Escola Especial Demonstração", SchoolNetwork.SPECIAL, "41990099"),
)


def invented_lines() -> tuple[LinePlan, ...]:
    """Urban lines of both operators, and lines to the interior of one of them."""
    urban = [
        LinePlan(f"{101 + i}", f"{name} - Terminal", Network.URBAN, OPERATORS[i % 3 == 2].code)
        for i, name in enumerate(_DISTRICTS)
    ]
    interior = [
        LinePlan(f"{201 + i}", f"{name} - Terminal", Network.INTERIOR, OPERATORS[1].code)
        for i, name in enumerate(_COMMUNITIES)
    ]
    return (*urban, *interior)


def plan_city(
    calendar: Calendar,
    operators: Sequence[OperatorPlan],
    lines: Sequence[LinePlan],
    trips: Mapping[str, tuple[tuple[int, str], ...]] | None = None,
) -> CityPlan:
    """A city with these operators and lines: two vehicles or more on each line, fares that rise, and a free Sunday."""
    return CityPlan(tuple(operators), tuple(lines), tuple(_vehicles(lines)), SCHOOLS, tuple(_fares(calendar)))


_FEWEST_VEHICLES = 12
"""So that everything that may happen to a device happens to another one, in a city of one line too."""


def _vehicles(lines: Sequence[LinePlan]) -> Iterator[VehiclePlan]:
    each = max(2, -(-_FEWEST_VEHICLES // len(lines)))
    for number, line in enumerate((line for line in lines for _ in range(each)), start=1):
        yield VehiclePlan(f"{1000 + number}", f"val-{number:03d}", line)


def _fares(calendar: Calendar) -> Iterator[FarePlan]:
    year = calendar.days[0].year
    before = date(year - 2, 1, 1)
    yield FarePlan(Network.URBAN, 450, before, None, f"DEMO-1/{before.year}")
    yield FarePlan(Network.INTERIOR, 700, before, None, f"DEMO-1/{before.year}")
    yield FarePlan(Network.URBAN, 485, calendar.fare_change, None, f"DEMO-2/{year}")
    yield FarePlan(Network.INTERIOR, 755, calendar.fare_change, None, f"DEMO-2/{year}")
    yield FarePlan(Network.URBAN, 0, calendar.free, calendar.free, f"DEMO-3/{year}")
    yield FarePlan(Network.INTERIOR, 0, calendar.free, calendar.free, f"DEMO-3/{year}")
