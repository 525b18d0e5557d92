"""A claim (fatura de reembolso): what one operator bills the city for one month, summed up ride by ride.

Billed is the ride, never the sale of the pass: of a half fare the face fare of the pass used, less what the rider paid
for it; of a gratuity the fare of the day (Lei 1.055/91, art. 48, IX and X; art. 22, I, m).
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from backoffice.domain.exclusions import ExclusionReason
from backoffice.domain.rides import Rated, Verdict
from validator.domain.money import ZERO, Cents
from validator.domain.rules import RuleRow
from validator.domain.vocabulary import RIGHTS_IN_ORDER, Category, Turnstile

CATEGORIES_IN_ORDER = (*RIGHTS_IN_ORDER, Category.PREPAID, Category.VT, Category.FULL)
"""The order of categories in a claim."""

ELDER_UNKNOWN = "ELDER_AGE_UNKNOWN"
"""An elder whose birth date nobody has registered."""

LABELS = {
    Category.CHILD.value: "Criança até 7 anos",
    Category.ELDER.value: "Idoso",
    ELDER_UNKNOWN: "Idoso, sem idade no registro",
    Category.FISCAL_MUN.value: "Fiscal municipal",
    Category.FISCAL_TRANSP.value: "Fiscal de transporte",
    Category.FISCAL_TRAB.value: "Fiscal do trabalho",
    Category.OFICIAL_JUST.value: "Oficial de justiça",
    Category.SPECIAL_ED.value: "Aluno de ensino especial",
    Category.TEACHER.value: "Professor",
    Category.STUDENT_50.value: "Estudante, meia passagem",
    Category.PREPAID.value: "Passagem antecipada",
    Category.VT.value: "Vale-transporte",
    Category.FULL.value: "Passagem inteira",
}
"""The Portuguese name of every category, and of elders without an age."""

_ELDERS = re.compile(r"ELDER_([0-9]+)(?:_([0-9]+))?", re.ASCII)


def elder_group(age_from: int, split: int, *, old: bool) -> str:
    """How an elder is counted: `ELDER_60_64` below the age of the split, `ELDER_65` from it on.

    Args:
        age_from: From which age the rule of the day gives the right.
        split: Parameter `elder_split_years`.
        old: Whether the elder has completed it.
    """
    if old or age_from >= split:
        return f"ELDER_{max(age_from, split)}"
    return f"ELDER_{age_from}_{split - 1}"


def label_of(group: str) -> str:
    """The Portuguese name of a category or of a group of elders."""
    found = _ELDERS.fullmatch(group)
    if found is None:
        return LABELS[group]
    return f"Idoso de {found[1]} a {found[2]} anos" if found[2] else f"Idoso de {found[1]} anos ou mais"


def groups_in_order(groups: Iterable[str]) -> list[str]:
    """Groups in the order of a claim: elders by age, then those without one."""
    order = [category.value for category in CATEGORIES_IN_ORDER]

    def place(group: str) -> tuple[int, int]:
        found = _ELDERS.fullmatch(group)
        if found is not None:
            return order.index("ELDER"), int(found[1])
        if group == ELDER_UNKNOWN:
            return order.index("ELDER"), 998
        return order.index(group), 999

    return sorted(groups, key=place)


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """Rides of one category, rule, line and face fare, at one division of the fare. Units in centavos.

    Attributes:
        rule: The rule row with its legal basis.
        line: Code of the line.
        fare_cents: Face fare.
        rider_cents: What the rider paid for one ride.
        city_cents: What the city repays for one ride.
        operator_cents: What nobody repays of one ride.
        quantity: Rides.
    """

    rule: RuleRow
    line: str
    fare_cents: Cents
    rider_cents: Cents
    city_cents: Cents
    operator_cents: Cents
    quantity: int

    @property
    def total_cents(self) -> Cents:
        """What the city repays for all of them."""
        return Cents(self.quantity * self.city_cents)

    @property
    def order(self) -> tuple[int, str, str, int, int]:
        """Lines stand by category, then rule, line of the bus, and fare."""
        category = CATEGORIES_IN_ORDER.index(self.rule.category)
        return (category, self.rule.id, self.line, self.fare_cents, self.rider_cents)


@dataclass(slots=True)
class Turns:
    """Turnstile of one line: rides that turned it and rides that did not."""

    turned: int = 0
    not_turned: int = 0


@dataclass(slots=True)
class ClaimTally:
    """The sums of one operator's month while rides are added; only sums are held, never the rides.

    Attributes:
        operator: Code of the operator.
        billed: Rides that the city repays.
        city_cents: What it repays.
        excluded: Excluded boardings by reason.
        statistical: Rides that cost the city nothing, by category; elders by age.
        turns: Turnstile by line.
        first_at, last_at: First and last billed ride.
        journals: Rides by device and epoch.
    """

    operator: str
    billed: int = 0
    city_cents: Cents = ZERO
    excluded: Counter[ExclusionReason] = field(default_factory=Counter)
    statistical: Counter[str] = field(default_factory=Counter)
    turns: dict[str, Turns] = field(default_factory=dict)
    first_at: datetime | None = None
    last_at: datetime | None = None
    journals: Counter[tuple[str, int]] = field(default_factory=Counter)
    _lines: Counter[tuple[str, str, Cents, Cents, Cents, Cents]] = field(default_factory=Counter)
    _rules: dict[str, RuleRow] = field(default_factory=dict)

    def add(self, rated: Rated, *, turnstile: Turnstile, group: str | None = None) -> None:
        """Add one ride.

        Args:
            rated: The ride with its verdict.
            turnstile: What the turnstile did.
            group: Under which name a statistical ride is counted; None for its category.
        """
        self.journals[rated.ride.device, rated.ride.epoch] += 1
        if rated.verdict is Verdict.BILLABLE:
            self._bill(rated)
        elif rated.reason is not None:
            self.excluded[rated.reason] += 1
        else:
            assert rated.category is not None
            self.statistical[group or rated.category.value] += 1
        if rated.took:
            line = rated.ride.tap.line
            turns = self.turns.get(line) or self.turns.setdefault(line, Turns())
            if turnstile is Turnstile.NOT_TURNED:
                turns.not_turned += 1
            else:
                turns.turned += 1

    def _bill(self, rated: Rated) -> None:
        rule, at = rated.rule, rated.ride.tap.occurred_at
        assert rule is not None
        self.billed += 1
        self.city_cents = Cents(self.city_cents + rated.city_cents)
        self._rules[rule.id] = rule
        parts = (rated.fare_cents, rated.rider_cents, rated.city_cents, rated.operator_cents)
        self._lines[(rule.id, rated.ride.tap.line, *parts)] += 1
        self.first_at = at if self.first_at is None else min(self.first_at, at)
        self.last_at = at if self.last_at is None else max(self.last_at, at)

    def lines(self) -> list[ClaimLine]:
        """The lines of the claim in their order; their totals sum to `city_cents`."""
        lines = [
            ClaimLine(self._rules[rule], line, fare, rider, city, operator, quantity)
            for (rule, line, fare, rider, city, operator), quantity in self._lines.items()
        ]
        lines.sort(key=lambda line: line.order)
        assert sum(line.total_cents for line in lines) == self.city_cents
        assert sum(line.quantity for line in lines) == self.billed
        return lines


@dataclass(frozen=True, slots=True)
class Subtotal:
    """All lines under one rule row."""

    rule: RuleRow
    quantity: int
    rider_cents: Cents
    city_cents: Cents


def subtotals(lines: Iterable[ClaimLine]) -> list[Subtotal]:
    """One subtotal for each rule row, in the order of the lines."""
    of: dict[str, list[ClaimLine]] = {}
    for line in lines:
        of.setdefault(line.rule.id, []).append(line)
    return [
        Subtotal(
            rows[0].rule,
            sum(row.quantity for row in rows),
            Cents(sum(row.quantity * row.rider_cents for row in rows)),
            Cents(sum(row.total_cents for row in rows)),
        )
        for rows in of.values()
    ]


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A correction of a claim that was closed before: a ride taken back after its month was closed.

    Attributes:
        claim: Printed number of the claim that it corrects.
        month: That claim's month.
        kind: `REVERSAL`, `CUT` or `DELTA`.
        reason: Portuguese sentence.
        quantity: Rides.
        cents: Their sum in centavos, below zero where the city pays less.
    """

    claim: str
    month: str
    kind: str
    reason: str
    quantity: int
    cents: Cents


def printed_number(operator: str, year: int, number: int) -> str:
    """How a claim's number is printed: `tupa-2026-0003`."""
    return f"{operator}-{year}-{number:04}"
