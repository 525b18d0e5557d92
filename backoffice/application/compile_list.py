"""Compile holders into the list of a bundle: options with their days, no category, no name."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

from backoffice.domain.offline_policy import OfflinePolicy
from validator.domain.rules import RiderPays, RuleBook, RuleRow
from validator.domain.service_time import day_after
from validator.domain.usage import Usage
from validator.domain.vocabulary import AGE_RIGHTS, RIGHTS_IN_ORDER, Category, purse_key
from validator.records.bundle import (
    HotRecord,
    KindRecord,
    ListedPurse,
    ListedRecord,
    ListHead,
    OptionRecord,
    day_number,
)
from validator.records.chip_uid import listed_uid
from validator.records.codes import (
    CATEGORIES,
    NETWORK_CODE,
    NETWORKS,
    PRODUCTS,
    PURSE_CODE,
    TURNSTILE_CODE,
    CardState,
)
from validator.records.packing import from_ordinal
from validator.records.snapshot import HolderRecord, LotRecord, PeriodRecord, PurseRecord

AGE_HORIZON: Final = timedelta(days=60)
"""How long before it begins a right of age stands in the list; no list may grow so old."""

RULES_KEPT: Final = timedelta(days=60)
"""How long after it has ended a rule still gives options, for a device whose clock is behind."""

_Days = tuple[int, int | None]


class ListCompiler:
    """Compiles holders one by one; the kinds and tariffs that they share are appended to those of the last bundle."""

    def __init__(self, book: RuleBook, policy: OfflinePolicy, today: date, before: ListHead) -> None:
        self._book = book
        self._policy = policy
        self._today = today
        self._kinds: dict[KindRecord, int] = {kind: n for n, kind in enumerate(before.kinds)}
        self._tariffs: dict[tuple[int, int], int] = {tariff: n for n, tariff in enumerate(before.tariffs)}
        self._rows = {category: list(self._rows_now(category)) for category in RIGHTS_IN_ORDER}

    @property
    def head(self) -> ListHead:
        """What all entries compiled so far share."""
        return ListHead(
            tuple(self._kinds),
            tuple(self._tariffs),
            tuple(
                self._policy.hours.get(Category(product.value)) if product.value != "STUDENT" else None
                for product in PRODUCTS
            ),
            self._policy.half_budget,
        )

    def entry(self, holder: HolderRecord, usage: Usage) -> ListedRecord | None:
        """The entry of a holder; None for one without a card that could be shown."""
        if not any(card.state != CardState.REPLACED for card in holder.cards):
            return None
        month, count = max(((m, n) for m, n in usage.half_fare.items() if n > 0), default=("", 0))
        return ListedRecord(
            tuple(option for category in RIGHTS_IN_ORDER for option in self._options(category, holder)),
            tuple(purse for p in holder.purses if (purse := self._purse(p, usage)) is not None),
            int(month[2:4] + month[5:7]) if count else 0,
            count,
            tuple(_chips(holder)),
        )

    def _options(self, category: Category, holder: HolderRecord) -> Iterator[OptionRecord]:
        silent = category in AGE_RIGHTS
        periods: list[tuple[PeriodRecord, tuple[PeriodRecord, ...]]]
        if silent:
            periods = [(a.period, ()) for a in holder.ages if CATEGORIES[a.category] is category]
        else:
            periods = [(r.period, r.suspended) for r in holder.rights if CATEGORIES[r.category] is category]
        for period, pauses in periods:
            for row in self._rows[category]:
                days = _within(period, row)
                if days is None or (silent and self._far_away(days)):
                    continue
                yield OptionRecord(self._kind(row), *days, tuple(_days(pause) for pause in pauses))

    def _far_away(self, days: _Days) -> bool:
        first, until = days
        over = until is not None and until <= day_number(self._today - RULES_KEPT)
        return over or first > day_number(self._today + AGE_HORIZON)

    def _kind(self, row: RuleRow) -> int:
        kind = KindRecord(
            row.rider_pays is RiderPays.HALF,
            TURNSTILE_CODE[row.turnstile],
            sum(1 << NETWORK_CODE[network] for network in NETWORKS if network in row.networks),
            row.category in AGE_RIGHTS,
            self._policy.hours[row.category],
        )
        return self._kinds.setdefault(kind, len(self._kinds))

    def _purse(self, record: PurseRecord, usage: Usage) -> ListedPurse | None:
        key = purse_key(PRODUCTS[record.product], NETWORKS[record.network])
        left = usage.remaining(key, record.bought)
        if left <= 0:
            return None
        gone = usage.spent(key) - (record.bought - sum(lot.units for lot in record.lots))
        units = tuple(
            (self._tariffs.setdefault((lot.face_cents, lot.paid_cents), len(self._tariffs)), lot.units)
            for lot in _cut(record.lots, gone, left)
        )
        return ListedPurse(PURSE_CODE[key], units)

    def _rows_now(self, category: Category) -> Iterator[RuleRow]:
        for row in self._book.rows_of(category):
            if row.last_day is None or row.last_day >= self._today - RULES_KEPT:
                yield row


def hot_records(holder: HolderRecord) -> Iterator[HotRecord]:
    """What of a holder's cards must not be let in, although its signature is true."""
    for card in holder.cards:
        if card.state == CardState.BLOCKED:
            yield HotRecord(card.number, card.issue, True)
        elif card.state == CardState.REPLACED:
            yield HotRecord(card.number, card.issue + 1, False)
        elif card.issue > 1:
            yield HotRecord(card.number, card.issue, False)


def _chips(holder: HolderRecord) -> Iterator[tuple[bytes, int]]:
    """Chips with the state of the issue that each is bound to."""
    cards = {card.number: card for card in holder.cards}
    for chip in holder.uids:
        card = cards[chip.number]
        state = CardState.REPLACED if chip.issue < card.issue else card.state
        yield listed_uid(chip.uid), int(state)


def _cut(lots: tuple[LotRecord, ...], gone: int, left: int) -> Iterator[LotRecord]:
    """The lots less what was used at the front and what was paid back at the end."""
    for lot in lots:
        skipped = min(max(gone, 0), lot.units)
        gone -= skipped
        units = min(lot.units - skipped, left)
        left -= units
        if units > 0:
            yield LotRecord(units, lot.face_cents, lot.paid_cents)


def _within(period: PeriodRecord, row: RuleRow) -> _Days | None:
    """The days of a right on which a rule holds; None for none."""
    first = max(period.first, row.first_day.toordinal())
    ends = [] if period.until is None else [period.until]
    ends += [] if row.last_day is None else [day_after(row.last_day).toordinal()]
    until = min(ends, default=None)
    return None if until is not None and until <= first else _days(PeriodRecord(first, until))


def _days(period: PeriodRecord) -> _Days:
    first, until = from_ordinal(period.first), from_ordinal(period.until)
    assert first is not None
    return day_number(first), None if until is None else day_number(until)
