"""What the device decides by itself: the same `decide` on the signed list, and the policy for lists that are old."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from validator.application.answers import display_of
from validator.application.tap_records import remaining_after
from validator.domain.boarding import Accepted, FareUnknown, Refused, decide, effects_of, goes_on_by
from validator.domain.money import Cents
from validator.domain.reasons import Reason
from validator.domain.tap import CARD, UID, Medium, Tap
from validator.domain.usage import Effects, Usage
from validator.domain.vocabulary import PURSES_IN_ORDER, Category, MediumKind, RideClass, Turnstile
from validator.onboard.city_store import CardLines, CityList, CityStore, StoreDamaged
from validator.onboard.listed import ListTooRich, age_of, with_own_rides
from validator.onboard.rides import Rides
from validator.onboard.tokens import TokenFault, Verify, judge_token
from validator.records.bundle import ListedRecord
from validator.records.chip_uid import listed_uid, uid_bytes
from validator.records.codes import TURNSTILE_CODE, CardState
from validator.records.device_messages import (
    CardMedium,
    CashMedium,
    DocumentMedium,
    KeyMedium,
    MediumMessage,
    UidMedium,
)
from validator.records.journal import AnswerRecord

NO_LIST = "SEM LISTA"
STALE_LIST = "LISTA VENCIDA"
NO_BUDGET = "MEIA INDISPONÍVEL"
NO_FARE = "SEM TARIFA"
CONTINUED = "CONTINUE A VIAGEM"

_NOTHING_USED = Usage()
_NO_AGE = timedelta(0)
_NO_CARD = 0
"""A chip brings the state of its card with it; no card has this number."""
_REFUSAL_OF_STATE = {
    int(CardState.BLOCKED): Reason.CARD_BLOCKED,
    int(CardState.REPLACED): Reason.CARD_REPLACED,
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What the reader saw, where and when, by the time that decides.

    `continues` is the boarding that a breakdown cut short, where the driver says so.
    """

    boarding_id: str
    at: datetime
    line: str
    vehicle: str
    medium: MediumMessage
    continues: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the device does about a tap.

    Attributes:
        released: Whether the rider may pass.
        turnstile: What the turnstile does.
        display: At most 20 characters.
        reason: The law's reason of a refusal, `OK` where released, None where the device could not ask the law.
        ride_class: The class released on, None where the service settles it.
        purse: Key of the purse released on.
        holder: Hot holder id that the card names.
        effects: What the ride changes in the holder's usage, as far as the device may know.
        list_version: Version of the list that was used, None where none was.
        fault: What is wrong with the card's token.
        change_cents: Change for cash.
    """

    released: bool
    turnstile: Turnstile
    display: str
    reason: Reason | None
    ride_class: RideClass | None = None
    purse: str | None = None
    holder: str | None = None
    effects: Effects | None = None
    list_version: int | None = None
    fault: TokenFault | None = None
    change_cents: int = 0


class OfflineDesk:
    """Decides on what is on the device's disk."""

    def __init__(self, store: CityStore, rides: Rides, verify: Verify) -> None:
        self._store = store
        self._rides = rides
        self._verify = verify

    def listed_at(self) -> datetime | None:
        """When the list was issued; None without one, or where it cannot be read."""
        try:
            current = self._store.current()
        except (StoreDamaged, sqlite3.Error):
            return None
        return None if current is None else current.issued_at

    def decide(self, seen: Seen) -> Verdict:
        """Decide one tap. Whatever is wrong with the list, there is an answer."""
        try:
            current = self._store.current()
            if current is None:
                return _held(NO_LIST, None)
            if isinstance(seen.medium, CardMedium):
                return self._card(seen, seen.medium, current)
            if isinstance(seen.medium, UidMedium):
                return self._chip(seen, seen.medium, current)
            return _without_card(seen, current)
        except (StoreDamaged, ListTooRich, sqlite3.Error):
            return _held(NO_LIST, None)
        except FareUnknown:
            return _held(NO_FARE, None)

    def _card(self, seen: Seen, medium: CardMedium, current: CityList) -> Verdict:
        token = judge_token(medium.token, current.view.card_keys, seen.at, self._verify)
        if isinstance(token, TokenFault):
            return _refused(Reason.TOKEN_INVALID, current, fault=token)
        newest, lines = self._store.card(token.holder_id, token.card_number)
        if newest is None:
            return _held(NO_LIST, None)
        refusal = _refusal_of(lines, token.issue)
        if refusal is None and seen.continues is not None:
            return _continued(newest, token.holder_id)
        if refusal is not None or lines.entry is None:
            return _refused(refusal or Reason.CARD_UNKNOWN, newest, holder=token.holder_id)
        return self._listed(_tap(seen, newest, CARD), token.holder_id, lines.entry, newest)

    def _chip(self, seen: Seen, medium: UidMedium, current: CityList) -> Verdict:
        """A chip by the name that the list knows it by; it proves no right, and pays from full-fare purses.

        What it says to continue is an ordinary tap where its holder can have ridden by a right only.
        """
        name = listed_uid(uid_bytes(medium.uid))
        holder = self._store.chip(name)
        if holder is None:
            return _refused(Reason.CARD_UNKNOWN, current)
        newest, lines = self._store.card(holder, _NO_CARD)
        if newest is None:
            return _held(NO_LIST, None)
        states = {} if lines.entry is None else dict(lines.entry.chips)
        if lines.entry is None or name not in states:  # a newer list came in between
            return _refused(Reason.CARD_UNKNOWN, newest)
        refusal = _REFUSAL_OF_STATE.get(states[name])
        if refusal is not None:
            return _refused(refusal, newest, holder=holder)
        if seen.continues is not None and _may_go_on_by_chip(lines.entry, newest, seen.at):
            return _continued(newest, holder)
        return self._listed(_tap(seen, newest, UID), holder, lines.entry, newest)

    def _listed(self, tap: Tap, holder: str, entry: ListedRecord, newest: CityList) -> Verdict:
        """By the law, on what the list says of a holder and what this device has let in itself."""
        listed = newest.reader.read(entry, age=age_of(newest.issued_at, tap.occurred_at))
        usage = with_own_rides(
            listed.usage,
            self._rides.of_holder(holder, newest.issued_at),
            self._rides.latest_of_holder(holder),
        )
        decision = decide(tap, listed.holder, usage, listed.city)
        if isinstance(decision, Refused):
            if listed.stale:
                return _held(STALE_LIST, newest, holder=holder)
            return _refused(decision.reason, newest, holder=holder)
        if decision.ride_class is RideClass.HALF and self._spent_budget(newest):
            return _held(NO_BUDGET, newest, holder=holder)
        effects = effects_of(tap, decision, listed.city)
        left = remaining_after(decision, usage, listed.holder, listed.city.at(tap.occurred_at))
        return _released(decision, newest, effects, left, holder)

    def _spent_budget(self, current: CityList) -> bool:
        return self._rides.unheard_half_fares() >= current.half_budget


