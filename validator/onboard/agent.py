"""The agent: from what the reader saw to the turnstile, with the journal in between.

The order is the promise. The tap is on disk before anybody is asked; the turnstile is told what to do; what it was told
is on disk as a second fact. The same bytes are journalled, posted and uploaded, so a lost answer is a replay.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from validator.domain.reasons import Reason
from validator.domain.service_time import Month, civil_date, month_of
from validator.domain.usage import Effects, LastBoarding
from validator.domain.vocabulary import Category, RideClass, Turnstile
from validator.onboard.device_clock import DeviceClock
from validator.onboard.journal import Draft, Entry, EntryWord, Journal
from validator.onboard.journal_file import JournalError
from validator.onboard.offline import OfflineDesk, Seen, Verdict
from validator.onboard.reader import ReaderMessage, TripMessage
from validator.onboard.rides import Ride, Rides
from validator.onboard.service_messages import TapAnswer
from validator.onboard.uplink import Uplink, instant_text
from validator.records.device_messages import MediumMessage

ANNULLED_WITHIN: Final = timedelta(seconds=60)
"""How long after a ride the turnstile may still be said not to have turned, as the service counts it."""

NO_JOURNAL: Final = "DIÁRIO COM DEFEITO"
NOTHING_TO_ANNUL: Final = "NADA A ANULAR"
ANNULLED: Final = "EMBARQUE ANULADO"

_encode = msgspec.json.Encoder().encode
_CLASSES = {one.value: one for one in RideClass}
_TURNSTILES = {one.value: one for one in Turnstile}


class Shown(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the agent tells the turnstile and the display about one line of the reader.

    Attributes:
        display: At most 20 characters.
        turnstile: TURN, HOLD or NOT_TURNED.
        released: Whether the rider may pass.
        boarding_id, epoch, device_seq: The tap in the journal; left out where nothing was journalled.
        mode: `online` where the service has answered, else `offline`.
        ride_class: Class released on.
        change_cents: Change for cash.
        detail: For the log: why, where the display does not say it.
    """

    display: str
    turnstile: str = "HOLD"
    released: bool = False
    boarding_id: str | None = None
    epoch: int | None = None
    device_seq: int | None = None
    mode: str | None = None
    ride_class: str | None = msgspec.field(default=None, name="class")
    change_cents: int = 0
    detail: str | None = None


Show = Callable[[Shown], None]
"""Moves turnstile and display; returns when they were told."""


@dataclass(slots=True)
class Place:
    """Where the vehicle runs."""

    line: str
    vehicle: str
    trip: str | None = None

    def move(self, trip: TripMessage) -> None:
        """A trip begins."""
        self.line = trip.line or self.line
        self.vehicle = trip.vehicle or self.vehicle
        self.trip = trip.trip


