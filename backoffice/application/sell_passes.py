"""Sale of passes at a desk: student passes through the windows of Decreto art. 70, others at the full fare of the day.

The holder's row is locked from the first look at the history until the commit: of two desks that race for the last
pass of a window one sells it, and the other reads that the window is full.
"""

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from backoffice.application.changes import lock_holder, log, publish_later
from backoffice.application.city_state import fare_rows_as_recorded
from backoffice.application.errors import Conflict, Invalid, RegisterError
from backoffice.application.holder_state import holder_as_recorded
from backoffice.application.register_holders import refuse_dead
from backoffice.application.register_schools import school_of, school_year_on
from backoffice.application.staff import Desk, refuse_serving_oneself
from backoffice.domain.acquisition import NotSold, Plan, Purchase, Sold, acquire, limits_on
from backoffice.persistence.base import WriteSession
from backoffice.persistence.enrolments import EnrolmentRow
from backoffice.persistence.fares import FareRow
from backoffice.persistence.outbox import OutboxKind
from backoffice.persistence.sales import SaleRow
from validator.domain.fares import fare_on
from validator.domain.money import Cents, riders_half
from validator.domain.registration import Evidence, RegistrationRow
from validator.domain.rights import refusal_of
from validator.domain.rules import RuleBook
from validator.domain.service_time import civil_date
from validator.domain.vocabulary import Category, FareMedium, Network, Product

MOST_UNITS = 1_000
"""Passes of one sale; above it a digit was typed twice."""


class SaleRefused(RegisterError):
    """The law or the register does not allow this sale.

    Attributes:
        remaining: Student passes that could be bought today; None where no window is the reason.
        next_on: First civil day on which the number asked for could be bought; None where not known.
    """

    def __init__(
        self,
        code: str,
        sentence: str,
        english: str,
        *,
        remaining: int | None = None,
        next_on: date | None = None,
    ) -> None:
        super().__init__(sentence, english, code=code)
        self.remaining = remaining
        self.next_on = next_on


@dataclass(frozen=True, slots=True)
class Order:
    """What a buyer asks for.

    Attributes:
        product: What is bought.
        network: Where the passes are valid; student passes are urban only.
        units: Number of passes.
        plan: Plan of art. 70, d; student passes only.
        request_id: The desk's own number of the request: sent again, it sells once.
    """

    product: Product
    network: Network
    units: int
    plan: Plan | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class _Terms:
    """What a student's sale relies on."""

    enrolment_id: int
    window_first: date | None
    window_until: date | None
    plan: Plan


def sell_passes(
    session: WriteSession, by: Desk, at: datetime, book: RuleBook, *, holder_id: int, order: Order
) -> SaleRow:
    """Sell passes at the price of the day.

    Raises:
        SaleRefused: no right, no current enrolment, window or year full, no fare today; the code says which.
        Invalid: the order makes no sense.
        NotFound: no such holder.
        Forbidden: it is the clerk's own record.
        Conflict: the request id was used for another sale.
    """
    refuse_serving_oneself(by, holder_id)
    _check_order(order)
    holder = lock_holder(session, holder_id)
    sold = _sold_before(session, holder_id, order)
    if sold is not None:
        return sold
    day = civil_date(at)
    refuse_dead(session, holder_id)
    terms = _student_terms(session, book, holder_id, order, day) if order.product is Product.STUDENT else None
    fare = _fare_of_day(session, order.network, day)
    holder.revision += 1
    publish_later(session, OutboxKind.HOLDER, str(holder_id), at)
    row = SaleRow(
        holder_id=holder_id,
        product=order.product,
        network=order.network,
        units=order.units,
        face_cents=fare.cents,
        paid_cents=riders_half(Cents(fare.cents)) if terms else fare.cents,
        plan=terms.plan if terms else None,
        window_first=terms.window_first if terms else None,
        window_until=terms.window_until if terms else None,
        enrolment_id=terms.enrolment_id if terms else None,
        fare_id=fare.id,
        sold_on=day,
        recorded_at=at,
        desk=by.desk or "",
        sold_by=by.user_id,
        request_id=order.request_id,
        revision=holder.revision,
    )
    session.add(row)
    session.flush()
    detail = f"sale={row.id} product={order.product} units={order.units} paid_cents={row.paid_cents}"
    log(session, by, "passes.sell", ("holder", holder_id), at, detail)
    return row


