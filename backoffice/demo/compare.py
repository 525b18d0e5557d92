"""The claims as closed beside the claims as counted: equal line by line, or the demonstration has failed."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from backoffice.demo.count import LineKey, MonthCount, Sum

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One operator: its claim, and the same numbers as counted. Amounts in centavos."""

    operator: str
    number: str
    name: str
    rides: int
    rider_cents: int
    city_cents: int
    statistical: int
    excluded: int
    counted_rides: int
    counted_cents: int

    @property
    def agrees(self) -> bool:
        """Whether rides and amount are as counted."""
        return (self.rides, self.city_cents) == (self.counted_rides, self.counted_cents)


@dataclass(slots=True)
class Comparison:
    """What the claims say, what was counted, and where they differ.

    Attributes:
        operators: One row for each operator.
        categories: Rides and centavos by label of the category, over all operators.
        excluded: Excluded rides by reason: as closed, and as counted.
        files: Names of the files that were written.
        differences: What differs, in Portuguese.
    """

    operators: list[OperatorRow] = field(default_factory=list)
    categories: dict[str, tuple[int, int]] = field(default_factory=dict)
    excluded: dict[str, tuple[int, int]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def differ(self, text: str) -> None:
        """Note a difference."""
        if len(self.differences) < _SHOWN:
            self.differences.append(text)


def compare(documents: Iterable[str], counted: MonthCount) -> Comparison:
    """Compare the JSON documents of a month's claims with the count of the month."""
    claims = [json.loads(document) for document in documents]
    found = Comparison()
    _compare_lines(claims, counted, found)
    _compare_excluded(claims, counted, found)
    for claim in claims:
        operator = claim["operator"]["code"]
        own = [line for key, line in counted.lines.items() if key.operator == operator]
        statistical = sum(row["quantity"] for row in claim["statistical"])
        if statistical != counted.statistical[operator]:
            found.differ(f"{operator}: {statistical} sem cobrança, contados {counted.statistical[operator]}")
        found.operators.append(
            OperatorRow(
                operator,
                claim["number"],
                claim["operator"]["name"],
                claim["totals"]["rides"],
                claim["totals"]["rider_cents"],
                claim["totals"]["total_cents"],
                statistical,
                sum(row["quantity"] for row in claim["excluded"]),
                sum(line.quantity for line in own),
                sum(line.city_cents for line in own),
            )
        )
        for row in claim["subtotals"]:
            rides, cents = found.categories.get(row["label"], (0, 0))
            found.categories[row["label"]] = (rides + row["quantity"], cents + row["total_cents"])
    return found


def _compare_lines(claims: list[dict[str, Any]], counted: MonthCount, found: Comparison) -> None:
    closed: dict[LineKey, Sum] = {}
    for claim in claims:
        for row in claim["lines"]:
            key = LineKey(claim["operator"]["code"], row["category"], row["line"], row["fare_cents"])
            total = closed.setdefault(key, Sum())
            total.quantity += row["quantity"]
            total.rider_cents += row["quantity"] * row["rider_cents"]
            total.city_cents += row["total_cents"]
    for key in sorted({*closed, *counted.lines}, key=str):
        if closed.get(key) != counted.lines.get(key):
            found.differ(f"{key}: fatura {closed.get(key)}, contagem {counted.lines.get(key)}")


def _compare_excluded(claims: list[dict[str, Any]], counted: MonthCount, found: Comparison) -> None:
    closed: Counter[tuple[str, str]] = Counter()
    for claim in claims:
        for row in claim["excluded"]:
            closed[claim["operator"]["code"], row["reason"]] += row["quantity"]
    for operator, reason in sorted({*closed, *counted.excluded}):
        one, other = closed[operator, reason], counted.excluded[operator, reason]
        if one != other:
            found.differ(f"{operator}, {reason}: fatura {one}, contagem {other}")
    found.excluded = _by_reason(closed, counted.excluded)


def _by_reason(
    closed: Mapping[tuple[str, str], int], counted: Mapping[tuple[str, str], int]
) -> dict[str, tuple[int, int]]:
    reasons = sorted({reason for _, reason in (*closed, *counted)})
    return {
        reason: (
            sum(number for (_, other), number in closed.items() if other == reason),
            sum(number for (_, other), number in counted.items() if other == reason),
        )
        for reason in reasons
    }
