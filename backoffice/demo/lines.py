"""The city that is demonstrated: the invented one, or the lines, trips and operators of a real feed."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

from rich.progress import Progress
from sqlalchemy import select

from backoffice.adapters.gtfs_feed import GtfsFeed
from backoffice.application.city_state import authorities
from backoffice.application.import_gtfs import import_gtfs
from backoffice.application.read_gtfs import LineRules, read_gtfs
from backoffice.application.staff import as_city
from backoffice.bootstrap import Backoffice
from backoffice.demo.city_plan import (
    OPERATORS,
    Calendar,
    CityPlan,
    LinePlan,
    OperatorPlan,
    invented_lines,
    plan_city,
)
from backoffice.demo.documents import cnpj
from backoffice.demo.failure import NoLines
from backoffice.demo.founding import Founder
from backoffice.persistence.base import reading, writing
from backoffice.persistence.lines import LineRow, TripRow
from backoffice.persistence.operators import OperatorRow

_INTERIOR = ("*[Ii]nterior*", "*INTERIOR*", "*[Rr]ural*", "*RURAL*", "*[Dd]istrito*", "*DISTRITO*")
"""Routes of the interior by rule: those whose name says so."""
_MOST_OPERATORS = 9
_FIRST_CNPJ = 990000010001
_NEXT_CNPJ = 10_000


def demonstrated_city(
    founder: Founder, office: Backoffice, calendar: Calendar, gtfs: Path | None, progress: Progress
) -> tuple[CityPlan, bool]:
    """The plan of the city, and whether its lines are in the register already, imported from a feed.

    Raises:
        FileFault: the feed cannot be read.
        NoLines: none of its routes has an operator.
    """
    if gtfs is None:
        return plan_city(calendar, OPERATORS, invented_lines()), False
    founder.hire()
    _import(founder, office, calendar, gtfs, progress)
    return _imported(office, calendar), True


def _import(founder: Founder, office: Backoffice, calendar: Calendar, gtfs: Path, progress: Progress) -> None:
    by, day = as_city(founder.staff.city), calendar.days[0] - timedelta(days=20)
    task = progress.add_task(f"Importação de {gtfs.name}", total=None)
    with GtfsFeed(gtfs) as feed:
        column = _operator_column(feed)
        total = sum(feed.size(name) for name in ("agency.txt", "routes.txt", "trips.txt", "stop_times.txt"))
    progress.update(task, total=total // 1024)
    read = 0

    def told(name: str, more: int) -> None:
        nonlocal read
        read += more
        progress.update(task, completed=min(read, total) // 1024)

    rules = LineRules(interior=_INTERIOR, operator_column=column)
    with GtfsFeed(gtfs, told) as feed:
        contents = read_gtfs(feed, rules)
    with writing(office.engine) as session:
        import_gtfs(session, by, founder.at, contents, from_day=day)
    progress.update(task, completed=total // 1024)


def _operator_column(feed: GtfsFeed) -> str | None:
    """`route_desc`, where a feed of one agency names several operators there, as some cities publish them."""
    if len({agency.id for agency in feed.agencies()}) != 1:
        return None
    named = Counter(route.columns.get("route_desc", "") for route in feed.routes())
    return "route_desc" if 1 < len(named) <= _MOST_OPERATORS and "" not in named else None


def _imported(office: Backoffice, calendar: Calendar) -> CityPlan:
    """The plan of what was imported: an invented CNPJ for each operator, and vehicles on its lines."""
    with reading(office.engine) as session:
        names = dict(session.execute(select(OperatorRow.code, OperatorRow.name)).tuples().all())
        running = {line.code: line.operators for line in authorities(session).lines_on(calendar.days[0])}
        rows = session.scalars(select(LineRow).order_by(LineRow.code)).all()
        lines = [LinePlan(r.code, r.name, r.network, running[r.code][0]) for r in rows if running[r.code]]
        trips = session.execute(
            select(LineRow.code, TripRow.departs_s, TripRow.code)
            .join(LineRow, LineRow.id == TripRow.line_id)
            .where(TripRow.departs_s.is_not(None))
        ).tuples()
        departures: dict[str, list[tuple[int, str]]] = {}
        for code, departs_s, trip in trips:
            departures.setdefault(code, []).append((departs_s or 0, trip))
    if not lines:
        raise NoLines("nenhuma linha do arquivo GTFS tem operador; confira agency_id em routes.txt")
    codes = sorted({line.operator for line in lines})
    operators = [
        OperatorPlan(code, names[code], cnpj(_FIRST_CNPJ + number * _NEXT_CNPJ))
        for number, code in enumerate(codes)
    ]
    departed = {code: tuple(sorted(times)) for code, times in departures.items()}
    return plan_city(calendar, operators, lines, departed)
