"""From a boarding of the journal to a ride that can be rated: what happened, and on what it is judged.

An online boarding is judged on the revision of the holder's snapshot that it was decided with. An offline one is judged
on what was recorded at the ride, or on what a list of the maximum age would have shown then, whichever is better for
the rider: the device could not know more than its list, and a rider whose right had just been registered rode by right
as well. What is learnt later is a cut, made by a person.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from backoffice.application.holder_state import HolderRows, RecordedHolder
from backoffice.application.month_register import MonthRegister
from backoffice.application.month_rides import Cited, JournalRow
from backoffice.domain.claims import ELDER_60, ELDER_65, ELDER_UNKNOWN
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


@dataclass(slots=True)
class HolderAsRecorded:
    """One holder's rows, and the states that were asked for, by revision."""

    rows: HolderRows
    book: RuleBook
    _states: dict[int, RecordedHolder] = field(default_factory=dict)

    def at_revision(self, revision: int) -> RecordedHolder:
        """What the snapshot of a revision shows."""
        state = self._states.get(revision)
        if state is None:
            state = self._states[revision] = self.rows.as_of(self.book, revision=revision)
        return state

    def recorded_at(self, instant: datetime) -> RecordedHolder:
        """What had been recorded at an instant."""
        return self.at_revision(self.rows.revision_recorded_until(instant))

    def elder_group(self, day: date) -> str:
        """Whether an elder had completed 65 years on a civil day."""
        birth = self.rows.lives[-1].birth_date if self.rows.lives else None
        if birth is None:
            return ELDER_UNKNOWN
        return ELDER_65 if anniversary(birth, 65) <= day else ELDER_60


@dataclass(frozen=True, slots=True)
class Judgement:
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
    at = row.dated_at
    never_heard = row.release_online is False
    online = not row.batch and not never_heard
    owned = register.owned(row.device, row.vehicle, row.line, at)
    network = None if row.line is None else register.who.network(row.line)
    # A refusal is no ride until the device says that it let the rider through, however the tap reached the service:
    # one that was lost and sent again comes in a batch, and the claim must not depend on that.
    happened = row.released is not False and not (row.release_seq is None and row.kind == "REFUSAL")
    release = _release_of(row, network)
    states = () if holder is None else _states_of(row, holder, register, online=online)
    doubts = (
        _doubt_of_device(row, register),
        _doubt_of_card(row, states, release, online=online),
        owned.doubt,
        ExclusionReason.NO_RELEASE if row.release_seq is None else None,
        None if register.is_covered(row.device, row.epoch, row.seq) else ExclusionReason.NOT_COVERED,
    )
    ride = Ride(
        tap=Tap(
            boarding_id=row.boarding_id,
            occurred_at=at,
            line=row.line or "",
            network=network,
            vehicle=row.vehicle or "",
            medium=_medium_of(row),
            continues=_continued(row, register, cited),
        ),
        received_at=row.received_at,
        device=row.device,
        device_seq=row.seq,
        online=online,
        states=tuple(state.holder for state in states),
        release=release,
        released=happened,
        annulled=_is_annulled(row, register),
        doubt=first_named(doubts),
        epoch=row.epoch,
        believed=True,
        place=place,
    )
    return Judgement(ride, owned.operator)


def _release_of(row: JournalRow, network: Network | None) -> Release | None:
    """What the rider was released on: what the device says, else what the service answered."""
    category = None if row.category is None else Category(row.category)
    if row.ride_class is not None:
        ride_class = RideClass(row.ride_class)
    elif row.kind == "BOARDING" and category is not None:
        ride_class = class_of(category)
    else:
        return None
    purse = row.purse
    if purse is None and ride_class is RideClass.PURSE and category in (Category.PREPAID, Category.VT):
        purse = None if network is None else purse_key(Product(category.value), network)
    return Release(ride_class, purse)


def _states_of(
    row: JournalRow, holder: HolderAsRecorded, register: MonthRegister, *, online: bool
) -> tuple[RecordedHolder, ...]:
    if online and row.revision is not None:
        return (holder.at_revision(row.revision),)
    day = civil_date(row.dated_at)
    oldest = timedelta(hours=register.city.book.parameter_on("list_max_age_hours", day))
    states = [holder.recorded_at(row.dated_at), holder.recorded_at(row.dated_at - oldest)]
    if not row.batch and row.revision is not None:
        states.append(
            holder.at_revision(row.revision)
        )  # posted online, but the device never heard the answer
    return tuple({state.revision: state for state in states}.values())


def _doubt_of_device(row: JournalRow, register: MonthRegister) -> ExclusionReason | None:
    if row.flags & Flag.CLOCK_QUARANTINE:
        return ExclusionReason.CLOCK_INVALID
    if row.flags & Flag.REVOKED_DEVICE or register.is_revoked(
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


def _medium_of(row: JournalRow) -> Medium:
    kind = MediumKind.CARD if row.medium is None else MediumKind(row.medium)
    keyed = None if row.keyed is None else Category(row.keyed)
    tendered = ZERO if row.tendered_cents is None else Cents(row.tendered_cents)
    return Medium(kind, keyed, tendered)


def _continued(row: JournalRow, register: MonthRegister, cited: Mapping[str, Cited]) -> Continued | None:
    """The boarding that a breakdown cut short: the same holder's, on a vehicle that was declared broken since."""
    if row.continues is None:
        return None
    before = cited.get(row.continues)
    if before is None or before.holder != row.holder or before.category is None:
        return None
    if not register.broke_down(before.vehicle, before.dated_at, row.dated_at):
        return None
    return Continued(before.dated_at, before.vehicle, Category(before.category))


def _is_annulled(row: JournalRow, register: MonthRegister) -> bool:
    """Whether the device said in time, by its own clock, that the turnstile did not turn."""
    if row.annulment_seq is None:
        return False
    if row.annulled_at is None or row.occurred_at is None:
        return True
    limit = register.city.book.parameter_on("annul_seconds", civil_date(row.dated_at))
    return timedelta(0) <= row.annulled_at - row.occurred_at <= timedelta(seconds=limit)