class Agent:
    """One validator on a bus. Its methods run in the reader's thread, one line after the other."""

    def __init__(
        self,
        journal: Journal,
        rides: Rides,
        desk: OfflineDesk,
        uplink: Uplink,
        clock: DeviceClock,
        draw_id: Callable[[datetime], str],
        place: Place,
        show: Show,
    ) -> None:
        self._journal = journal
        self._rides = rides
        self._desk = desk
        self._uplink = uplink
        self._clock = clock
        self._draw_id = draw_id
        self._place = place
        self._show = show

    def handle(self, message: ReaderMessage) -> None:
        """Do what one line of the reader asks."""
        if message.trip is not None:
            self._place.move(message.trip)
        elif message.trip_ended:
            self._place.trip = None
            self._uplink.wake()
        elif message.not_turned:
            self._annul()
        elif message.tap is not None:
            self._tap(message.tap, message.continues)

    def _tap(self, medium: MediumMessage, continues: str | None) -> None:
        now = self._clock.now()
        boarding_id = self._draw_id(now)
        at = self._clock.believed(self._desk.listed_at())
        seen = Seen(boarding_id, at, self._place.line, self._place.vehicle, medium, continues)
        own = self._desk.decide(seen)
        try:
            tap = self._journal.append(
                Draft(EntryWord.TAP, boarding_id, self._tap_bytes(boarding_id, now, medium, continues)), now
            )
        except (sqlite3.Error, JournalError) as error:
            self._show(Shown(NO_JOURNAL, detail=str(error)))
            return
        answer = self._uplink.post_tap(tap)
        verdict, online = (own, False) if answer is None else _as_answered(answer, own, seen)
        self._show(_shown(verdict, tap, online=online))
        self._release(tap, verdict, seen, online=online)

    def _tap_bytes(
        self, boarding_id: str, at: datetime, medium: MediumMessage, continues: str | None
    ) -> Callable[[int], bytes]:
        fields: dict[str, Any] = {
            "occurred_at": instant_text(at),
            "line": self._place.line,
            "vehicle": self._place.vehicle,
            "medium": medium,
        }
        if self._place.trip is not None:
            fields["trip"] = self._place.trip
        if continues is not None:
            fields["continues"] = continues
        return self._numbered({"boarding_id": boarding_id}, fields)

    def _release(self, tap: Entry, verdict: Verdict, seen: Seen, *, online: bool) -> None:
        fields: dict[str, Any] = {
            "released": verdict.released,
            "mode": "online" if online else "offline",
        }
        if verdict.ride_class is not None:
            fields["class"] = verdict.ride_class.value
        if verdict.purse is not None:
            fields["purse"] = verdict.purse
        if verdict.list_version is not None and not online:
            fields["list_version"] = verdict.list_version
        now = self._clock.now()
        also = None
        if verdict.released:
            ride = Ride(
                tap.boarding_id, verdict.holder, verdict.effects, seen.at, verdict.ride_class, online=online
            )
            also = self._rides.recording(ride, now)
        exact = self._numbered({"boarding_id": tap.boarding_id}, fields)
        try:
            self._journal.append(Draft(EntryWord.RELEASE, tap.boarding_id, exact, also), now)
        except (sqlite3.Error, JournalError) as error:
            self._show(Shown(NO_JOURNAL, boarding_id=tap.boarding_id, detail=str(error)))

    def _annul(self) -> None:
        now, last = self._clock.now(), self._rides.last()
        at = self._clock.believed(self._desk.listed_at())
        if last is None or not timedelta(0) <= at - last[1] <= ANNULLED_WITHIN:
            self._show(Shown(NOTHING_TO_ANNUL))
            return
        boarding_id = last[0]
        exact = self._numbered({}, {"occurred_at": instant_text(now), "annuls": boarding_id})
        draft = Draft(EntryWord.ANNULMENT, boarding_id, exact, self._rides.undoing(boarding_id))
        try:
            entry = self._journal.append(draft, now)
        except (sqlite3.Error, JournalError) as error:
            self._show(Shown(NO_JOURNAL, boarding_id=boarding_id, detail=str(error)))
            return
        self._show(
            Shown(ANNULLED, boarding_id=boarding_id, epoch=entry.epoch, device_seq=entry.seq, mode="offline")
        )
        self._uplink.post_annulment(entry)

    def _numbered(self, first: dict[str, Any], rest: dict[str, Any]) -> Callable[[int], bytes]:
        installation = self._journal.installation()
        epoch = 0 if installation is None else installation.epoch
        return lambda seq: _encode({**first, "epoch": epoch, "device_seq": seq, **rest})


def _as_answered(answer: TapAnswer, own: Verdict, seen: Seen) -> tuple[Verdict, bool]:
    """What the device does on the service's answer; on its own where the service no longer knows its answer."""
    if answer.outcome not in ("accepted", "refused"):
        return own, False
    released = answer.outcome == "accepted"
    ride_class = _CLASSES.get(answer.ride_class or "") if released else None
    same = own.released and own.ride_class is ride_class
    return (
        Verdict(
            released=released,
            turnstile=_TURNSTILES.get(answer.turnstile, Turnstile.HOLD),
            display=answer.display[:20],
            reason=Reason.OK if released else None,
            ride_class=ride_class,
            purse=answer.purse if released else None,
            holder=own.holder,
            effects=own.effects if same else _effects_of_class(ride_class, own, seen),
            list_version=own.list_version,
            change_cents=answer.change_cents,
        ),
        True,
    )


def _effects_of_class(ride_class: RideClass | None, own: Verdict, seen: Seen) -> Effects | None:
    """What a ride that only the service could decide changes, as far as its class tells."""
    if own.holder is None or ride_class is None or ride_class is RideClass.FULL:
        return None
    personal = ride_class is not RideClass.PURSE
    # Which right it was is not told; the stand-in is only compared by vehicle and time.
    boarding = LastBoarding(seen.boarding_id, seen.at, seen.vehicle, Category.FULL)
    month: Month = month_of(civil_date(seen.at))
    return Effects(month, None, ride_class is RideClass.HALF, boarding, personal)


def _shown(verdict: Verdict, tap: Entry, *, online: bool) -> Shown:
    return Shown(
        verdict.display,
        verdict.turnstile.value,
        verdict.released,
        tap.boarding_id,
        tap.epoch,
        tap.seq,
        "online" if online else "offline",
        None if verdict.ride_class is None else verdict.ride_class.value,
        verdict.change_cents,
        None if verdict.fault is None else verdict.fault.value,
    )