def _refusal_of(lines: CardLines, issue: int) -> Reason | None:
    hot = lines.hot
    if hot is None:
        return None
    if issue < hot.lowest_issue:
        return Reason.CARD_REPLACED
    return Reason.CARD_BLOCKED if hot.blocked else None


def _without_card(seen: Seen, current: CityList) -> Verdict:
    """Cash, a driver's key, a document: by the law itself, which everybody may read."""
    medium = seen.medium
    if isinstance(medium, CashMedium):
        asked = Medium(MediumKind.CASH, tendered_cents=Cents(medium.tendered_cents))
    elif isinstance(medium, KeyMedium | DocumentMedium):
        kind = MediumKind.KEY if isinstance(medium, KeyMedium) else MediumKind.DOCUMENT
        try:
            asked = Medium(kind, Category(medium.category))
        except ValueError:
            return _refused(Reason.CATEGORY_NOT_KEYABLE, current)
    else:
        raise AssertionError(f"{type(medium).__name__} names a holder")
    tap = _tap(seen, current, asked)
    decision = decide(tap, None, _NOTHING_USED, current.view.city)
    if isinstance(decision, Refused):
        return _refused(decision.reason, current)
    return _released(decision, current, None, (None, None), None)


def _tap(seen: Seen, current: CityList, medium: Medium) -> Tap:
    network = current.view.networks.get(seen.line)
    return Tap(seen.boarding_id, seen.at, seen.line, network, seen.vehicle, medium)


def _released(
    decision: Accepted,
    current: CityList,
    effects: Effects | None,
    left: tuple[int | None, int | None],
    holder: str | None,
) -> Verdict:
    ride_class = decision.ride_class
    shown = AnswerRecord(
        int(Reason.OK),
        None,
        decision.fare_cents,
        decision.rider_cents,
        TURNSTILE_CODE[decision.turnstile],
        left[0],
        left[1],
        "",
        "",
        None,
        0,
        change_cents=decision.change_cents,
    )
    return Verdict(
        released=True,
        turnstile=decision.turnstile,
        display=display_of(shown, ride_class),
        reason=Reason.OK,
        ride_class=ride_class,
        purse=None if decision.uses is None else decision.uses.product,
        holder=holder,
        effects=effects,
        list_version=current.version,
        change_cents=decision.change_cents,
    )


def _may_go_on_by_chip(entry: ListedRecord, current: CityList, at: datetime) -> bool:
    """Whether any ride that the holder can have begun goes on by a chip.

    Which one was cut short only the service knows. Purses count however old the list is: what was paid is paid. The
    list leaves out an empty purse, so who has no right either paid with the last pass; who has one shows the card.
    """
    listed = current.reader.read(entry, age=_NO_AGE)
    law = listed.city.at(at)
    begun = listed.holder.rights_on(law)
    begun += [Category(product) for product in PURSES_IN_ORDER if listed.holder.purses_of(product)]
    return not begun or any(goes_on_by(UID, category, law) for category in begun)


def _continued(current: CityList, holder: str) -> Verdict:
    """A ride that a breakdown cut short goes on (Lei art. 48, VI).

    Which ride it was and whether its vehicle broke down only the service knows: the rider is let through on no class,
    so that nothing counts here, and the service settles it. Where nothing broke down the city pays nothing for it.
    """
    return Verdict(True, Turnstile.TURN, CONTINUED, Reason.OK, holder=holder, list_version=current.version)


def _refused(
    reason: Reason, current: CityList, *, holder: str | None = None, fault: TokenFault | None = None
) -> Verdict:
    return Verdict(
        False,
        Turnstile.HOLD,
        reason.display,
        reason,
        holder=holder,
        list_version=current.version,
        fault=fault,
    )


def _held(text: str, current: CityList | None, *, holder: str | None = None) -> Verdict:
    """The device cannot ask the law, or may not let in on what it knows."""
    version = None if current is None else current.version
    return Verdict(False, Turnstile.HOLD, text, None, holder=holder, list_version=version)


Decide = Callable[[Seen], Verdict]
"""How a device decides by itself."""
