"""Operators, lines, vehicles and breakdowns."""

from datetime import date, datetime

from fastapi import APIRouter
from sqlalchemy import select

from backoffice.api.dependencies import ByCity, ByFleet, ByReader, Now, Reads, Writes
from backoffice.api.wire import Code, Day, Flag, Instant, Number, Sent, Shown, Text
from backoffice.application.city_state import authorities, breakdowns_since
from backoffice.application.register_fleet import (
    assign_line,
    declare_broken,
    declare_repaired,
    end_line,
    end_operator,
    register_line,
    register_operator,
    register_vehicle,
)
from backoffice.persistence.operators import OperatorKind, OperatorRow
from validator.domain.service_time import civil_date
from validator.domain.vocabulary import Network

router = APIRouter(prefix="/v1", tags=["frota"])


class OperatorSent(Sent):
    """An operator."""

    code: Text
    name: Text
    kind: OperatorKind = OperatorKind.COMPANY
    document: Text
    """CNPJ of a company, letters allowed; CPF of a person."""
    first_day: Day | None = None


class OperatorShown(Shown):
    """A registered operator; the CPF of a person is not shown."""

    code: str
    name: str
    kind: OperatorKind
    document: str | None
    first_day: date | None


@router.post("/operators", status_code=201)
def add_operator(sent: OperatorSent, by: ByCity, at: Now, session: Writes) -> OperatorShown:
    """Register an operator, or complete one that a feed brought."""
    return _operator(register_operator(session, by, at, **sent.model_dump()))


@router.get("/operators")
def list_operators(by: ByReader, session: Reads) -> list[OperatorShown]:
    """All operators; an operator's people see their own."""
    query = select(OperatorRow).order_by(OperatorRow.code)
    if by.operator_id is not None:
        query = query.where(OperatorRow.id == by.operator_id)
    return [_operator(row) for row in session.scalars(query)]


def _operator(row: OperatorRow) -> OperatorShown:
    shown = OperatorShown.model_validate(row)
    return shown.model_copy(update={"document": None}) if row.kind is OperatorKind.PERSON else shown


class Ending(Sent):
    """The end of an operator's permission."""

    ended_on: Day
    """First day without it."""
    act_id: Number


@router.post("/operators/{code}/end", status_code=204)
def close_operator(code: Code, sent: Ending, by: ByCity, at: Now, session: Writes) -> None:
    """End an operator's permission by an act."""
    end_operator(session, by, at, code=code, ended_on=sent.ended_on, act_id=sent.act_id)


class LineSent(Sent):
    """A line."""

    code: Text
    name: Text
    network: Network
    first_day: Day | None = None
    act_id: Number | None = None


class LineShown(Shown):
    """A line with the operators that run it today."""

    code: str
    name: str
    network: Network
    operators: list[str]


@router.post("/lines", status_code=201)
def add_line(sent: LineSent, by: ByCity, at: Now, session: Writes) -> LineShown:
    """Register a line."""
    row = register_line(session, by, at, **sent.model_dump())
    return LineShown(code=row.code, name=row.name, network=row.network, operators=[])


@router.get("/lines")
def list_lines(_: ByReader, at: Now, session: Reads) -> list[LineShown]:
    """All lines of today, by code."""
    return [LineShown.model_validate(line) for line in authorities(session).lines_on(civil_date(at))]


class LineRun(Sent):
    """From when on an operator runs a line, or runs it no more."""

    line: Text
    operator: Text
    from_day: Day
    runs: Flag = True
    act_id: Number | None = None


@router.post("/line-operators", status_code=204)
def run_line(sent: LineRun, by: ByCity, at: Now, session: Writes) -> None:
    """Let an operator run a line from a day on, or end it with `runs: false`."""
    assign_line(session, by, at, **sent.model_dump())


class LineEnding(Sent):
    """The end of a line."""

    line: Text
    last_day: Day
    act_id: Number


@router.post("/line-endings", status_code=204)
def close_line(sent: LineEnding, by: ByCity, at: Now, session: Writes) -> None:
    """End a line by an act."""
    end_line(session, by, at, code=sent.line, last_day=sent.last_day, act_id=sent.act_id)


class VehicleSent(Sent):
    """A vehicle and whose it is."""

    number: Text
    operator: Text | None
    from_day: Day
    plate: Text | None = None


class VehicleShown(Shown):
    """A vehicle of today."""

    number: str
    operator: str | None


@router.post("/vehicles", status_code=201)
def add_vehicle(sent: VehicleSent, by: ByCity, at: Now, session: Writes) -> VehicleShown:
    """Register a vehicle, or hand one over from a day on."""
    register_vehicle(session, by, at, **sent.model_dump())
    return VehicleShown(number=sent.number, operator=sent.operator)


@router.get("/vehicles")
def list_vehicles(by: ByReader, at: Now, session: Reads) -> list[VehicleShown]:
    """All vehicles that are somebody's today; an operator's people see their own."""
    own = session.scalar(select(OperatorRow.code).where(OperatorRow.id == by.operator_id))
    return [
        VehicleShown(number=number, operator=operator)
        for number, operator in authorities(session).vehicles_on(civil_date(at))
        if own is None or operator == own
    ]


class Broken(Sent):
    """A vehicle that broke down."""

    vehicle: Text
    from_at: Instant


class Repaired(Sent):
    """A vehicle that runs again."""

    vehicle: Text
    until_at: Instant


class BreakdownShown(Shown):
    """A breakdown; `until_at` is null while it lasts."""

    id: int
    vehicle: str
    from_at: datetime
    until_at: datetime | None


@router.post("/breakdowns", status_code=201)
def add_breakdown(sent: Broken, by: ByFleet, at: Now, session: Writes) -> BreakdownShown:
    """Declare a vehicle broken: its riders go on with another at no cost (Lei art. 48, VI)."""
    row = declare_broken(session, by, at, vehicle=sent.vehicle, from_at=sent.from_at)
    return BreakdownShown(id=row.id, vehicle=row.vehicle, from_at=row.from_at, until_at=None)


@router.post("/repairs", status_code=204)
def add_repair(sent: Repaired, by: ByFleet, at: Now, session: Writes) -> None:
    """Declare that a vehicle runs again."""
    declare_repaired(session, by, at, vehicle=sent.vehicle, until_at=sent.until_at)


@router.get("/breakdowns")
def list_breakdowns(_: ByReader, at: Now, session: Reads) -> list[BreakdownShown]:
    """Breakdowns that last."""
    open_now = (b for b in breakdowns_since(session, at) if b.until_at is None)
    return [BreakdownShown.model_validate(breakdown) for breakdown in open_now]
