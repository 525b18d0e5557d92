"""`decide`: one tap, one answer. Pure; the instant is the tap's own.

The order of reading is the order of the law: how the rider presented himself, whether a broken-down ride goes on,
whether the day is free, then each option that the rider has, best first (Lei arts. 22, 48 and 49; Decreto arts. 69,
70 and 72). The first option whose conditions hold wins; if none does, the refusal names the first failing condition
of the first option.
"""

from collections.abc import Iterator
from datetime import date, timedelta

from validator.domain.city import City, LawOfDay
from validator.domain.decision import Accepted, Decision, Refused, Uses
from validator.domain.holder import NOBODY, Holder
from validator.domain.money import ZERO, Cents, share_of
from validator.domain.purses import Lot, Purse
from validator.domain.reasons import Reason
from validator.domain.rules import RiderPays, RuleRow
from validator.domain.tap import CARD, Continued, Medium, Tap
from validator.domain.usage import Consumed, Effects, LastBoarding
from validator.domain.vocabulary import (
    PURSES_IN_ORDER,
    RIGHTS_IN_ORDER,
    Category,
    FareMedium,
    MediumKind,
    Network,
    Product,
)

__all__ = [
    "CARD",
    "NOBODY",
    "Accepted",
    "Continued",
    "Decision",
    "FareUnknown",
    "Holder",
    "Medium",
    "Refused",
    "Tap",
    "Uses",
    "decide",
    "effects_of",
    "goes_on_by",
    "known_fare",
]


# Members and plain values on the path of every boarding stand here by name: asking an enum for one is a call.
_CARD, _UID, _DOCUMENT = MediumKind.CARD, MediumKind.UID, MediumKind.DOCUMENT
_KEY, _CASH = MediumKind.KEY, MediumKind.CASH
_CARD_TARIFF, _CASH_TARIFF = FareMedium.CARD, FareMedium.CASH
_HALF = RiderPays.HALF
_STUDENT = Product.STUDENT
_FULL = Category.FULL
_AT_ONCE = timedelta(0)


class FareUnknown(LookupError):
    """No fare is registered for a ride that has a price; the city's fares are incomplete.

    Attributes:
        line: Line of the ride.
        day: Its civil day.
    """

    def __init__(self, line: str, day: date) -> None:
        super().__init__(
            f"no fare is registered for line {line} on {day}; register one with its act and publish the city"
        )
        self.line = line
        self.day = day


def decide(tap: Tap, holder: Holder | None, usage: Consumed, city: City) -> Decision:
    """Decide one boarding by the law of the tap's civil day.

    Args:
        tap: What the reader saw.
        holder: Whom the card names; None for a medium that names nobody, or for a card that is in no register.
        usage: What the holder has consumed so far.
        city: Rules and fares.

    Raises:
        FareUnknown: the ride has a price and no fare is registered for it.
        ValueError: the instant carries no offset.
    """
    law = city.at(tap.occurred_at)
    refusal = _refusal_of_medium(tap, holder, city, law)
    tariff = _CASH_TARIFF if tap.medium.kind is _CASH else _CARD_TARIFF
    fare = law.fare_cents(tap.network, tap.line, tariff)
    if refusal is not None and (fare != 0 or not _forgiven_on_free_days(refusal)):
        return Refused(refusal)
    if tap.continues is not None and _continues(tap, tap.continues, law):
        return _carried_on(tap.continues.category, city, law)
    if fare == 0:
        return _free_day(tap, holder or NOBODY, city, law)
    if tap.medium.kind is _CASH:
        return _pay_cash(tap, fare, law)
    if tap.medium.category is not None:
        return _ride_free(tap.medium.category, tap, fare, law, personal=False)
    return _best_option(tap, holder or NOBODY, usage, fare, city, law)


def effects_of(tap: Tap, decision: Accepted, city: City) -> Effects:
    """What an accepted boarding changes in its holder's usage."""
    month = city.at(tap.occurred_at).month
    uses = decision.uses
    boarding = None
    if uses is not None or decision.personal or decision.continued:
        boarding = LastBoarding(tap.boarding_id, tap.occurred_at, tap.vehicle, decision.category)
    return Effects(
        month, uses.product if uses else None, bool(uses and uses.counts_cap), boarding, decision.personal
    )


# The medium


def _refusal_of_medium(tap: Tap, holder: Holder | None, city: City, law: LawOfDay) -> Reason | None:
    """Why the medium itself cannot be used: an unknown card, or a category that nobody may key."""
    kind = tap.medium.kind
    if kind is _CARD or kind is _UID:
        return Reason.CARD_UNKNOWN if holder is None else None
    category = _FULL if kind is _CASH else tap.medium.category
    if category is None:
        return Reason.CATEGORY_NOT_KEYABLE
    try:
        return law.refusals[kind, category]
    except KeyError:
        pass
    refusal = law.refusals[kind, category] = _refusal_of_kind(kind, category, city, law)
    return refusal


