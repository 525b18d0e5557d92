"""The auditor's own rating of the months: which rides the city repays, and with how much.

From the journals of the devices and the register alone: rides that happened, in the order of time, each judged on what
the rider was released on, never more than that, and never a pass from a purse that gave none.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from tests.simulation.auditor_breakdown import Boarded, goes_on_as
from tests.simulation.auditor_hot import card_refusal
from tests.simulation.auditor_journal import QUARANTINE, Entries, Release, Row, TapFact, has_gone, void_keys
from tests.simulation.auditor_law import (
    OLDEST_LIST,
    REPAID,
    STUDENT,
    Known,
    Law,
    Outcome,
    Taking,
    Tap,
    Used,
    class_of,
    day_of,
    known,
    month_of,
    narrowed,
    purse,
)
from tests.simulation.facts import Attempt, Facts, Observed, Token

_RANK = (
    "ANNULLED",
    "CLOCK_INVALID",
    "DEVICE_REVOKED",
    "TOKEN_INVALID",
    "CARD_UNKNOWN",
    "CARD_REPLACED",
    "CARD_BLOCKED",
    "CATEGORY_NOT_KEYABLE",
    "RIGHT_NOT_STARTED",
    "RIGHT_ENDED",
    "RIGHT_SUSPENDED",
    "NO_RIGHT",
    "NOT_VALID_ON_LINE",
    "OVER_CAP",
    "NO_PASSES",
    "PASSBACK",
    "LINE_UNSETTLED",
    "LINE_UNKNOWN",
    "VEHICLE_UNSETTLED",
    "NO_RELEASE",
)
_CARD_FAULTS = ("TOKEN_INVALID", "CARD_UNKNOWN", "CARD_REPLACED", "CARD_BLOCKED")


@dataclass(frozen=True)
class Rated:
    """What a ride is worth."""

    boarding: str
    month: str
    operator: str
    reason: str | None
    category: str | None = None
    fare: int = 0
    rider: int = 0
    city: int = 0

    @property
    def verdict(self) -> str:
        if self.reason is not None:
            return "excluded"
        return "billable" if self.city > 0 else "statistical"


@dataclass(frozen=True)
class Judged:
    """What the law gives on one state of the holder."""

    reason: str | None
    category: str | None
    fare: int
    rider: int
    city: int
    purse: str | None = None
    counts: bool = False
    personal: bool = False


@dataclass(frozen=True)
class Ride:
    """A ride that happened."""

    fact: TapFact
    attempt: Attempt
    at: datetime
    undated: bool
    online: bool
    hot_id: str | None
    states: tuple[Known, ...]
    ride_class: str | None
    purse: str | None
    doubt: str | None
    operator: str
    answered: str | None = None
    goes_on_as: str | None = None


class Months:
    """Rates all rides of all months."""

    def __init__(self, facts: Facts, observed: Observed, entries: Entries, law: Law) -> None:
        self._facts = facts
        self._entries = entries
        self._law = law
        self._attempts = {attempt.received: attempt for attempt in facts.attempts}
        self._rows = observed.rows["boardings"]
        self._void = void_keys(observed.rows["annulments"], facts)
        late = void_keys(observed.rows["releases"], facts)
        self._unheard = {entries.cites.get(key) for key in late}

    def rate(self) -> list[Rated]:
        rides: dict[str | None, list[Ride]] = {}
        for row in self._rows:
            ride = self._ride(row)
            if ride is not None:
                rides.setdefault(row["holder"], []).append(ride)
        return [rated for holder in rides for rated in self._of_holder(rides[holder])]

    def _ride(self, row: Row) -> Ride | None:
        fact = self._entries.taps.get(row["boarding_id"])
        attempt = self._attempts.get(row["received_at"])
        if fact is None or attempt is None:
            return None
        release = None if fact.boarding in self._unheard else fact.release
        single = attempt.kind != "batch"
        if release is None and row["kind"] == "REFUSAL":
            return None
        if release is not None and not release.released:
            return None
        at, flag = fact.dated(attempt)
        online = single and not (release is not None and not release.online)
        token = self._facts.tokens.get(fact.token or "")
        hot_id = None if token is None else token.hot_id
        states = self._states(hot_id, attempt, at, online=online)
        ride_class, key = _released_on(fact, release, row, self._facts)
        operator, place = self._place(fact)
        doubts = (
            "CLOCK_INVALID" if flag == QUARANTINE else None,
            "DEVICE_REVOKED" if has_gone(fact.device, max(at, row["received_at"]), self._facts) else None,
            self._card_doubt(fact, row, states, ride_class, online=online),
            place,
            "NO_RELEASE" if release is None else None,
        )
        return Ride(
            fact,
            attempt,
            at,
            flag == QUARANTINE,
            online,
            hot_id,
            states,
            ride_class,
            key,
            first_named(*doubts),
            operator,
            row["category"] if row["kind"] == "BOARDING" else None,
        )

    def _states(
        self, hot_id: str | None, attempt: Attempt, at: datetime, *, online: bool
    ) -> tuple[Known, ...]:
        person = self._facts.people.get(hot_id or "")
        if person is None:
            return ()
        if online:
            return (known(person, shown=attempt.received),)
        states = [known(person, recorded=at), known(person, recorded=at - OLDEST_LIST)]
        if attempt.kind != "batch":
            states.append(known(person, shown=attempt.received))
        return tuple(states)

    def _place(self, fact: TapFact) -> tuple[str, str | None]:
        """Whose ride it was, and why a person must settle that first."""
        own, owner = self._facts.devices[fact.device], self._facts.vehicles.get(fact.vehicle)
        if owner is None:
            return own, "VEHICLE_UNSETTLED"
        if owner != own and self._facts.hangs_in.get(fact.device) != fact.vehicle:
            return owner, "VEHICLE_UNSETTLED"
        line = self._facts.lines.get(fact.line)
        return owner, None if line is not None and line[1] == owner else "LINE_UNSETTLED"

    def _card_doubt(
        self, fact: TapFact, row: Row, states: tuple[Known, ...], ride_class: str | None, *, online: bool
    ) -> str | None:
        if ride_class == "FULL" or fact.token is None:
            return None
        refused = row["reason"] if row["reason"] in _CARD_FAULTS else None
        if online or refused == "TOKEN_INVALID":
            return refused
        token = self._facts.tokens.get(fact.token)
        if token is None or not states:
            return None
        faults = [_card_fault(token, state) for state in states]
        return None if None in faults else faults[0]

    # One holder

    def _of_holder(self, rides: list[Ride]) -> Iterator[Rated]:
        used = Used()
        for ride in sorted(rides, key=lambda r: (r.at, r.fact.device, r.fact.seq, r.fact.epoch)):
            fact, month = ride.fact, month_of(ride.at)
            if fact.is_annulled(self._void):
                yield Rated(fact.boarding, month, ride.operator, "ANNULLED")
                continue
            if ride.undated:
                yield Rated(fact.boarding, month, ride.operator, "CLOCK_INVALID")
                continue
            ride = replace(ride, goes_on_as=self._goes_on_as(ride, rides, used))
            judged = self._judge(ride, used)
            reason = first_named(judged.reason, ride.doubt)
            yield Rated(
                fact.boarding,
                month,
                ride.operator,
                reason,
                judged.category,
                judged.fare,
                judged.rider,
                judged.city if reason is None else 0,
            )
            if ride.doubt != "DEVICE_REVOKED" and (ride.online or ride.doubt != "NO_RELEASE"):
                personal = (ride.at, fact.boarding, fact.vehicle) if judged.personal else None
                boarded = Boarded(ride.at, fact.boarding, fact.vehicle, judged.category or "")
                is_kept = judged.personal or judged.counts or ride.goes_on_as is not None
                is_kept = is_kept or (judged.purse is not None and judged.reason is None)
                taking = Taking(month, judged.counts, judged.purse, personal, boarded if is_kept else None)
                used.take(taking)

    def _goes_on_as(self, ride: Ride, rides: list[Ride], used: Used) -> str | None:
        """What a ride goes on as after a breakdown: the one it names happened, was accepted, and is the last."""
        fact = ride.fact
        named = next((one for one in rides if one.fact.boarding == fact.continues), None)
        ridden_as = None if named is None else named.answered or _released_as(named)
        if ride.hot_id is None or named is None or ridden_as is None:
            return None
        if named.undated or named.fact.is_annulled(self._void) or named.doubt == "DEVICE_REVOKED":
            return None
        last = used.latest
        if last is not None and last.at > named.at:
            return None
        before = Boarded(named.at, named.fact.boarding, named.fact.vehicle, ridden_as)
        return goes_on_as(self._facts, before, fact.continues, fact.vehicle, ride.at)

    def _judge(self, ride: Ride, used: Used) -> Judged:
        states: tuple[Known | None, ...] = ride.states or (None,)
        found = [self._judge_on(state, ride, used) for state in states]
        return min(found, key=lambda judged: (judged.reason is not None, judged.rider, judged.city))

    def _judge_on(self, holder: Known | None, ride: Ride, used: Used) -> Judged:
        tap = ride.fact.tap(ride.at, self._facts, ride.goes_on_as)
        fare = self._law.fare(tap.network, day_of(ride.at))
        decide = self._law.decide
        if fare == 0:
            return self._by_law(decide(tap, holder, used), ride, holder, used, 0)
        price = fare or 0
        if ride.ride_class == "FULL":
            return Judged(None, "FULL", price, price, 0)
        if ride.goes_on_as is not None:
            return _of(decide(tap, holder or Known(None), used))
        if holder is None or tap.category is not None:
            return self._by_law(decide(tap, holder, used), ride, holder, used, price)
        if ride.ride_class == "HALF":
            return self._half(holder, ride, tap, used, price)
        judged = self._by_law(decide(tap, _options(ride, holder), used), ride, holder, used, price)
        if judged.reason == "NO_PASSES" and ride.ride_class == "FREE":
            return replace(judged, reason="NO_RIGHT")
        return judged

    def _half(self, holder: Known, ride: Ride, tap: Tap, used: Used, price: int) -> Judged:
        """A student's pass was given; a right in force that nobody repays takes the ride first."""
        day = day_of(ride.at)
        unpaid = {
            number: right
            for number, right in holder.rights.items()
            if right.category not in (STUDENT, *REPAID) and right.fault(day) is None
        }
        lower = self._law.decide(tap, narrowed(holder, rights=unpaid, ages=True, purses=()), used)
        if lower.accepted:
            given = self._pass(ride, holder, used)
            if given is None:
                return _of(lower)
            key, face, paid = given
            return Judged(None, lower.category, face, paid, 0, key, counts=True, personal=True)
        rights = {number: right for number, right in holder.rights.items() if right.category == STUDENT}
        student = narrowed(holder, rights=rights, ages=False, purses=("STUDENT",))
        judged = self._by_law(self._law.decide(tap, student, used), ride, holder, used, price)
        if judged.reason == "NO_PASSES" and not rights:
            return replace(judged, reason="NO_RIGHT")
        return judged

    def _by_law(self, outcome: Outcome, ride: Ride, holder: Known | None, used: Used, price: int) -> Judged:
        if outcome.accepted:
            return _of(outcome)
        reason = "OVER_CAP" if outcome.reason == "STUDENT_CAP_REACHED" else outcome.reason
        given = None if holder is None or outcome.reason == "NO_PASSES" else self._pass(ride, holder, used)
        if given is None:
            return Judged(reason, None, price, 0, 0)
        key, face, paid = given
        return Judged(reason, None, face, paid, 0, key)

    def _pass(self, ride: Ride, holder: Known, used: Used) -> tuple[str, int, int] | None:
        """The pass that the device took, which stays given."""
        key = "STUDENT" if ride.ride_class == "HALF" else ride.purse
        lot = None if key is None else holder.lot(key, used.spent(key))
        return None if key is None or lot is None else (key, *lot)


