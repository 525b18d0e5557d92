"""From a boarding of the journal to a ride that can be rated: what happened, and on what it is judged.

An online boarding is judged on the revision of the holder's snapshot that it was decided with. An offline one is judged
on what was recorded at the ride, or on what a list of the maximum age would have shown then, whichever is better for
the rider: the device could not know more than its list, and a rider whose right had just been registered rode by right
as well. What is learnt later is a cut, made by a person.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from backoffice.application.holder_state import HolderRows, RecordedHolder
from backoffice.application.month_register import MonthRegister
from backoffice.application.month_rides import Cited, JournalRow
from backoffice.domain.claims import ELDER_UNKNOWN, elder_group
from backoffice.domain.exclusions import ExclusionReason, first_named
from backoffice.domain.rides import Place, Release, Ride
from validator.domain.money import ZERO, Cents
from validator.domain.rules import RuleBook
from validator.domain.service_time import anniversary, civil_date
from validator.domain.tap import Continued, Medium, Tap
from validator.domain.vocabulary import Category, MediumKind, Network, Product, RideClass, class_of, purse_key
from validator.records.codes import CardState, Flag

_CARD_REFUSALS = frozenset(
    {
        ExclusionReason.TOKEN_INVALID,
        ExclusionReason.CARD_UNKNOWN,
        ExclusionReason.CARD_REPLACED,
        ExclusionReason.CARD_BLOCKED,
    }
)


_NO_DOUBTS = (None,) * 5
# As numbers: an enum's own `&` takes many times as long, and each boarding asks.
_CLOCK_QUARANTINE = Flag.CLOCK_QUARANTINE.value
_REVOKED_DEVICE = Flag.REVOKED_DEVICE.value


@dataclass(slots=True)
class HolderAsRecorded:
    """One holder's rows, and the states that were asked for, by revision."""

    rows: HolderRows
    book: RuleBook
    _states: dict[int, tuple[RecordedHolder]] = field(default_factory=dict)

    def at_revision(self, revision: int) -> RecordedHolder:
        """What the snapshot of a revision shows."""
        return self.alone_at(revision)[0]

    def alone_at(self, revision: int) -> tuple[RecordedHolder]:
        """What the snapshot of a revision shows, as the only state that counts."""
        alone = self._states.get(revision)
        if alone is None:
            alone = self._states[revision] = (self.rows.as_of(self.book, revision=revision),)
        return alone

    def recorded_at(self, instant: datetime) -> RecordedHolder:
        """What had been recorded at an instant."""
        return self.at_revision(self.rows.revision_recorded_until(instant))

    def elder_group(self, day: date) -> str:
        """How an elder is counted on a civil day: apart from the age of `elder_split_years` on."""
        birth = self.rows.lives[-1].birth_date if self.rows.lives else None
        if birth is None:
            return ELDER_UNKNOWN
        split = self.book.parameter_on("elder_split_years", day)
        rule = self.book.row_on(Category.ELDER, day)
        age_from = split if rule is None or rule.age_from is None else rule.age_from
        return elder_group(age_from, split, old=anniversary(birth, split) <= day)


class Judgement(NamedTuple):
    """A ride, and the operator whose it was."""

    ride: Ride
    operator: str


def judgement_of(
    row: JournalRow,
    holder: HolderAsRecorded | None,
    register: MonthRegister,
    cited: Mapping[str, Cited],
    place: Place | None = None,
) -> Judgement:
    """What a boarding of the journal is to be rated as."""
    (boarding_id, _, kind, _, device, epoch, seq, received_at, batch, _, at, line, vehicle, medium, keyed) = (
        row[:15]
    )
    (tendered_cents, _, _, _, _, category, _, continues, _, _, release_seq, released) = row[15:27]
    online = not batch and row.release_online is not False
    owned = register.owned(device, vehicle, line, at)
    network = None if line is None else register.who.network(line)
    # A refusal is no ride until the device says that it let the rider through, however the tap reached the service:
    # one that was lost and sent again comes in a batch, and the claim must not depend on that.
    happened = released is not False and not (release_seq is None and kind == "REFUSAL")
    accepted_as = category if kind == "BOARDING" else None
    release = _release_of(row.ride_class, row.purse, accepted_as, category, network)
    states = () if holder is None else _states_of(row, holder, register, online=online)
    doubts = (
        _doubt_of_device(row, register),
        _doubt_of_card(row, states, release, online=online),
        owned.doubt,
        ExclusionReason.NO_RELEASE if release_seq is None else None,
        None if register.is_covered(device, epoch, seq) else ExclusionReason.NOT_COVERED,
    )
    continued = None if continues is None else _continued(row, continues, register, cited)
    medium_shown = _medium_of(medium, keyed, tendered_cents)
    ride = Ride(
        Tap(boarding_id, at, line or "", network, vehicle or "", medium_shown, continued),
        received_at,
        device,
        seq,
        online,
        tuple([state.holder for state in states]),
        release,
        happened,
        annulled=row.annulment_seq is not None and _is_annulled(row, register),
        doubt=None if doubts == _NO_DOUBTS else first_named(doubts),
        epoch=epoch,
        believed=True,
        place=place,
    )
    return Judgement(ride, owned.operator)


