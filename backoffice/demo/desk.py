"""What desk and city do while the month runs: cards lost and replaced, rights ended, passes sold, a device revoked."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlalchemy import func, select

from backoffice.application.issue_cards import block_card, replace_card
from backoffice.application.register_devices import revoke_device
from backoffice.application.register_rights import end_right, suspend_right
from backoffice.application.staff import as_administrator, as_desk, as_registrar
from backoffice.bootstrap import Backoffice
from backoffice.demo.city_plan import Calendar
from backoffice.demo.count import Count
from backoffice.demo.failure import NotPublished
from backoffice.demo.founding import Founder, at_hour
from backoffice.demo.month import DeskEvent
from backoffice.demo.month_plan import MonthPlan
from backoffice.demo.people import Habit, Rider, SalePlan
from backoffice.demo.play import Bus
from backoffice.persistence.base import reading, writing
from backoffice.persistence.outbox import OutboxRow

_POLL_S = 0.05
_SUSPENDED_DAYS = 6


class Desk:
    """The events of the month, each published before the next bus is heard."""

    def __init__(
        self,
        office: Backoffice,
        founder: Founder,
        calendar: Calendar,
        riders: Sequence[Rider],
        count: Count,
        check: Callable[[], None],
    ) -> None:
        self._office = office
        self._founder = founder
        self._calendar = calendar
        self._riders = riders
        self._count = count
        self._check = check

    def events(self, plan: MonthPlan, stolen: Bus) -> list[DeskEvent]:
        """All events of the month."""
        days = self._calendar.days
        theft = self._calendar.theft
        return [
            DeskEvent(at_hour(days[9], 10), lambda: self._cards(at_hour(days[9], 10))),
            DeskEvent(at_hour(days[10], 10), lambda: self._suspend(at_hour(days[10], 10))),
            DeskEvent(at_hour(self._calendar.fare_change, 5), self._sell_again),
            DeskEvent(at_hour(days[17], 10), lambda: self._end(at_hour(days[17], 10))),
            DeskEvent(at_hour(theft, 3), lambda: _steal(plan, stolen)),
            DeskEvent(at_hour(theft, 10), lambda: self._revoke(stolen, at_hour(theft, 10))),
        ]

    def wait_published(self, told: Callable[[int], None] = lambda left: None, wait_s: float = 120.0) -> None:
        """Wait until the publisher has published everything; `told` hears how much is left.

        Raises:
            NotPublished: it has not, after so many seconds.
        """
        deadline = time.monotonic() + wait_s
        while left := self._waiting():
            told(left)
            self._check()
            if time.monotonic() > deadline:
                raise NotPublished(f"{left} mudanças não foram publicadas em {wait_s:.0f} s")
            time.sleep(_POLL_S)
        told(0)

    def sold(self, rider: Rider, units: int, face_cents: int, paid_cents: int) -> None:
        """Count what was sold."""
        self._count.accounts[rider.number].lots.append((units, face_cents, paid_cents))

    def early_sales(self) -> list[tuple[Rider, SalePlan]]:
        """What is sold before the month begins."""
        return [(r, s) for r in self._riders for s in r.sales if s.on < self._calendar.days[0]]

    def _waiting(self) -> int:
        with reading(self._office.engine) as session:
            query = select(func.count()).select_from(OutboxRow).where(OutboxRow.published_at.is_(None))
            return session.scalar(query) or 0

    def _with(self, habit: Habit) -> list[Rider]:
        return [rider for rider in self._riders if rider.habit is habit]

    def _cards(self, at: datetime) -> None:
        by = as_desk(self._founder.staff.clerk)
        with writing(self._office.engine) as session:
            for rider in self._with(Habit.CARD_BLOCKED):
                block_card(session, by, at, number=rider.card_number, reason="perda declarada")
            for rider in self._with(Habit.CARD_REPLACED):
                issued = replace_card(
                    session, by, at, self._office.signer, number=rider.card_number, reason="dano"
                )
                rider.tokens.append(issued.token)
        self.wait_published()
        for rider in self._with(Habit.CARD_BLOCKED):
            self._count.accounts[rider.number].blocked = True
        for rider in self._with(Habit.CARD_REPLACED):
            self._count.accounts[rider.number].issues = 2

    def _suspend(self, at: datetime) -> None:
        by = as_registrar(self._founder.staff.clerk)
        first = self._calendar.days[11]
        until = first + timedelta(days=_SUSPENDED_DAYS)
        with writing(self._office.engine) as session:
            for rider in self._with(Habit.RIGHT_SUSPENDED):
                assert rider.right_id is not None
                suspend_right(
                    session,
                    by,
                    at,
                    right_id=rider.right_id,
                    first_day=first,
                    until=until,
                    reason="apuração de uso por terceiro",
                )
        self.wait_published()
        for rider in self._with(Habit.RIGHT_SUSPENDED):
            self._count.accounts[rider.number].suspended = (first, until)

    def _end(self, at: datetime) -> None:
        by = as_registrar(self._founder.staff.clerk)
        ended_on = self._calendar.days[19]
        with writing(self._office.engine) as session:
            for rider in self._with(Habit.RIGHT_ENDS):
                assert rider.right_id is not None
                end_right(
                    session, by, at, right_id=rider.right_id, ended_on=ended_on, reason="fim do vínculo"
                )
        self.wait_published()
        for rider in self._with(Habit.RIGHT_ENDS):
            self._count.accounts[rider.number].right_ends = ended_on

    def _sell_again(self) -> None:
        sales = [(r, s) for r in self._riders for s in r.sales if s.on >= self._calendar.days[0]]
        self._founder.sell(sales, 5, self.sold)
        self.wait_published()

    def _revoke(self, stolen: Bus, at: datetime) -> None:
        device_id = stolen.device.identity.device_id
        by = as_administrator(self._founder.staff.administrator)
        with writing(self._office.engine) as session:
            revoke_device(
                session, by, at, device_id=device_id, revoked_at=at, reason="furto comunicado pela operadora"
            )
        self.wait_published()
        stolen.revoked = True


def _steal(plan: MonthPlan, stolen: Bus) -> None:
    """The validator is gone in the night; its vehicle stays in the garage."""
    plan.stolen = stolen.device.identity.device_id
