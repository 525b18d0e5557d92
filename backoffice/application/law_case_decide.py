"""Golden cases of kind `decide`: a tap, a holder, usage and fares in; the decision out."""

from collections.abc import Iterable

from backoffice.application.law_case_fields import CaseError, Fields, month_from
from validator.domain.boarding import FareUnknown, decide
from validator.domain.city import City, city_of
from validator.domain.decision import Accepted, Decision
from validator.domain.fares import Fare
from validator.domain.holder import Holder
from validator.domain.money import ZERO, Cents, riders_half
from validator.domain.purses import Lot, Purse
from validator.domain.rights import Period, Right, age_rights
from validator.domain.rules import RuleBook
from validator.domain.service_time import day_after
from validator.domain.tap import Continued, Medium, Tap
from validator.domain.usage import LastBoarding, Usage
from validator.domain.vocabulary import (
    AGE_RIGHTS,
    RIGHTS_IN_ORDER,
    Category,
    FareMedium,
    MediumKind,
    Network,
    Product,
    purse_key,
)

PURSE_KEYS = tuple(purse_key(product, network) for product in Product for network in Network)


def decided(case: Fields, book: RuleBook) -> dict[str, object]:
    """What the law decides on a case, under the names of `expect`.

    Raises:
        CaseError: a field breaks the format.
    """
    tap = read_tap(case.inner("tap"))
    case.value("holder", "an object {...}, or null for a rider without a card")
    holder = None if case.is_null("holder") else read_holder(case.inner("holder"), book)
    case.value("usage", "an object with half_fare, used and last")
    usage = Usage() if case.is_null("usage") else read_usage(case.inner("usage"))
    city = read_city(case, book)
    try:
        return described(decide(tap, holder, usage, city))
    except FareUnknown as error:
        raise case.error("fares", "hold no fare for the line and day of the tap; add one") from error


def described(decision: Decision) -> dict[str, object]:
    """A decision under the names of `expect`; what a refusal does not have is null."""
    if not isinstance(decision, Accepted):
        return {
            "outcome": "refused",
            "reason": decision.reason.name,
            "turnstile": decision.turnstile.value,
        }
    uses = decision.uses
    return {
        "outcome": "accepted",
        "reason": "OK",
        "category": decision.category.value,
        "fare_cents": decision.fare_cents,
        "rider_cents": decision.rider_cents,
        "city_cents": decision.city_cents,
        "operator_cents": decision.operator_cents,
        "turnstile": decision.turnstile.value,
        "change_cents": decision.change_cents,
        "class": decision.ride_class.value,
        "rule": decision.rule.id,
        "uses": None if uses is None else {"product": uses.product, "counts_cap": uses.counts_cap},
    }


def read_tap(fields: Fields) -> Tap:
    """A tap of a `decide` case."""
    fields.ignored_text("boarding_id", "trip")
    tap = Tap(
        boarding_id="case",
        occurred_at=fields.instant("occurred_at"),
        line=fields.text("line"),
        network=read_network(fields),
        vehicle=fields.text("vehicle"),
        medium=read_medium(fields.inner("medium")),
        continues=read_continued(fields),
    )
    fields.done()
    return tap


def read_network(fields: Fields) -> Network | None:
    """The network of a line; null for a line that nobody knows."""
    fields.value("network", f"one of {', '.join(Network)}, or null for a line that nobody knows")
    return fields.optional_choice("network", Network)


def read_medium(fields: Fields) -> Medium:
    """How the rider presented himself."""
    kind = fields.choice("kind", MediumKind)
    fields.ignored_text("token", "uid", "document")
    category, tendered = None, ZERO
    if kind in (MediumKind.KEY, MediumKind.DOCUMENT):
        category = fields.choice("category", Category)
    if kind is MediumKind.CASH:
        tendered = Cents(fields.whole("tendered_cents"))
    fields.done()
    return Medium(kind, category, tendered)


def read_continued(fields: Fields) -> Continued | None:
    """The boarding that a breakdown cut short, or None."""
    inner = fields.optional_inner("continues")
    if inner is None:
        return None
    inner.ignored_text("boarding_id", "line")
    continued = Continued(
        inner.instant("occurred_at"), inner.text("vehicle"), inner.choice("category", Category)
    )
    inner.done()
    return continued


def read_holder(fields: Fields, book: RuleBook) -> Holder:
    """A holder with birth date, rights and purses."""
    fields.value("birth_date", "a day such as 2009-05-10, or null where nobody knows it")
    birth = fields.optional_day("birth_date")
    rights = tuple(_right(item) for item in fields.items("rights", optional=True))
    purses = _purses(fields.items("purses", optional=True))
    fields.done()
    return Holder(rights, () if birth is None else age_rights(birth, book), purses)


