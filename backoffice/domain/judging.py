"""Judging one ride: what the law gives on what the rider was released on, and nothing that would cost the city more."""

from collections.abc import Sequence
from typing import NamedTuple

from backoffice.domain.exclusions import ExclusionReason, exclusion_of
from backoffice.domain.rides import Ride
from validator.domain.boarding import decide, known_fare
from validator.domain.city import City, LawOfDay
from validator.domain.decision import Accepted, Refused, Uses
from validator.domain.holder import Holder
from validator.domain.money import ZERO, Cents
from validator.domain.purses import Purse
from validator.domain.reasons import Reason
from validator.domain.rights import AgeRight, Right
from validator.domain.tap import Tap
from validator.domain.usage import Usage
from validator.domain.vocabulary import (
    Category,
    FareMedium,
    Network,
    Product,
    RideClass,
    purse_key,
)

STUDENT_PURSE = purse_key(Product.STUDENT, Network.URBAN)
"""The purse that a half fare is paid from."""


class Judged(NamedTuple):
    """What rating finds of one ride; amounts in centavos.

    Attributes:
        accepted: What the law gives, None where it gives nothing.
        reason: Why it gives nothing, else None.
        fare_cents: Fare of the ride.
        rider_cents: The rider's part.
        city_cents: The city's part.
        operator_cents: The rest.
        uses: The pass that was given, whether or not the law accepts the ride.
    """

    accepted: Accepted | None
    reason: ExclusionReason | None
    fare_cents: Cents
    rider_cents: Cents
    city_cents: Cents
    operator_cents: Cents
    uses: Uses | None

    def excluded(self, reason: ExclusionReason) -> "Judged":
        """The same ride where something else keeps it from the law's gift: a pass that was given stays given."""
        operator = Cents(self.operator_cents + self.city_cents)
        uses = None if self.uses is None else self.uses._replace(counts_cap=False)
        return self._replace(
            accepted=None, reason=reason, city_cents=ZERO, operator_cents=operator, uses=uses
        )


def judge(ride: Ride, usage: Usage, city: City, law: LawOfDay) -> Judged:
    """Judge a ride on each state of its holder, and keep what is best for the rider, then for the city.

    Raises:
        FareUnknown: the ride has a price and no fare is registered for its line and day.
    """
    states: tuple[Holder | None, ...] = ride.states or (None,)
    if len(states) == 1:
        return _judge_on(states[0], ride, usage, city, law)
    return min((_judge_on(state, ride, usage, city, law) for state in states), key=_better_for_rider)


def _better_for_rider(judged: Judged) -> tuple[bool, int, int]:
    return (judged.accepted is None, judged.rider_cents, judged.city_cents)


def _judge_on(holder: Holder | None, ride: Ride, usage: Usage, city: City, law: LawOfDay) -> Judged:
    tap = ride.tap
    fare = law.fare_cents(tap.network, tap.line, FareMedium.CARD)
    if fare == 0:
        return _by_law(decide(tap, holder, usage, city), ride, holder, usage, ZERO)
    ride_class = None if ride.release is None else ride.release.ride_class
    if ride_class is RideClass.FULL:
        return _paid_in_money(tap, law)
    if holder is None or tap.medium.category is not None:
        return _by_law(decide(tap, holder, usage, city), ride, holder, usage, fare or ZERO)
    if ride_class is RideClass.HALF:
        return _half(holder, ride, usage, city, law, fare or ZERO)
    options = _options(ride_class, holder, ride)
    decision = decide(tap, options, usage, city)
    judged = _by_law(decision, ride, holder, usage, fare or ZERO)
    if judged.reason is ExclusionReason.NO_PASSES and ride_class is RideClass.FREE:
        return judged._replace(reason=ExclusionReason.NO_RIGHT)
    return judged


def _options(ride_class: RideClass | None, holder: Holder, ride: Ride) -> Holder:
    """The holder with only the options that a ride of this class may be judged on."""
    if ride_class is RideClass.FREE:
        rights = [right for right in holder.rights if right.category is not Category.STUDENT_50]
        return _narrowed(holder, rights, holder.ages, [])
    if ride_class is RideClass.PURSE:
        named = ride.release.purse if ride.release is not None else None
        purses = [p for p in holder.purses if p.product is not Product.STUDENT]
        return _narrowed(holder, [], (), [p for p in purses if named is None or p.key == named])
    passes = [purse for purse in holder.purses if purse.product is Product.STUDENT]
    return _narrowed(holder, holder.rights, holder.ages, passes)