def _check_order(order: Order) -> None:
    if not 1 <= order.units <= MOST_UNITS:
        raise Invalid(
            f"units: a quantidade vai de 1 a {MOST_UNITS} passes",
            f"units: 1 to {MOST_UNITS} passes",
            code="INVALID_QUANTITY",
        )
    if order.product is Product.STUDENT:
        if order.network is not Network.URBAN:
            raise Invalid(
                "network: o passe de estudante só vale nas linhas urbanas (Lei 1.055/91, art. 48, X)",
                "network: student passes are urban only",
            )
        if order.plan is None:
            raise Invalid(
                "plan: informe o plano: MONTH (mensal) ou TWO_MONTHS (dois meses)",
                "plan: MONTH or TWO_MONTHS",
            )
    elif order.plan is not None:
        raise Invalid("plan: só o passe de estudante tem plano", "plan: of student passes only")
    if order.request_id is not None and not 1 <= len(order.request_id) <= 64:
        raise Invalid("request_id: de 1 a 64 caracteres", "request_id: 1 to 64 characters")


def _sold_before(session: Session, holder_id: int, order: Order) -> SaleRow | None:
    """The sale that this request made already."""
    if order.request_id is None:
        return None
    row = session.scalar(select(SaleRow).where(SaleRow.request_id == order.request_id))
    if row is None:
        return None
    if (row.holder_id, row.product, row.network, row.units) != (
        holder_id,
        order.product,
        order.network,
        order.units,
    ):
        raise Conflict(
            "este número de pedido já foi usado em outra venda", "this request_id made another sale"
        )
    return row


def _student_terms(session: Session, book: RuleBook, holder_id: int, order: Order, day: date) -> _Terms:
    assert order.plan is not None
    if book.row_on(Category.STUDENT_50, day) is None:
        raise SaleRefused(
            "NO_RULE", "hoje a lei não prevê passe de estudante", "no rule gives student passes today"
        )
    state = holder_as_recorded(session, holder_id, book)
    rights = [right for right in state.holder.rights if right.category is Category.STUDENT_50]
    refusal = refusal_of(rights, day) if rights else None
    if not rights or refusal is not None:
        raise SaleRefused(
            "NO_RIGHT",
            "o titular não tem hoje direito de estudante em vigor; registre-o e peça a aprovação"
            if refusal is None
            else f"o direito de estudante não vale hoje: {refusal.sentence()}",
            "the holder has no student's right today",
        )
    enrolment = _current_enrolment(session, book, holder_id, day)
    year = school_year_on(session, enrolment.school_id, day)
    limits = limits_on(
        book,
        day,
        school_days=None if year is None else year.school_days,
        authorised_extra=0 if year is None else year.authorised_extra,
    )
    outcome = acquire(student_purchases(session, holder_id), Purchase(day, order.plan, order.units), limits)
    if isinstance(outcome, NotSold):
        raise _refused(outcome)
    window = _window_of(outcome)
    return _Terms(enrolment.id, window[0], window[1], order.plan)


def student_purchases(session: Session, holder_id: int) -> list[Purchase]:
    """All student passes that a holder has bought, oldest first."""
    rows = session.execute(
        select(SaleRow.sold_on, SaleRow.plan, SaleRow.units)
        .where(SaleRow.holder_id == holder_id, SaleRow.product == Product.STUDENT)
        .order_by(SaleRow.id)
    )
    return [Purchase(sold_on, plan or Plan.MONTH, units) for sold_on, plan, units in rows]


