"""Acts, and the fares that they set."""

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from backoffice.application.changes import change_city, log
from backoffice.application.city_state import fare_rows_as_recorded
from backoffice.application.errors import Conflict, Invalid, NotFound
from backoffice.application.register_fields import day_of, optional_text, text_of
from backoffice.application.staff import CityOffice
from backoffice.persistence.acts import ActKind, ActRow
from backoffice.persistence.base import WriteSession
from backoffice.persistence.fares import FareRow
from backoffice.persistence.lines import LineRow
from validator.domain.fares import Fare, FareError, check_fares
from validator.domain.money import Cents
from validator.domain.vocabulary import FareMedium, Network

HIGHEST_FARE_CENTS = 100_000
"""R$ 1.000,00: above it the comma was forgotten."""


def record_act(
    session: WriteSession,
    by: CityOffice,
    at: datetime,
    *,
    kind: ActKind,
    number: str,
    signed_on: date,
    published_on: date | None = None,
    note: str | None = None,
) -> ActRow:
    """Record an act.

    Raises:
        Invalid: a field is wrong.
        Conflict: an act of this kind, number and day is there already.
    """
    number = text_of(number, "number", 64)
    signed_on = day_of(signed_on, "signed_on")
    known = session.scalar(
        select(ActRow).where(ActRow.kind == kind, ActRow.number == number, ActRow.signed_on == signed_on)
    )
    if known is not None:
        raise Conflict(
            f"o ato já está registrado com o número {known.id}", f"the act is recorded as {known.id}"
        )
    act = ActRow(
        kind=kind,
        number=number,
        signed_on=signed_on,
        published_on=None if published_on is None else day_of(published_on, "published_on"),
        note=optional_text(note, "note", 500),
        recorded_at=at,
    )
    session.add(act)
    session.flush()
    log(session, by, "act.record", ("act", act.id), at)
    return act


def act_of(session: Session, act_id: int) -> ActRow:
    """The act of a number.

    Raises:
        NotFound: there is none.
    """
    act = session.get(ActRow, act_id)
    if act is None:
        raise NotFound(
            f"não há ato de número {act_id}; registre-o antes", f"there is no act {act_id}; record it first"
        )
    return act


@dataclass(frozen=True, slots=True)
class NewFare:
    """A fare to be registered; see `validator.domain.fares.Fare` for the meaning of its days."""

    network: Network
    cents: int
    first_day: date
    act_id: int
    last_day: date | None = None
    line: str | None = None
    medium: FareMedium | None = None


def register_fare(
    session: WriteSession, by: CityOffice, at: datetime, new: NewFare, *, corrects_id: int | None = None
) -> FareRow:
    """Register a fare by its act; the fare before it runs on until its first day.

    Args:
        session: A writing session.
        by: Who registers it.
        at: The instant of recording.
        new: The fare.
        corrects_id: A fare that was registered wrongly and counts no more from now on. Closed claims stay as they are.

    Raises:
        Invalid: centavos or days make no sense.
        NotFound: no such act, line, or fare to correct.
        Conflict: it overlaps another fare, or the other was corrected already.
    """
    act = act_of(session, new.act_id)
    if not 0 <= new.cents <= HIGHEST_FARE_CENTS:
        raise Invalid(
            f"cents: a tarifa vai de 0 a {HIGHEST_FARE_CENTS} centavos", f"cents: 0 to {HIGHEST_FARE_CENTS}"
        )
    for day, field in ((new.first_day, "first_day"), (new.last_day, "last_day")):
        if day is not None:
            day_of(day, field)
    if new.line is not None:
        _check_line(session, new)
    city = change_city(session, at)
    rows = fare_rows_as_recorded(session)
    if corrects_id is not None and corrects_id not in {row.id for row, _ in rows}:
        raise NotFound(
            f"a tarifa {corrects_id} não existe ou já foi corrigida", f"fare {corrects_id} is not in force"
        )
    standing = [fare for row, fare in rows if row.id != corrects_id]
    wanted = Fare(new.network, new.first_day, new.last_day, Cents(new.cents), new.line, new.medium, act.title)
    try:
        check_fares([*standing, wanted], [])
    except FareError as error:
        raise Conflict(_overlap(new), str(error)) from error
    row = FareRow(
        network=new.network,
        line=new.line,
        medium=new.medium,
        first_day=new.first_day,
        last_day=new.last_day,
        cents=new.cents,
        act_id=act.id,
        corrects_id=corrects_id,
        recorded_by=by.user_id,
        recorded_at=at,
    )
    session.add(row)
    session.flush()
    log(session, by, "fare.register", ("fare", row.id), at, f"cents={new.cents} city={city.revision}")
    return row


def _check_line(session: Session, new: NewFare) -> None:
    line = session.scalar(select(LineRow).where(LineRow.code == new.line))
    if line is None:
        raise NotFound(f"não há linha {new.line}", f"there is no line {new.line}")
    if line.network is not new.network:
        raise Invalid(
            f"network: a linha {new.line} é da rede {line.network}",
            f"network: line {new.line} is of {line.network}",
        )


def _overlap(new: NewFare) -> str:
    if new.last_day is not None and new.last_day < new.first_day:
        return "a tarifa termina antes de começar; confira as datas"
    return (
        f"já há tarifa da rede {new.network} para estes dias, linha e meio; corrija a existente ou escolha "
        "outra data de início"
    )