def _narrowed(
    holder: Holder, rights: Sequence[Right], ages: Sequence[AgeRight], purses: Sequence[Purse]
) -> Holder:
    """The holder with some of its rights and purses; most have nothing else."""
    kept = (len(rights), len(ages), len(purses))
    if kept == (len(holder.rights), len(holder.ages), len(holder.purses)):
        return holder
    return Holder(tuple(rights), tuple(ages), tuple(purses))


def _half(holder: Holder, ride: Ride, usage: Usage, city: City, law: LawOfDay, fare: Cents) -> Judged:
    """A student's pass was given: a right that nobody repays takes the ride first, and the pass stays given."""
    student = _narrowed(
        holder,
        [right for right in holder.rights if right.category is Category.STUDENT_50],
        (),
        [purse for purse in holder.purses if purse.product is Product.STUDENT],
    )
    unpaid = None if student is holder else _unpaid_rights(holder, law)
    if unpaid is not None:
        lower = decide(ride.tap, unpaid, usage, city)
        if isinstance(lower, Accepted):
            return _lowered(lower, ride, holder, usage)
    judged = _by_law(decide(ride.tap, student, usage, city), ride, holder, usage, fare)
    if judged.reason is ExclusionReason.NO_PASSES and not student.rights:
        return judged._replace(reason=ExclusionReason.NO_RIGHT)
    return judged


def _unpaid_rights(holder: Holder, law: LawOfDay) -> Holder | None:
    """The holder with only the rights in force that the city does not repay; None where there are none."""
    ages = tuple(age for age in holder.ages if age.period.holds_on(law.day) and _is_unpaid(age.category, law))
    rights = tuple(
        right
        for right in holder.rights
        if _is_unpaid(right.category, law) and right.refusal_on(law.day) is None
    )
    return Holder(rights, ages) if rights or ages else None


def _is_unpaid(category: Category, law: LawOfDay) -> bool:
    rule = law.rules.get(category)
    return category is not Category.STUDENT_50 and rule is not None and rule.repaid_percent == 0


def _lowered(lower: Accepted, ride: Ride, holder: Holder, usage: Usage) -> Judged:
    """A ride on a right that the city does not repay, for which the rider gave a pass all the same."""
    given = _pass_given(ride, holder, usage)
    if given is None or lower.continued:
        return _of_decision(lower)
    purse, face, paid = given
    uses = Uses(purse.key, counts_cap=True)
    return Judged(lower, None, face, paid, ZERO, Cents(face - paid), uses)


def _by_law(
    decision: Accepted | Refused, ride: Ride, holder: Holder | None, usage: Usage, fare: Cents
) -> Judged:
    if isinstance(decision, Accepted):
        return _of_decision(decision)
    reason = exclusion_of(decision.reason)
    given = None
    if holder is not None and decision.reason is not Reason.NO_PASSES:
        given = _pass_given(ride, holder, usage)
    if given is None:
        return Judged(None, reason, fare, ZERO, ZERO, fare, None)
    purse, face, paid = given
    return Judged(None, reason, face, paid, ZERO, Cents(face - paid), Uses(purse.key, counts_cap=False))


def _of_decision(accepted: Accepted) -> Judged:
    return Judged(
        accepted,
        None,
        accepted.fare_cents,
        accepted.rider_cents,
        accepted.city_cents,
        accepted.operator_cents,
        accepted.uses,
    )


def _pass_given(ride: Ride, holder: Holder, usage: Usage) -> tuple[Purse, Cents, Cents] | None:
    """The next pass of the purse that the device took one from, with its face fare and price paid."""
    if ride.release is None:
        return None
    key = STUDENT_PURSE if ride.release.ride_class is RideClass.HALF else ride.release.purse
    purse = next((purse for purse in holder.purses if purse.key == key), None)
    if purse is None or usage.remaining(purse.key, purse.bought) <= 0:
        return None
    lot = purse.lot_after(usage.spent(purse.key))
    return None if lot is None else (purse, lot.face_cents, lot.paid_cents)


def _paid_in_money(tap: Tap, law: LawOfDay) -> Judged:
    """Full fare in money: who was let in on it paid it all, whatever he tendered and whatever his card was answered.

    On a line that nobody knows it is counted at nothing, and waits for a person as the line does.

    Raises:
        FareUnknown: the line is known and no fare is registered for it on the day.
    """
    rule = law.rules[Category.FULL]
    fare = law.fare_cents(tap.network, tap.line, FareMedium.CASH)
    price = ZERO if tap.network is None else known_fare(fare, tap, law)
    accepted = Accepted(Category.FULL, rule, price, price, ZERO, ZERO, rule.turnstile)
    return _of_decision(accepted)
