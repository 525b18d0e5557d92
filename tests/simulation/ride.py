"""Riders board, devices post and upload, and the network loses, repeats and reorders what they send."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from tests.simulation.auditor_law import Law, class_of, day_of, known, purse
from tests.simulation.bus import Bus, digest, instant_text
from tests.simulation.facts import Answer, Attempt, Token
from tests.simulation.services import Validator
from tests.simulation.world import World
from validator.application.attempt import Attempt as Tried
from validator.application.board import answer_to
from validator.application.errors import BoardingError, DeviceUnknown, NotServed
from validator.records.packing import from_micros

SECOND = timedelta(seconds=1)


@dataclass
class Trouble:
    """How often things go wrong, as shares of one."""

    request_lost: float = 0.03
    answer_lost: float = 0.05
    sent_twice: float = 0.04
    power_cut: float = 0.006
    wrong_class: float = 0.03
    annulled: float = 0.04
    offline_stretch: float = 0.5
    odd_clock: float = 0.12
    reordered: float = 0.15


NO_TROUBLE = Trouble(0, 0, 0, 0, 0, 0.04, 0.3, 0, 0)


@dataclass(frozen=True)
class Verdict:
    """What the device does about a tap."""

    released: bool
    ride_class: str | None = None
    purse: str | None = None


class Rides:
    """Everything that moves in a world."""

    def __init__(self, world: World, trouble: Trouble, chance: random.Random | None = None) -> None:
        self._world = world
        self._random = chance or world.random
        self._trouble = trouble
        self._law = Law(world.facts)
        self._held_up: Validator | None = None

    # Network

    def validator(self) -> Validator:
        """A process of the service that is not held up in the middle of a decision."""
        return self._random.choice([v for v in self._world.services.validators if v is not self._held_up])

    def _happens(self, share: float) -> bool:
        return self._random.random() < share

    def happens(self, trouble: str) -> bool:
        """Whether a trouble comes now."""
        return self._happens(getattr(self._trouble, trouble))

    def tap(
        self,
        bus: Bus,
        medium: dict[str, object],
        meanwhile: Callable[[], None] | None = None,
        *,
        continues: str | None = None,
    ) -> str:
        """A rider holds something to the reader; the id of the boarding."""
        world, line = self._world, self._random.choice(bus.lines[:-1] * 3 + bus.lines)
        if self._happens(0.02):
            line = self._random.choice(list(world.facts.lines))
        boarding = str(UUID(int=self._random.getrandbits(128), version=4))
        raw = bus.write(
            boarding_id=boarding,
            occurred_at=instant_text(bus.clock.read(world.now)),
            line=line,
            vehicle=bus.vehicle,
            medium=medium,
            **({} if continues is None else {"continues": continues}),
        )
        seq = bus.seq
        if self._happens(self._trouble.power_cut):
            return boarding
        answer = self._post(bus, raw, seq, meanwhile) if bus.online else None
        if meanwhile is not None and not bus.online:
            meanwhile()
        self._finish(bus, boarding, medium, line, answer, goes_on=continues is not None)
        return boarding

    def _finish(
        self,
        bus: Bus,
        boarding: str,
        medium: dict[str, object],
        line: str,
        answer: Answer | None,
        *,
        goes_on: bool,
    ) -> None:
        """The turnstile is told, and what it was told is journalled."""
        if self._happens(self._trouble.power_cut):
            return
        if answer is not None and answer.outcome != "recorded":
            verdict = Verdict(answer.outcome == "accepted", answer.ride_class, answer.purse)
            mode = "online"
        else:
            verdict, mode = self._own_verdict(bus, medium, line), "offline"
            if goes_on and verdict.released and medium["kind"] == "card":
                verdict = Verdict(True)  # nobody is stranded; what it was the service settles
        fields: dict[str, object] = {"boarding_id": boarding, "released": verdict.released, "mode": mode}
        if verdict.ride_class is not None:
            fields["class"] = verdict.ride_class
        if verdict.purse is not None:
            fields["purse"] = verdict.purse
        bus.write(**fields)
        if verdict.released and self._happens(self._trouble.annulled):
            self._annul(bus, boarding)

    def _own_verdict(self, bus: Bus, medium: dict[str, object], line: str) -> Verdict:
        """What the device knows without a network: rights as of its list, passes less those that it has seen used."""
        if medium["kind"] != "card":
            if medium["kind"] == "cash":
                return Verdict(True, "FULL")
            return Verdict(medium["category"] != "STUDENT_50", "FREE")
        network = self._world.facts.lines[line][0]
        token = self._world.facts.tokens.get(str(medium["token"]))
        if self._happens(self._trouble.wrong_class):
            product = self._random.choice(("PREPAID", "VT"))
            return self._random.choice(
                (
                    Verdict(True, "FREE"),
                    Verdict(True, "HALF", "STUDENT"),
                    Verdict(True, "PURSE", purse(product, network)),
                    Verdict(True, "FULL"),
                    Verdict(False),
                )
            )
        if token is None or not token.signed or token.hot_id not in self._world.facts.people:
            return Verdict(False)
        return self._by_list(bus, token, line, network)

    def _by_list(self, bus: Bus, token: Token, line: str, network: str) -> Verdict:
        state = known(self._world.facts.people[token.hot_id], recorded=bus.list_at)
        card = state.cards.get(token.number)
        if card is None or card != (token.issue, "LIVE"):
            return Verdict(self._happens(0.1), "FULL")
        day = day_of(self._world.now)
        if self._law.fare(network, day) == 0:
            rights = [*state.categories(day), *(["STUDENT_50"] if state.studies else [])]
            return Verdict(True, class_of(next((c for c in rights if state.holds(c, day)), "FULL")))
        if any(state.holds(category, day) for category in state.categories(day)):
            return Verdict(True, "FREE")
        keys = [purse(product, network) for product in ("PREPAID", "VT")]
        if network == "URBAN" and state.studies and state.fault("STUDENT_50", day) is None:
            keys.insert(0, "STUDENT")
        for key in keys:
            seen = bus.used.get((token.hot_id, key), 0)
            if state.bought(key) > seen:
                bus.used[token.hot_id, key] = seen + 1
                return Verdict(True, "HALF" if key == "STUDENT" else "PURSE", key)
        return Verdict(self._happens(0.2), "FULL")

    def _annul(self, bus: Bus, boarding: str) -> None:
        world = self._world
        after = timedelta(seconds=20 if self._happens(0.8) else 90)
        at = bus.clock.read(world.now + after)
        raw = bus.write(occurred_at=instant_text(at), annuls=boarding)
        if bus.online and not self._happens(self._trouble.request_lost):
            received = world.instant(after)
            self.tried("annul", bus, bus.seq, bus.seq, received, at)
            try:
                done = self.validator().annul(UUID(boarding), raw, bus.authorization, received)
            except NotServed:
                return
            except DeviceUnknown:
                if bus.id not in world.facts.revoked:
                    world.faults.append(f"{bus.id} {bus.seq}: an annulment was refused")
                return
            world.told_durable(bus, done.durable.durable_seq)

    # One tap

    def _post(self, bus: Bus, raw: bytes, seq: int, meanwhile: Callable[[], None] | None) -> Answer | None:
        """Post a tap by itself, as often as the network has it arrive; what the device hears of it."""
        validator = self.validator()
        if meanwhile is None and self._happens(self._trouble.request_lost):
            return None
        if meanwhile is not None:
            validator.reader.meanwhile, self._held_up = meanwhile, validator
        answer = self._board(validator, bus, raw, seq)
        if meanwhile is not None:
            self._held_up = None
            if validator.reader.meanwhile is not None:  # nothing was decided there
                validator.reader.meanwhile = None
                meanwhile()
        if self._happens(self._trouble.sent_twice):
            answer = self._board(self.validator(), bus, raw, seq) or answer
        if self._happens(self._trouble.answer_lost):
            if self._happens(0.5):
                return None
            answer = self._board(self.validator(), bus, raw, seq)
        return answer

    def _board(self, validator: Validator, bus: Bus, raw: bytes, seq: int) -> Answer | None:
        world = self._world
        received, sent = world.instant(SECOND), bus.clock.read(world.now + SECOND)
        self.tried("tap", bus, seq, seq, received, sent)
        try:
            tried = validator.board(raw, bus.authorization, sent, received)
        except NotServed:
            return None
        except BoardingError as error:
            if not (bus.id in world.facts.revoked and isinstance(error, DeviceUnknown)):
                world.faults.append(f"{bus.id} {seq}: {error!r}")
            return None
        if bus.id in world.facts.revoked:
            world.faults.append(f"{bus.id} {seq}: a stolen device was answered")
        return self.heard(bus, raw, tried)

    def heard(self, bus: Bus, raw: bytes, tried: Tried) -> Answer:
        """Write down what the service answered, and what it says is durable."""
        told = json.loads(msgspec.json.encode(answer_to(tried, "pt-BR")))
        remaining = told.get("remaining", {})
        answer = Answer(
            told["boarding_id"],
            digest(bus.id, raw),
            from_micros(tried.facts.received_micros),
            told["outcome"],
            told.get("reason", {}).get("name", ""),
            told.get("class"),
            told.get("fare_cents", 0),
            told.get("rider_cents", 0),
            told.get("change_cents", 0),
            told.get("turnstile", ""),
            remaining.get("month_boardings"),
            remaining.get("passes"),
            told.get("purse"),
        )
        self._world.facts.answers.append(answer)
        self._world.told_durable(bus, told["durable_seq"])
        return answer

    def tried(self, kind: str, bus: Bus, first: int, last: int, received: datetime, sent: datetime) -> None:
        self._world.facts.attempts.append(
            Attempt(kind, bus.id, bus.journal.epoch, first, last, received, sent)
        )
