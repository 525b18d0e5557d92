"""An entry of the list as what `decide` takes: a holder, its usage, and a city whose rules are the list's options.

The list names no category. Each group of options of one kind takes the next free *stand-in*, a category of the law's
order whose rule here says no more than the kind does; `decide` runs unchanged, and the device learns a class.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from validator.domain.city import City
from validator.domain.holder import Holder
from validator.domain.money import Cents
from validator.domain.purses import Lot, Purse
from validator.domain.rights import AgeRight, Period, Right
from validator.domain.rules import RiderPays, RuleBook, RuleRow, Status
from validator.domain.service_time import Month
from validator.domain.usage import Usage
from validator.domain.vocabulary import AGE_RIGHTS, PURSES_IN_ORDER, RIGHTS_IN_ORDER, Category
from validator.records.bundle import (
    KindRecord,
    ListedPurse,
    ListedRecord,
    ListHead,
    OptionRecord,
    day_of_number,
)
from validator.records.codes import NETWORKS, PRODUCTS, PURSES, TURNSTILES
from validator.records.usage import EffectRecord, effects_of_record

_SILENT = (Category.CHILD, Category.ELDER)
_SPOKEN = tuple(c for c in RIGHTS_IN_ORDER if c not in AGE_RIGHTS and c is not Category.STUDENT_50)
_ALWAYS = date(1991, 1, 1)


class ListTooRich(ValueError):
    """An entry has more groups of options than the law has categories; no such list is built."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A holder as the list knows it, ready for `decide`.

    Attributes:
        holder: Rights under stand-ins, and purses with what is left.
        usage: Half fares of the month, as of the list.
        city: The list's own rules with the city's fares and parameters.
        stale: Whether an option was left out because the list is too old for it.
    """

    holder: Holder
    usage: Usage
    city: City
    stale: bool


class ListReader:
    """Turns entries into holders; cities of the same kinds are made once."""

    def __init__(self, head: ListHead, city: City) -> None:
        self._head = head
        self._city = city
        self._cities: dict[tuple[tuple[Category, int], ...], City] = {}

    def read(self, record: ListedRecord, *, age: timedelta) -> Listed:
        """An entry as the law reads it, when the list is so old.

        Raises:
            ListTooRich: see there.
        """
        options = [o for o in record.options if not _too_old(self._head.kinds[o.kind].hours, age)]
        purses = [p for p in record.purses if not self._purse_too_old(p, age)]
        groups = assign(options, self._head.kinds)
        holder = Holder(
            rights=tuple(
                Right(category, _period(o.first, o.until), tuple(_period(*pause) for pause in o.pauses))
                for category, members in groups
                if category not in AGE_RIGHTS
                for o in members
            ),
            ages=tuple(
                AgeRight(category, _period(o.first, o.until))
                for category, members in groups
                if category in AGE_RIGHTS
                for o in members
            ),
            purses=tuple(self._purse(p) for p in purses),
        )
        month, count = record.half_month, record.half_count
        usage = Usage(half_fare={Month(f"20{month // 100:02}-{month % 100:02}"): count} if count else {})
        stale = len(options) < len(record.options) or len(purses) < len(record.purses)
        return Listed(holder, usage, self._city_of(groups), stale)

    def _purse(self, record: ListedPurse) -> Purse:
        code = record.purse
        lots = tuple(
            Lot(units, Cents(self._head.tariffs[tariff][0]), Cents(self._head.tariffs[tariff][1]))
            for tariff, units in record.left
        )
        network = NETWORKS[code % len(NETWORKS)]
        product = PRODUCTS[code // len(NETWORKS)]
        purse = Purse(product, network, lots, sum(lot.units for lot in lots))
        assert purse.key == PURSES[code]
        return purse

    def _purse_too_old(self, record: ListedPurse, age: timedelta) -> bool:
        product = PRODUCTS[record.purse // len(NETWORKS)]
        return product in PURSES_IN_ORDER and _too_old(
            self._head.purse_hours[record.purse // len(NETWORKS)], age
        )

    def _city_of(self, groups: Sequence[tuple[Category, Sequence[OptionRecord]]]) -> City:
        key = tuple((category, members[0].kind) for category, members in groups)
        city = self._cities.get(key)
        if city is None:
            rows = {category: _row(category, self._head.kinds[kind]) for category, kind in key}
            city = self._cities[key] = City(_with_rows(self._city.book, rows), self._city.fares)
        return city


def assign(
    options: Iterable[OptionRecord], kinds: Sequence[KindRecord]
) -> list[tuple[Category, list[OptionRecord]]]:
    """Stand-ins for options, in the order of the law: neighbours of one kind share one.

    Raises:
        ListTooRich: see there.
    """
    groups: list[tuple[Category, list[OptionRecord]]] = []
    silent, spoken = iter(_SILENT), iter(_SPOKEN)
    for option in options:
        if groups and groups[-1][1][0].kind == option.kind:
            groups[-1][1].append(option)
            continue
        kind = kinds[option.kind]
        category = Category.STUDENT_50 if kind.half else next(silent if kind.silent else spoken, None)
        if category is None or any(taken is category for taken, _ in groups):
            raise ListTooRich(f"more than {len(groups)} groups of options")
        groups.append((category, [option]))
    return groups


def with_own_rides(usage: Usage, counted: Iterable[EffectRecord], latest: Iterable[EffectRecord]) -> Usage:
    """Usage after the rides of this device: `counted` are those that the list cannot show.

    Args:
        usage: As of the list.
        counted: Effects that count against cap and purse.
        latest: Effects of the latest rides, from which a second tap is measured.
    """
    for record in counted:
        usage = usage.after(effects_of_record(record))
    for record in latest:
        effects = effects_of_record(record)
        usage = usage.after(replace(effects, uses=None, counts_cap=False))
    return usage


def age_of(issued_at: datetime, at: datetime) -> timedelta:
    """How old a list is at an instant; a clock that stands before the issue makes it no younger than new."""
    return max(at - issued_at, timedelta(0))


def _too_old(hours: int | None, age: timedelta) -> bool:
    return hours is not None and age > timedelta(hours=hours)


def _period(first: int, until: int | None) -> Period:
    return Period(day_of_number(first), None if until is None else day_of_number(until))


def _row(category: Category, kind: KindRecord) -> RuleRow:
    return RuleRow(
        id=f"LIST-{category.value}",
        category=category,
        first_day=_ALWAYS,
        last_day=None,
        age_from=None,
        age_through=None,
        rider_pays=RiderPays.HALF if kind.half else RiderPays.NOTHING,
        repaid_percent=0,
        status=Status.NONE,
        turnstile=TURNSTILES[kind.turnstile],
        networks=frozenset(n for place, n in enumerate(NETWORKS) if kind.networks >> place & 1),
        keyable=False,
        by_document=False,
        article="list",
        amended_by=None,
        note=None,
    )


def _with_rows(book: RuleBook, rows: dict[Category, RuleRow]) -> RuleBook:
    """The rule table with the list's rows in place of all rights; purses and full fare stay the law's."""
    kept = tuple(row for row in book.rows if row.category not in RIGHTS_IN_ORDER)
    return replace(book, rows=(*rows.values(), *kept))
