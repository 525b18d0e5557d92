"""What happens to a boarding after its answer: the device released or held the rider, or annulled. Pure.

Facts win: usage counts what happened, whatever was answered; the rating is the truth for money.
"""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec.structs import replace

from validator.domain.city import City
from validator.domain.vocabulary import Category, FareMedium, Network, Product, RideClass, class_of, purse_key
from validator.records.codes import CATEGORIES, CATEGORY_CODE, PURSE_CODE, PURSES, Flag
from validator.records.device_messages import ReleaseMessage
from validator.records.journal import AnswerRecord
from validator.records.packing import from_micros
from validator.records.usage import EffectRecord, OwnEffect

_STUDENT = purse_key(Product.STUDENT, Network.URBAN)
_INERT = int(Flag.CLOCK_QUARANTINE | Flag.REVOKED_DEVICE)


class FollowUp(msgspec.Struct, frozen=True, gc=False):
    """What a release or an annulment does to the boarding that it cites.

    Attributes:
        answer: The kept answer from now on.
        effects: What changes in the holder's usage, in order.
        flags: What a person should know.
    """

    answer: AnswerRecord
    effects: tuple[EffectRecord, ...] = ()
    flags: int = 0


def after_release(answer: AnswerRecord, release: ReleaseMessage, city: City) -> FollowUp:
    """What the device did about a tap, against what was answered. The first release of a boarding stands."""
    if answer.released is not None:
        return FollowUp(answer)
    boarding = UUID(release.boarding_id).bytes
    accepted = answer.reason == 0
    if not release.released:
        if not accepted or answer.undone:
            return FollowUp(replace(answer, released=False))
        held = replace(answer, released=False, undone=True)
        return FollowUp(held, _undo(answer, boarding), int(Flag.HELD_OVER_ACCEPTANCE))
    if accepted:
        if answer.undone or _is_same_ride(answer, release):
            return FollowUp(replace(answer, released=True))
        other = _effect_of(answer, release, city)
        effects = _undo(answer, boarding) + _whole(answer, other, boarding)
        return FollowUp(replace(answer, released=True, effect=other), effects)
    effect = None if answer.undone else _effect_of(answer, release, city)
    return FollowUp(
        replace(answer, released=True, effect=effect),
        _whole(answer, effect, boarding),
        int(Flag.RELEASED_OVER_REFUSAL),
    )


def after_annulment(
    answer: AnswerRecord, boarding: bytes, device: str, occurred_at: datetime, within_s: int
) -> FollowUp | None:
    """The turnstile did not turn: gives back cap and pass. None where the boarding cannot be annulled.

    Only the device that posted it may, within `within_s` seconds by its own clock. One that is undone already stays
    so, and a repeated annulment is no late one. Who was let through over a refusal did not ride either; that release
    may come after its annulment.
    """
    if answer.device != device or (answer.reason != 0 and answer.released is False):
        return None
    if answer.undone:
        return FollowUp(answer)
    elapsed = (occurred_at - from_micros(answer.occurred_micros)).total_seconds()
    if not 0 <= elapsed <= within_s:
        return None
    return FollowUp(replace(answer, undone=True), _undo(answer, boarding))


def _undo(answer: AnswerRecord, boarding: bytes) -> tuple[EffectRecord, ...]:
    return _whole(answer, answer.effect, boarding, undone=True)


def _whole(
    answer: AnswerRecord, effect: OwnEffect | None, boarding: bytes, *, undone: bool = False
) -> tuple[EffectRecord, ...]:
    """An effect of the boarding that was answered, as the journal writes it."""
    if effect is None:
        return ()
    return (effect.whole(boarding, answer.decided_micros, answer.vehicle, undone=undone),)


def _is_same_ride(answer: AnswerRecord, release: ReleaseMessage) -> bool:
    """Whether the rider was released on what was answered; what the device does not say is taken as the same."""
    if release.ride_class is None or answer.category is None:
        return True
    if class_of(CATEGORIES[answer.category]).value != release.ride_class:
        return False
    used = None if answer.effect is None or answer.effect.uses is None else PURSES[answer.effect.uses]
    return release.purse is None or used is None or release.purse == used


def _effect_of(answer: AnswerRecord, release: ReleaseMessage, city: City) -> OwnEffect | None:
    """What a ride on the class released changes in usage: a pass, a place in the cap, the last boarding.

    On a day when the fare is zero it changes nothing, whatever the device released on.
    """
    if answer.holder is None or answer.flags & _INERT or release.ride_class is None:
        return None
    if answer.reason == 0 and answer.fare_cents == 0:
        return None  # a line that is free by itself, or a continued ride
    ride_class = RideClass(release.ride_class)
    if ride_class is RideClass.FULL:
        return None
    uses: str | None = None
    if ride_class is RideClass.HALF:
        category, uses = Category.STUDENT_50, _STUDENT
    elif ride_class is RideClass.PURSE:
        uses = _purse_of(release)
        category = Category(uses.split("/")[0])
    else:
        category = _free_category(answer)
    if city.at(from_micros(answer.decided_micros)).fare_cents(_network_of(uses), "", FareMedium.CARD) == 0:
        return None
    return OwnEffect(
        CATEGORY_CODE[category] if answer.vehicle else None,
        None if uses is None else PURSE_CODE[uses],
        ride_class is RideClass.HALF,
        ride_class is not RideClass.PURSE,
    )


def _purse_of(release: ReleaseMessage) -> str:
    """The full-fare purse that a release names; where it names none, the one that is tried first."""
    if release.purse in PURSES and not release.purse.startswith(Product.STUDENT.value):
        return release.purse
    return purse_key(Product.PREPAID, Network.URBAN)


def _network_of(purse: str | None) -> Network | None:
    """The network on which a purse's passes are valid; None where no pass was used."""
    if purse is None:
        return None
    return Network.INTERIOR if purse.endswith(f"/{Network.INTERIOR.value}") else Network.URBAN


def _free_category(answer: AnswerRecord) -> Category:
    if answer.category is not None and class_of(CATEGORIES[answer.category]) is RideClass.FREE:
        return CATEGORIES[answer.category]
    return Category.ELDER
