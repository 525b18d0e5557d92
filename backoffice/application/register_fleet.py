"""Operators, lines, vehicles, who runs what from which day on, and breakdowns."""

from datetime import date, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backoffice.application.changes import change_city, log
from backoffice.application.city_state import authorities, breakdowns_since
from backoffice.application.errors import Conflict, Forbidden, Invalid, NotFound
from backoffice.application.register_acts import act_of
from backoffice.application.register_fields import (
    cnpj_of,
    code_of,
    cpf_of,
    day_of,
    plate_of,
    printable_code,
    text_of,
)
from backoffice.application.staff import CityOffice, Fleet
from backoffice.persistence.base import WriteSession
from backoffice.persistence.lines import LineOperatorRow, LineRow
from backoffice.persistence.operators import OperatorEndingRow, OperatorKind, OperatorRow
from backoffice.persistence.users import Role
from backoffice.persistence.vehicles import BreakdownRow, RepairRow, VehicleOperatorRow, VehicleRow
from validator.domain.service_time import civil_date
from validator.domain.vocabulary import Network


def register_operator(
    session: WriteSession,
    by: CityOffice,
    at: datetime,
    *,
    code: str,
    name: str,
    kind: OperatorKind = OperatorKind.COMPANY,
    document: str,
    first_day: date | None = None,
) -> OperatorRow:
    """Register an operator: a company by its CNPJ, or a natural person by the CPF.

    An operator that a feed brought without document is completed by the same call.

    Raises:
        Invalid: a field is wrong.
        Conflict: code or document belong to another.
    """
    code = code_of(code, "code")
    plain = cnpj_of(document) if kind is OperatorKind.COMPANY else cpf_of(document, "document")
    if plain is None:
        raise Invalid("document: informe o CPF", "document: is missing")
    other = session.scalar(select(OperatorRow.code).where(OperatorRow.document == plain))
    if other is not None:
        raise Conflict(f"o documento já é do operador {other}", f"the document is operator {other}'s")
    row = session.scalar(select(OperatorRow).where(OperatorRow.code == code))
    if row is not None and row.document is not None:
        raise Conflict(f"já há um operador {code}", f"there is an operator {code}")
    if row is None:
        row = OperatorRow(code=code, recorded_at=at)
        session.add(row)
    row.name, row.kind, row.document = text_of(name, "name"), kind, plain
    row.first_day = None if first_day is None else day_of(first_day, "first_day")
    session.flush()
    log(session, by, "operator.register", ("operator", code), at)
    return row


def operator_of(session: Session, code: str) -> OperatorRow:
    """The operator of a code.

    Raises:
        NotFound: there is none.
    """
    row = session.scalar(select(OperatorRow).where(OperatorRow.code == code))
    if row is None:
        raise NotFound(f"não há operador {code}", f"there is no operator {code}")
    return row


def end_operator(
    session: WriteSession, by: CityOffice, at: datetime, *, code: str, ended_on: date, act_id: int
) -> None:
    """End an operator's permission: from `ended_on` on it runs nothing.

    Raises:
        NotFound: no such operator or act.
    """
    operator, act = operator_of(session, code), act_of(session, act_id)
    change_city(session, at)
    session.add(
        OperatorEndingRow(
            operator_id=operator.id, ended_on=day_of(ended_on, "ended_on"), act_id=act.id, recorded_at=at
        )
    )
    log(session, by, "operator.end", ("operator", code), at, f"ended_on={ended_on}")


def register_line(
    session: WriteSession,
    by: CityOffice,
    at: datetime,
    *,
    code: str,
    name: str,
    network: Network,
    first_day: date | None = None,
    act_id: int | None = None,
) -> LineRow:
    """Register a line.

    Raises:
        Invalid: a field is wrong.
        Conflict: the code is taken.
        NotFound: no such act.
    """
    code = printable_code(code, "code")
    if session.scalar(select(LineRow.id).where(LineRow.code == code)) is not None:
        raise Conflict(f"já há uma linha {code}", f"there is a line {code}")
    if act_id is not None:
        act_of(session, act_id)
    change_city(session, at)
    row = LineRow(
        code=code,
        name=text_of(name, "name"),
        network=network,
        first_day=None if first_day is None else day_of(first_day, "first_day"),
        last_day=None,
        act_id=act_id,
        recorded_at=at,
    )
    session.add(row)
    session.flush()
    log(session, by, "line.register", ("line", code), at, f"network={network}")
    return row


def line_of(session: Session, code: str) -> LineRow:
    """The line of a code.

    Raises:
        NotFound: there is none.
    """
    row = session.scalar(select(LineRow).where(LineRow.code == code))
    if row is None:
        raise NotFound(f"não há linha {code}", f"there is no line {code}")
    return row


def end_line(
    session: WriteSession, by: CityOffice, at: datetime, *, code: str, last_day: date, act_id: int
) -> None:
    """End a line by an act; `last_day` is its last civil day.

    Raises:
        NotFound: no such line or act.
        Conflict: it has ended already.
        Invalid: it would end before it began.
    """
    row = line_of(session, code)
    act_of(session, act_id)
    if row.last_day is not None:
        raise Conflict(f"a linha {code} já terminou em {row.last_day:%d/%m/%Y}", f"line {code} has ended")
    if row.first_day is not None and last_day < row.first_day:
        raise Invalid("last_day: antes do primeiro dia da linha", "last_day: before the line's first day")
    change_city(session, at)
    row.last_day, row.act_id = day_of(last_day, "last_day"), act_id
    log(session, by, "line.end", ("line", code), at, f"last_day={last_day}")