def _refusal_of_kind(kind: MediumKind, category: Category, city: City, law: LawOfDay) -> Reason | None:
    """Why a category cannot ride on this kind of medium on the day, whoever rides."""
    rows = [row for row in city.book.rows_of(category) if _proves(kind, row)]
    if not rows:
        return Reason.CATEGORY_NOT_KEYABLE
    if any(row.in_force_on(law.day) for row in rows):
        return None
    return Reason.RIGHT_NOT_STARTED if law.day < rows[-1].first_day else Reason.RIGHT_ENDED


def _proves(kind: MediumKind, row: RuleRow) -> bool:
    """Whether a rule lets somebody ride on this medium: a driver's key, an identity document, or money."""
    if kind is _KEY:
        return row.keyable
    return row.by_document if kind is _DOCUMENT else True


def _forgiven_on_free_days(refusal: Reason) -> bool:
    return refusal in (Reason.RIGHT_NOT_STARTED, Reason.RIGHT_ENDED)


# A day without fare


def _free_day(tap: Tap, holder: Holder, city: City, law: LawOfDay) -> Accepted:
    """On a day when the fare is zero every boarding is recorded and nothing is consumed."""
    rights = _rights_in_force(holder, law) if _proves_rights(tap.medium, law) else iter(())
    category = tap.medium.category or next(rights, Category.FULL)
    rule = law.rules.get(category) or city.book.rows_of(category)[0]
    change = tap.medium.tendered_cents if tap.medium.kind is MediumKind.CASH else ZERO
    return Accepted(category, rule, ZERO, ZERO, ZERO, ZERO, rule.turnstile, change_cents=change)


def _rights_in_force(holder: Holder, law: LawOfDay) -> Iterator[Category]:
    for category in holder.rights_on(law):
        if category in law.rules and holder.refusal_of_right(category, law) is None:
            yield category


# A ride cut short by a breakdown


def _continues(tap: Tap, cut_short: Continued, law: LawOfDay) -> bool:
    elapsed = tap.occurred_at - cut_short.occurred_at
    if tap.vehicle == cut_short.vehicle or not _AT_ONCE <= elapsed <= law.continuation:
        return False
    return goes_on_by(tap.medium, cut_short.category, law)


def goes_on_by(medium: Medium, category: Category, law: LawOfDay) -> bool:
    """Whether a ride of a category may go on by a medium: a ride by a right not by a chip, which proves no right.

    What was paid may be carried on by whoever could have paid it so. A medium that names nobody has no ride to go on.
    """
    return category not in RIGHTS_IN_ORDER or medium.kind is not _UID or law.uid_rights


def _carried_on(category: Category, city: City, law: LawOfDay) -> Accepted:
    """A continued ride keeps its category, consumes nothing and costs nobody anything (Lei art. 48, VI)."""
    rule = law.rules.get(category) or city.book.rows_of(category)[-1]
    personal = category in RIGHTS_IN_ORDER
    return Accepted(category, rule, ZERO, ZERO, ZERO, ZERO, rule.turnstile, personal=personal, continued=True)


# Money


def _pay_cash(tap: Tap, fare: Cents | None, law: LawOfDay) -> Decision:
    """Full fare in money, with change up to ten fares (Lei arts. 48, XII and 49, I; Decreto art. 72)."""
    if tap.network is None:
        return Refused(Reason.LINE_UNKNOWN)
    price = known_fare(fare, tap, law)
    change = Cents(tap.medium.tendered_cents - price)
    if change < 0:
        return Refused(Reason.INSUFFICIENT_TENDER)
    if change > law.max_change_fares * price:
        return Refused(Reason.CHANGE_ABOVE_LIMIT)
    rule = law.rules[_FULL]
    return Accepted(_FULL, rule, price, price, ZERO, ZERO, rule.turnstile, change_cents=change)


def known_fare(fare: Cents | None, tap: Tap, law: LawOfDay) -> Cents:
    """The fare of a ride that has a price.

    Raises:
        FareUnknown: there is none.
    """
    if fare is None:
        raise FareUnknown(tap.line, law.day)
    return fare


# The options of a holder


def _best_option(
    tap: Tap, holder: Holder, usage: Consumed, fare: Cents | None, city: City, law: LawOfDay
) -> Decision:
    """Try the holder's options in the order of the law; the first whose conditions hold wins."""
    refusal: Reason | None = None
    if (holder.rights or holder.ages) and _proves_rights(tap.medium, law):
        for category in holder.rights_on(law):
            outcome = _by_right(category, tap, holder, usage, fare, city, law)
            if isinstance(outcome, Accepted):
                return outcome
            refusal = refusal or outcome
    for product in PURSES_IN_ORDER if holder.purses else ():
        purses = holder.purses_of(product)
        if purses:
            outcome = _by_purse(product, purses, tap, usage, city, law)
            if isinstance(outcome, Accepted):
                return outcome
            refusal = refusal or outcome
    if refusal is None:
        refusal = Reason.LINE_UNKNOWN if tap.network is None else Reason.NO_PASSES
    return Refused(refusal)


def _proves_rights(medium: Medium, law: LawOfDay) -> bool:
    """Whether rights are options at all: a uid can be copied and proves none, unless an act says otherwise."""
    return medium.kind is _CARD or (medium.kind is _UID and law.uid_rights)