def _card_fault(token: Token, state: Known) -> str | None:
    """Why a list would not show a card as good; an issue newer than the list is in none."""
    card = state.cards.get(token.number)
    if card is not None and token.issue > card[0]:
        return "CARD_UNKNOWN"
    fault = card_refusal(token, state)
    return None if fault == "TOKEN_INVALID" else fault


def first_named(*reasons: str | None) -> str | None:
    given = [reason for reason in reasons if reason is not None]
    return min(given, key=_RANK.index) if given else None


def _of(outcome: Outcome) -> Judged:
    return Judged(
        None,
        outcome.category,
        outcome.fare,
        outcome.rider,
        outcome.city,
        outcome.purse,
        outcome.counts,
        outcome.personal,
    )


def _options(ride: Ride, holder: Known) -> Known:
    """The holder with the options that a ride of this class may be judged on."""
    student = [key for key in holder.purses if key.split("/")[0] == "STUDENT"]
    if ride.ride_class == "FREE":
        rights = {number: right for number, right in holder.rights.items() if right.category != STUDENT}
        return narrowed(holder, rights=rights, ages=True, purses=())
    if ride.ride_class == "PURSE":
        keys = [key for key in holder.purses if key not in student and ride.purse in (None, key)]
        return narrowed(holder, rights={}, ages=False, purses=keys)
    return narrowed(holder, rights=holder.rights, ages=True, purses=student)


def _released_on(
    fact: TapFact, release: Release | None, row: Row, facts: Facts
) -> tuple[str | None, str | None]:
    """Class and purse: what the device says, else what was answered."""
    category = row["category"]
    ride_class = None if release is None else release.ride_class
    key = None if release is None else release.purse
    if ride_class is None and row["kind"] == "BOARDING":
        ride_class = class_of(category)
    if ride_class == "PURSE" and key is None and category in ("PREPAID", "VT"):
        line = facts.lines.get(fact.line)
        key = None if line is None else purse(category, line[0])
    return ride_class, key


def _released_as(ride: Ride) -> str | None:
    """What a rider who was let in over a refusal is remembered as; a device knows no free category."""
    if ride.ride_class == "PURSE":
        return (ride.purse or "PREPAID").split("/")[0]
    return {"HALF": "STUDENT_50", "FREE": "ELDER"}.get(ride.ride_class or "")
