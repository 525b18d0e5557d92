"""The desk: cards replaced and blocked, rights ended, suspended and resumed, passes sold."""

from datetime import timedelta

from backoffice.application.errors import RegisterError
from backoffice.application.issue_cards import block_card, replace_card, unblock_card
from backoffice.application.register_rights import end_right, resume_right, suspend_right
from backoffice.application.sell_passes import Order, sell_passes
from backoffice.application.staff import as_desk, as_registrar, staff_by_login
from backoffice.domain.acquisition import Plan
from backoffice.persistence.base import writing
from tests.simulation.auditor_law import day_of
from tests.simulation.facts import (
    CardSet,
    Change,
    PassesSold,
    Recorded,
    RightEnded,
    RightPaused,
    Token,
)
from tests.simulation.found_city import BOOK, Rider, SeededSigner
from tests.simulation.world import World
from validator.domain.vocabulary import Network, Product

_A_DAY = 1.5
"""Changes of the register on an average day."""


class Counter:
    """Changes the register of a world while it rides."""

    def __init__(self, world: World, late: float = 0.15) -> None:
        self._world = world
        self._late = late
        self._issues: dict[int, int] = {}
        self._blocked: set[int] = set()
        self._paused: dict[int, tuple[int, RightPaused]] = {}

    def plan(self) -> None:
        world = self._world
        for day in range(world.size.days):
            while world.random.random() < _A_DAY / (1 + _A_DAY):
                rider = world.random.choice(world.city.riders)
                world.at(
                    world.local(day, world.random.uniform(8, 18)), lambda rider=rider: self._serve(rider)
                )

    def _serve(self, rider: Rider) -> None:
        world = self._world
        serve = world.random.choice(
            (self._replace, self._block, self._end, self._pause, self._sell, self._sell)
        )
        try:
            changes = serve(rider)
        except RegisterError:
            return  # the register has its reasons; nothing was recorded
        at = world.now
        for change in changes:
            world.record(rider.hot_id, Recorded(at, change))
        if world.random.random() >= self._late:
            world.publish()

    def _replace(self, rider: Rider) -> list[Change]:
        before = self._issues.get(rider.card, 1)
        with writing(self._world.services.engine) as session:
            desk = as_desk(staff_by_login(session, "clerk", self._world.now))
            card = replace_card(
                session, desk, self._world.now, SeededSigner(), number=rider.card, reason="perda"
            )
        self._issues[rider.card] = card.issue
        self._blocked.discard(rider.card)
        self._world.facts.tokens[card.token] = Token(rider.hot_id, card.number, card.issue)
        if self._world.random.random() < 0.7:  # others go on with the old one
            rider.token = card.token
        return [CardSet(rider.card, before, "REPLACED"), CardSet(rider.card, card.issue, "LIVE")]

    def _block(self, rider: Rider) -> list[Change]:
        issue = self._issues.get(rider.card, 1)
        with writing(self._world.services.engine) as session:
            desk = as_desk(staff_by_login(session, "clerk", self._world.now))
            change = unblock_card if rider.card in self._blocked else block_card
            change(session, desk, self._world.now, number=rider.card, reason="perda")
        self._blocked ^= {rider.card}
        return [CardSet(rider.card, issue, "BLOCKED" if rider.card in self._blocked else "LIVE")]

    def _end(self, rider: Rider) -> list[Change]:
        if not rider.rights:
            return []
        right = self._world.random.choice(sorted(rider.rights.values()))
        day = day_of(self._world.now) + timedelta(days=self._world.random.choice((-2, 0, 1, 3)))
        with writing(self._world.services.engine) as session:
            clerk = as_registrar(staff_by_login(session, "clerk", self._world.now))
            end_right(session, clerk, self._world.now, right_id=right, ended_on=day, reason="fim")
        return [RightEnded(right, day)]

    def _pause(self, rider: Rider) -> list[Change]:
        if not rider.rights:
            return []
        right = self._world.random.choice(sorted(rider.rights.values()))
        today = day_of(self._world.now)
        with writing(self._world.services.engine) as session:
            clerk = as_registrar(staff_by_login(session, "clerk", self._world.now))
            if right in self._paused:
                number, pause = self._paused.pop(right)
                resume_right(
                    session, clerk, self._world.now, right_id=right, from_day=today, reason="regularizado"
                )
                until = max(today, pause.first)
                return [RightPaused(number + 100_000, right, pause.first, until, number)]
            first = today + timedelta(days=self._world.random.choice((-1, 0, 1)))
            row = suspend_right(
                session, clerk, self._world.now, right_id=right, first_day=first, until=None, reason="faltas"
            )
            made = RightPaused(row.id, right, first, None)
        self._paused[right] = (made.pause, made)
        return [made]

    def _sell(self, rider: Rider) -> list[Change]:
        student = "STUDENT_50" in rider.rights and self._world.random.random() < 0.6
        product = Product.STUDENT if student else self._world.random.choice((Product.PREPAID, Product.VT))
        network = Network.URBAN if student else self._world.random.choice(tuple(Network))
        units = self._world.random.choice((1, 3, 10))
        order = Order(product, network, units, Plan.MONTH if student else None)
        with writing(self._world.services.engine) as session:
            desk = as_desk(staff_by_login(session, "clerk", self._world.now))
            row = sell_passes(session, desk, self._world.now, BOOK, holder_id=rider.holder_id, order=order)
            return [PassesSold(product.value, network.value, units, row.face_cents, row.paid_cents)]