def _by_right(
    category: Category,
    tap: Tap,
    holder: Holder,
    usage: Consumed,
    fare: Cents | None,
    city: City,
    law: LawOfDay,
) -> Accepted | Reason:
    """One personal right: conditions fail in the order right, line, cap, passes, passback."""
    rule = law.rules.get(category)
    if rule is None:
        return city.out_of_force(category, law.day)
    refusal = holder.refusal_of_right(category, law)
    if refusal is not None:
        return refusal
    if rule.rider_pays is _HALF:
        return _by_student_pass(rule, tap, holder, usage, law)
    if tap.network is not None and tap.network not in rule.networks:
        return Reason.NOT_VALID_ON_LINE
    if _is_passback(tap, usage, law):
        return Reason.PASSBACK
    return _ride_free(category, tap, fare, law, personal=True)


def _by_student_pass(
    rule: RuleRow, tap: Tap, holder: Holder, usage: Consumed, law: LawOfDay
) -> Accepted | Reason:
    """Half fare on an urban line, with a pass bought in advance, under the cap (Lei art. 48, X; Decreto art. 70)."""
    if tap.network is None:
        return Reason.LINE_UNKNOWN
    if tap.network not in rule.networks:
        return Reason.NOT_VALID_ON_LINE
    if law.student_cap is not None and usage.half_fares(law.month) >= law.student_cap:
        return Reason.STUDENT_CAP_REACHED
    purse = _on_network(holder.purses_of(_STUDENT), tap.network)
    if purse is None:
        return Reason.NO_PASSES
    ride = _spend(purse, rule, usage, law, counts_cap=True)
    return Reason.PASSBACK if isinstance(ride, Accepted) and _is_passback(tap, usage, law) else ride


_CATEGORY_OF = {product: Category(product.value) for product in PURSES_IN_ORDER}


def _by_purse(
    product: Product, purses: tuple[Purse, ...], tap: Tap, usage: Consumed, city: City, law: LawOfDay
) -> Accepted | Reason:
    """Full fare from a purse that is valid on the line; it may pay for a companion, so passback does not apply."""
    category = _CATEGORY_OF[product]
    rule = law.rules.get(category)
    if rule is None:
        return city.out_of_force(category, law.day)
    if tap.network is None:
        return Reason.LINE_UNKNOWN
    purse = _on_network(purses, tap.network)
    return Reason.NOT_VALID_ON_LINE if purse is None else _spend(purse, rule, usage, law, counts_cap=False)


def _on_network(purses: tuple[Purse, ...], network: Network) -> Purse | None:
    for purse in purses:
        if purse.network is network:
            return purse
    return None


def _is_passback(tap: Tap, usage: Consumed, law: LawOfDay) -> bool:
    last = usage.last
    if last is None or last.vehicle != tap.vehicle:
        return False
    return _AT_ONCE <= tap.occurred_at - last.occurred_at < law.reuse


def _spend(
    purse: Purse, rule: RuleRow, usage: Consumed, law: LawOfDay, *, counts_cap: bool
) -> Accepted | Reason:
    """Use the next pass; thousands of riders of a day ride on passes of the same face and price."""
    key = purse.key
    spent = usage.spent(key)
    left = purse.bought - usage.repaid(key) - spent
    lot = purse.lot_after(spent) if left > 0 else None
    if lot is None:
        return Reason.NO_PASSES
    ride = (key, lot.face_cents, lot.paid_cents, counts_cap)
    known = law.given.get(ride)
    return law.keep(ride, _ride_on(lot, rule, key, counts_cap=counts_cap)) if known is None else known


def _ride_on(lot: Lot, rule: RuleRow, key: str, *, counts_cap: bool) -> Accepted:
    """A ride on a pass: fare and rider's part are those of the day on which it was bought."""
    unpaid = Cents(lot.face_cents - lot.paid_cents)
    city_cents = share_of(unpaid, rule.repaid_percent)
    return Accepted(
        rule.category,
        rule,
        lot.face_cents,
        lot.paid_cents,
        city_cents,
        Cents(unpaid - city_cents),
        rule.turnstile,
        uses=Uses(key, counts_cap),
        personal=counts_cap,
    )


def _ride_free(
    category: Category, tap: Tap, fare: Cents | None, law: LawOfDay, *, personal: bool
) -> Accepted:
    """A gratuity. On a line that nobody knows the ride has no price yet; a person settles it later."""
    price = ZERO if tap.network is None else known_fare(fare, tap, law)
    ride = (category, price, personal)
    known = law.given.get(ride)
    return (
        law.keep(ride, _gratuity(law.rules[category], price, personal=personal)) if known is None else known
    )


def _gratuity(rule: RuleRow, price: Cents, *, personal: bool) -> Accepted:
    """The rider pays nothing, the city repays its share, the operator bears the rest."""
    city_cents = share_of(price, rule.repaid_percent)
    return Accepted(
        rule.category,
        rule,
        price,
        ZERO,
        city_cents,
        Cents(price - city_cents),
        rule.turnstile,
        personal=personal,
    )