@lru_cache(maxsize=4_096)
def _release_of(
    ride_class: str | None,
    purse: str | None,
    accepted_as: str | None,
    answered: str | None,
    network: Network | None,
) -> Release | None:
    """What the rider was released on: what the device says, else what the service accepted.

    A purse that the device does not name is the one of the category that the service answered, on the line's network.
    """
    if ride_class is not None:
        released_on = RideClass(ride_class)
    elif accepted_as is not None:
        released_on = class_of(Category(accepted_as))
    else:
        return None
    if purse is None and released_on is RideClass.PURSE and answered in (Category.PREPAID, Category.VT):
        purse = None if network is None else purse_key(Product(answered), network)
    return Release(released_on, purse)


def _states_of(
    row: JournalRow, holder: HolderAsRecorded, register: MonthRegister, *, online: bool
) -> tuple[RecordedHolder, ...]:
    if online and row.revision is not None:
        return holder.alone_at(row.revision)
    day = civil_date(row.dated_at)
    oldest = timedelta(hours=register.city.book.parameter_on("list_max_age_hours", day))
    states = [holder.recorded_at(row.dated_at), holder.recorded_at(row.dated_at - oldest)]
    if not row.batch and row.revision is not None:
        # Posted online, but the device never heard the answer.
        states.append(holder.at_revision(row.revision))
    return tuple({state.revision: state for state in states}.values())


def _doubt_of_device(row: JournalRow, register: MonthRegister) -> ExclusionReason | None:
    if row.flags & _CLOCK_QUARANTINE:
        return ExclusionReason.CLOCK_INVALID
    if row.flags & _REVOKED_DEVICE or register.is_revoked(
        row.device, row.epoch, row.dated_at, row.received_at
    ):
        return ExclusionReason.DEVICE_REVOKED
    return None


def _doubt_of_card(
    row: JournalRow, states: tuple[RecordedHolder, ...], release: Release | None, *, online: bool
) -> ExclusionReason | None:
    """Why the card was not good: online as answered, offline where every list that counts shows it blocked or replaced.

    Who paid in money owes nothing to the card.
    """
    if release is not None and release.ride_class is RideClass.FULL:
        return None
    refused = row.reason if row.reason in _CARD_REFUSALS else None
    if online or refused == ExclusionReason.TOKEN_INVALID:
        return None if refused is None else ExclusionReason(refused)
    if row.card_number is None or not states:
        return None
    doubts = [_card_in(state, row.card_number, row.card_issue) for state in states]
    return None if None in doubts else doubts[0]


def _card_in(state: RecordedHolder, number: int, issue: int | None) -> ExclusionReason | None:
    card = next((card for card in state.cards if card.number == number), None)
    if card is None or (issue is not None and issue > card.issue):
        return ExclusionReason.CARD_UNKNOWN
    if issue is not None and issue < card.issue:
        return ExclusionReason.CARD_REPLACED
    if card.state is CardState.BLOCKED:
        return ExclusionReason.CARD_BLOCKED
    return ExclusionReason.CARD_REPLACED if card.state is CardState.REPLACED else None


@lru_cache(maxsize=4_096)
def _medium_of(medium: str | None, keyed: str | None, tendered_cents: int | None) -> Medium:
    kind = MediumKind.CARD if medium is None else MediumKind(medium)
    category = None if keyed is None else Category(keyed)
    return Medium(kind, category, ZERO if tendered_cents is None else Cents(tendered_cents))


def _continued(
    row: JournalRow, continues: str, register: MonthRegister, cited: Mapping[str, Cited]
) -> Continued | None:
    """The boarding that a breakdown cut short: one its holder rode, on a vehicle declared broken since."""
    before = cited.get(continues)
    if before is None or before.category is None:
        return None
    if row.holder is None or before.holder != row.holder:
        return None
    if not register.broke_down(before.vehicle, before.dated_at, row.dated_at):
        return None
    return Continued(before.dated_at, before.vehicle, Category(before.category))


def is_no_ride(row: JournalRow, register: MonthRegister) -> bool:
    """Whether its device held or annulled a boarding, or a revoked one sent it: no ride goes on from it."""
    return (
        row.released is False
        or (row.annulment_seq is not None and _is_annulled(row, register))
        or _doubt_of_device(row, register) is not None
    )


def ridden_as(row: JournalRow) -> str | None:
    """The category that a boarding was accepted as; of a refused one, what the service remembers of its release.

    A device knows no category: whom it let in FREE over a refusal is remembered as an elder.
    """
    if row.kind == "BOARDING" or row.ride_class is None:
        return row.category
    ride_class = RideClass(row.ride_class)
    if ride_class is RideClass.HALF:
        return Category.STUDENT_50
    if ride_class is RideClass.PURSE:
        return Category.PREPAID if row.purse is None else row.purse.split("/")[0]
    return Category.ELDER if ride_class is RideClass.FREE else None


def _is_annulled(row: JournalRow, register: MonthRegister) -> bool:
    """Whether the device said in time, by its own clock, that the turnstile did not turn."""
    if row.annulled_at is None or row.occurred_at is None:
        return True
    limit = register.city.book.parameter_on("annul_seconds", civil_date(row.dated_at))
    return timedelta(0) <= row.annulled_at - row.occurred_at <= timedelta(seconds=limit)