def _window_of(outcome: Sold) -> tuple[date | None, date | None]:
    return (None, None) if outcome.window is None else (outcome.window.first, outcome.window.until)


def _refused(outcome: NotSold) -> SaleRefused:
    sentence = outcome.reason.sentence
    if outcome.remaining is not None:
        sentence += f" Hoje ainda cabem {outcome.remaining} passes."
    if outcome.next_on is not None:
        sentence += f" A quantidade pedida cabe a partir de {outcome.next_on:%d/%m/%Y}."
    return SaleRefused(
        outcome.reason.value,
        sentence,
        f"{outcome.reason.value}: {outcome.remaining} may be bought today",
        remaining=outcome.remaining,
        next_on=outcome.next_on,
    )


def _current_enrolment(session: Session, book: RuleBook, holder_id: int, day: date) -> EnrolmentRow:
    """The declaration that proves the enrolment today, with all that the law asks for.

    Of several, as of a pupil who studies at a private school too, the newest that proves it counts.
    """
    rows = session.scalars(
        select(EnrolmentRow)
        .where(
            EnrolmentRow.holder_id == holder_id, EnrolmentRow.first_day <= day, EnrolmentRow.last_day >= day
        )
        .order_by(EnrolmentRow.id.desc())
    ).all()
    law = book.registration_on(Category.STUDENT_50, day)
    lacks = []
    for row in rows:
        lack = _lack_of(session, law, row)
        if lack is None:
            return row
        lacks.append(lack)
    if lacks:
        raise lacks[0]
    raise SaleRefused(
        "ENROLMENT_NOT_CURRENT",
        "falta a declaração de matrícula atualizada (Decreto 1.827, art. 70, c); os passes já comprados "
        "continuam valendo",
        "a current declaration of enrolment is missing; passes bought stay valid",
    )


def _lack_of(session: Session, law: RegistrationRow | None, row: EnrolmentRow) -> SaleRefused | None:
    """What a current declaration lacks for a sale; None for nothing."""
    if law is None or school_of(session, row.school_id).network not in (law.schools or ()):
        return SaleRefused(
            "SCHOOL_NOT_PUBLIC",
            "o passe de estudante é da rede pública de ensino (Lei 1.055/91, art. 48, X)",
            "student passes are for public schools",
        )
    seen = {Evidence.IDENTITY: row.identity_seen_on, Evidence.ADDRESS: row.address_seen_on}
    if any(document in law.documents and day_seen is None for document, day_seen in seen.items()):
        return SaleRefused(
            "PROOF_MISSING",
            "falta ver a identidade ou o comprovante de endereço (Decreto 1.827, art. 70, c)",
            "identity or proof of address was not seen",
        )
    if Evidence.NEED in law.documents and row.passes_per_day == 0:
        return SaleRefused(
            "NEED_NOT_DECLARED",
            "falta declarar a necessidade de transporte (Decreto 1.827, art. 70, a)",
            "the need was not declared",
        )
    return None


def _fare_of_day(session: Session, network: Network, day: date) -> FareRow:
    """The card fare of a network on the day of the sale, without any line's own."""
    rows = [(row, fare) for row, fare in fare_rows_as_recorded(session) if fare.line is None]
    fare = fare_on([fare for _, fare in rows], network, "", FareMedium.CARD, day)
    if fare is None:
        raise SaleRefused(
            "NO_FARE",
            f"não há tarifa da rede {network} para hoje; a cidade precisa registrá-la com o seu ato",
            f"no fare of {network} is registered for today",
        )
    if fare.cents == 0:
        raise SaleRefused(
            "FREE_DAY",
            "hoje a tarifa é zero e não se vendem passes; venha em outro dia",
            "the fare is zero today: no passes are sold",
        )
    return next(row for row, same in rows if same is fare)