def _right(fields: Fields) -> Right:
    category = fields.choice("category", Category)
    if category not in RIGHTS_IN_ORDER:
        rights = ", ".join(c for c in RIGHTS_IN_ORDER if c not in AGE_RIGHTS)
        raise fields.error(
            "category", f"{category} is paid from a purse or in cash; a right is one of {rights}"
        )
    right = Right(
        category,
        _period(fields, "from", "ended_on"),
        tuple(_suspension(item) for item in fields.items("suspended", optional=True)),
    )
    fields.done()
    return right


def _suspension(fields: Fields) -> Period:
    period = _period(fields, "from", "until")
    fields.done()
    return period


def _period(fields: Fields, first: str, until: str) -> Period:
    period = Period(fields.day(first), fields.optional_day(until))
    if period.until is not None and period.until < period.first:
        raise fields.error(until, f"{period.until} is before {first} {period.first}")
    return period


def _purses(items: Iterable[Fields]) -> tuple[Purse, ...]:
    """Purses; two of one product and network are one, with their lots in order."""
    lots: dict[tuple[Product, Network], list[Lot]] = {}
    for fields in items:
        product, network = fields.choice("product", Product), fields.choice("network", Network)
        lots.setdefault((product, network), []).extend(_lot(item, product) for item in fields.items("lots"))
        fields.done()
    return tuple(Purse(*key, tuple(own), sum(lot.units for lot in own)) for key, own in lots.items())


def _lot(fields: Fields, product: Product) -> Lot:
    units, face = fields.whole("units"), Cents(fields.whole("face_cents"))
    if product is Product.STUDENT and not fields.has("paid_cents"):
        paid = riders_half(face)
    elif not fields.has("paid_cents"):
        raise fields.error(
            "paid_cents", "is missing; only a lot of STUDENT may leave it out (the floor of half the face)"
        )
    else:
        paid = Cents(fields.whole("paid_cents"))
    if paid > face:
        raise fields.error("paid_cents", f"{paid} is more than face_cents {face}")
    fields.done()
    return Lot(units, face, paid)


def read_usage(fields: Fields) -> Usage:
    """What the holder has consumed; every part may be left out."""
    half_fare = {}
    for name, count in fields.counts("half_fare").items():
        month = month_from(name)
        if month is None:
            raise fields.error(f"half_fare.{name}", "is no month; write one such as 2026-03")
        half_fare[month] = count
    usage = Usage(
        half_fare,
        _passes(fields, "used"),
        _passes(fields, "returned"),
        _passes(fields, "refunded"),
        last=_last(fields),
    )
    fields.done()
    return usage


def _passes(fields: Fields, field: str) -> dict[str, int]:
    counts = fields.counts(field)
    for key in counts:
        if key not in PURSE_KEYS:
            raise fields.error(f"{field}.{key}", f"is no purse; known are {', '.join(PURSE_KEYS)}")
    return counts


def _last(fields: Fields) -> LastBoarding | None:
    inner = fields.optional_inner("last")
    if inner is None:
        return None
    inner.ignored_text("boarding_id", "line")
    category = inner.optional_choice("category", Category) or Category.FULL
    last = LastBoarding("last", inner.instant("occurred_at"), inner.text("vehicle"), category)
    inner.done()
    return last


def read_city(case: Fields, book: RuleBook) -> City:
    """The city of a case: the rule table, and the fares of the case."""
    fares = [_fare(item) for item in case.items("fares")]
    for number, fare in enumerate(fares):
        for earlier in fares[:number]:
            if _clash(earlier, fare):
                raise CaseError(
                    f"fares[{number}]",
                    f"a second fare of {fare.network} from {fare.first_day}, at another price than the one from "
                    f"{earlier.first_day}; let each day have one",
                )
    return city_of(book, fares)


def _clash(one: Fare, other: Fare) -> bool:
    """Whether two fares price the same rides of one day as the same kind of fare, at different prices.

    A fare for some days stands above one that runs on; of two that run on the later one holds from its first day.
    """
    keys = [(f.network, f.line, f.medium, f.last_day is None) for f in (one, other)]
    if keys[0] != keys[1] or one.cents == other.cents:
        return False
    if one.last_day is None or other.last_day is None:
        return one.first_day == other.first_day
    return one.first_day <= other.last_day and other.first_day <= one.last_day


def _fare(fields: Fields) -> Fare:
    fields.ignored_text("act")
    fare = Fare(
        fields.choice("network", Network),
        fields.day("from"),
        fields.optional_day("until"),
        Cents(fields.whole("cents")),
        None if fields.is_null("line") else fields.text("line"),
        fields.optional_choice("medium", FareMedium),
    )
    fields.done()
    if fare.last_day is not None and day_after(fare.last_day) <= fare.first_day:
        raise fields.error("until", f"{fare.last_day} is before from {fare.first_day}")
    return fare
