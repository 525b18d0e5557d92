"""A holder has died: rights of age and registered rights end with the day, and the cards are blocked, all at once."""

from datetime import date, datetime

from sqlalchemy import select

from backoffice.application.changes import change_holder, log
from backoffice.application.errors import Conflict, Invalid
from backoffice.application.holder_state import holders_as_recorded
from backoffice.application.pupils import refuse_foreign_pupil
from backoffice.application.register_holders import life_of, person_of, record_life
from backoffice.application.staff import Approver, Registrar, refuse_serving_oneself
from backoffice.persistence.base import WriteSession
from backoffice.persistence.cards import CardRow, CardStateRow, CardStateWord
from backoffice.persistence.rights import RightEndingRow
from validator.domain.service_time import civil_date, day_after
from validator.records.codes import CardState

_REASON = "titular falecido"


def record_death(
    session: WriteSession, by: Registrar, at: datetime, *, holder_id: int, died_on: date
) -> None:
    """Record a death: from the next civil day on nothing of this holder is accepted any more.

    Raises:
        NotFound: no such holder.
        Forbidden: it is another school's pupil.
        Invalid: the day lies ahead, or before the birth.
        Conflict: a death is recorded already.
    """
    person_of(session, holder_id)
    refuse_foreign_pupil(session, by, holder_id)
    holder = change_holder(session, holder_id, at)
    life = life_of(session, holder_id)
    if life.died_on is not None:
        raise Conflict("o falecimento já está registrado", "the death is recorded already")
    if died_on > civil_date(at) or (life.birth_date is not None and died_on < life.birth_date):
        raise Invalid("died_on: entre o nascimento e hoje", "died_on: between the birth and today")
    record_life(session, by, at, holder, life.birth_date, died_on)
    rows = holders_as_recorded(session, [holder_id])[holder_id]
    ended_on = day_after(died_on)
    endings = {ending.right_id: ending.ended_on for ending in rows.endings}
    for right in rows.rights:
        ends = endings.get(right.id, right.ended_on)
        if ends is None or ends > ended_on:
            session.add(
                RightEndingRow(
                    holder_id=holder_id,
                    right_id=right.id,
                    ended_on=max(ended_on, right.first_day),
                    reason=_REASON,
                    recorded_by=by.user_id,
                    recorded_at=at,
                    revision=holder.revision,
                )
            )
    newest = {issue.card_id: issue.issue for issue in rows.issues}
    last = {(state.card_id, state.issue): state.state for state in rows.states}
    for card in session.scalars(select(CardRow).where(CardRow.holder_id == holder_id)):
        issue = newest[card.id]
        if CardState[last[card.id, issue].value] is CardState.LIVE:
            session.add(
                CardStateRow(
                    holder_id=holder_id,
                    card_id=card.id,
                    issue=issue,
                    state=CardStateWord.BLOCKED,
                    reason=_REASON,
                    recorded_by=by.user_id,
                    recorded_at=at,
                    revision=holder.revision,
                )
            )
    log(session, by, "holder.death", ("holder", holder_id), at)


def withdraw_death(session: WriteSession, by: Approver, at: datetime, *, holder_id: int) -> None:
    """Withdraw a death that was recorded of the wrong person: rights of age and passes are there again at once.

    Nothing that costs the city comes back by itself: cards stay blocked until a desk unblocks them, and a registered
    right is asked for and approved anew. The record of the death stays, with the one that withdraws it.

    Raises:
        NotFound: no such holder.
        Forbidden: it is the person's own record.
        Conflict: no death is recorded.
    """
    refuse_serving_oneself(by, holder_id)
    person_of(session, holder_id)
    holder = change_holder(session, holder_id, at)
    life = life_of(session, holder_id)
    if life.died_on is None:
        raise Conflict("não há falecimento registrado", "no death is recorded")
    record_life(session, by, at, holder, life.birth_date, None)
    log(session, by, "holder.death_withdrawn", ("holder", holder_id), at)