def assign_line(
    session: WriteSession,
    by: CityOffice,
    at: datetime,
    *,
    line: str,
    operator: str,
    from_day: date,
    runs: bool = True,
    act_id: int | None = None,
) -> None:
    """From a civil day on an operator runs a line, or (`runs=False`) runs it no more.

    Raises:
        NotFound: no such line, operator or act.
    """
    line_row, operator_row = line_of(session, line), operator_of(session, operator)
    if act_id is not None:
        act_of(session, act_id)
    change_city(session, at)
    session.add(
        LineOperatorRow(
            line_id=line_row.id,
            operator_id=operator_row.id,
            from_day=day_of(from_day, "from_day"),
            runs=runs,
            act_id=act_id,
            recorded_at=at,
        )
    )
    log(session, by, "line.assign", ("line", line), at, f"operator={operator} from={from_day} runs={runs}")


def register_vehicle(
    session: WriteSession,
    by: CityOffice,
    at: datetime,
    *,
    number: str,
    operator: str | None,
    from_day: date,
    plate: str | None = None,
) -> VehicleRow:
    """Register a vehicle, or hand one over: from a civil day on it is the operator's, or nobody's.

    Raises:
        Invalid: a field is wrong.
        NotFound: no such operator.
    """
    number = printable_code(number, "number")
    owner = None if operator is None else operator_of(session, operator)
    change_city(session, at)
    row = session.get(VehicleRow, number)
    if row is None:
        row = VehicleRow(number=number, plate=None, recorded_at=at)
        session.add(row)
    row.plate = plate_of(plate) or row.plate
    session.flush()
    session.add(
        VehicleOperatorRow(
            vehicle=number,
            operator_id=None if owner is None else owner.id,
            from_day=day_of(from_day, "from_day"),
            recorded_at=at,
        )
    )
    log(session, by, "vehicle.register", ("vehicle", number), at, f"operator={operator} from={from_day}")
    return row


def declare_broken(
    session: WriteSession, by: Fleet, at: datetime, *, vehicle: str, from_at: datetime
) -> BreakdownRow:
    """Declare that a vehicle broke down, so that its riders may go on with another (Lei art. 48, VI).

    Raises:
        NotFound: no such vehicle.
        Forbidden: it is another operator's.
        Conflict: it is declared broken already.
        Invalid: the instant lies ahead.
    """
    _refuse_foreign(session, by, vehicle, at)
    if from_at > at:
        raise Invalid("from_at: a pane não pode começar no futuro", "from_at: lies ahead")
    city = change_city(session, at)
    if any(b.vehicle == vehicle and b.until_at is None for b in breakdowns_since(session, at)):
        raise Conflict(
            f"o veículo {vehicle} já está declarado em pane", f"vehicle {vehicle} is broken already"
        )
    row = BreakdownRow(vehicle=vehicle, from_at=from_at, declared_by=by.user_id, recorded_at=at)
    session.add(row)
    session.flush()
    log(session, by, "vehicle.broken", ("vehicle", vehicle), at, f"breakdown={row.id} city={city.revision}")
    return row


def declare_repaired(
    session: WriteSession, by: Fleet, at: datetime, *, vehicle: str, until_at: datetime
) -> None:
    """Declare that a broken vehicle runs again.

    Raises:
        NotFound: no such vehicle.
        Forbidden: it is another operator's.
        Conflict: it is not declared broken.
        Invalid: the instant lies ahead, or before the breakdown.
    """
    _refuse_foreign(session, by, vehicle, at)
    change_city(session, at)
    broken = [b for b in breakdowns_since(session, at) if b.vehicle == vehicle and b.until_at is None]
    if not broken:
        raise Conflict(f"o veículo {vehicle} não está em pane", f"vehicle {vehicle} is not broken")
    if until_at > at or until_at < broken[0].from_at:
        raise Invalid("until_at: entre o início da pane e agora", "until_at: between the breakdown and now")
    session.add(
        RepairRow(breakdown_id=broken[0].id, until_at=until_at, declared_by=by.user_id, recorded_at=at)
    )
    log(session, by, "vehicle.repaired", ("vehicle", vehicle), at, f"breakdown={broken[0].id}")


def _refuse_foreign(session: Session, by: Fleet, vehicle: str, at: datetime) -> None:
    if session.scalar(select(func.count()).where(VehicleRow.number == vehicle)) == 0:
        raise NotFound(f"não há veículo {vehicle}", f"there is no vehicle {vehicle}")
    if by.role is Role.OPERATOR_FINANCE:
        owner = authorities(session).owner(vehicle, civil_date(at))
        own = session.scalar(select(OperatorRow.code).where(OperatorRow.id == by.operator_id))
        if owner != own:
            raise Forbidden(f"o veículo {vehicle} é de outro operador", f"vehicle {vehicle} is another's")
