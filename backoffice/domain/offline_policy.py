"""What a stale list means on a bus without a network, category by category, as data with its act."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from validator.domain.rules import RuleBook, RuleRow
from validator.domain.vocabulary import AGE_RIGHTS, PURSES_IN_ORDER, RIGHTS_IN_ORDER, Category

FOR_EVER = "for ever"

_SUBJECTS = frozenset((*RIGHTS_IN_ORDER, *(Category(product.value) for product in PURSES_IN_ORDER)))


class PolicyError(ValueError):
    """The policy breaks its form, or tells what a list must not tell; the message names the field."""


@dataclass(frozen=True, slots=True)
class OfflinePolicy:
    """The policy of a city.

    Attributes:
        hours: By category, how old the list may be for it to hold on board; None for ever.
        half_budget: Half fares that one device may let in before the service has heard of them: the bound of what a
            person over the cap can cost on several buses without a network.
        act: The act or default that sets it.
    """

    hours: Mapping[Category, int | None]
    half_budget: int
    act: str


def parse_policy(data: Mapping[str, Any]) -> OfflinePolicy:
    """Read a policy from the mapping that a TOML file holds.

    Raises:
        PolicyError: a field is missing, unknown or of the wrong form.
    """
    unknown = sorted(set(data) - {"act", "half_budget", "list_hours"})
    if unknown:
        raise PolicyError(f"unknown field {unknown[0]!r}; known are act, half_budget, list_hours")
    act = data.get("act")
    if not isinstance(act, str) or not act.strip():
        raise PolicyError("act: name the act that sets the policy, or say that it is a default")
    budget = data.get("half_budget")
    if type(budget) is not int or not 0 <= budget <= 100_000:
        raise PolicyError("half_budget: a number of half fares from 0 to 100000")
    table = data.get("list_hours")
    if not isinstance(table, Mapping):
        raise PolicyError("list_hours: a table with a number of hours, or 'for ever', for every category")
    strangers = sorted(set(table) - {category.value for category in _SUBJECTS})
    if strangers:
        raise PolicyError(f"list_hours.{strangers[0]}: no category that a card can have")
    return OfflinePolicy({c: _hours(c, table.get(c.value)) for c in sorted(_SUBJECTS)}, budget, act)


def refuse_telling(policy: OfflinePolicy, book: RuleBook) -> None:
    """Refuse a policy by which a list would tell who is in special education.

    A list shows kinds of options, not categories. A kind that only SPECIAL_ED has would be its name.

    Raises:
        PolicyError: says which categories must share their hours.
    """
    latest = {
        category: rows[-1]
        for category in RIGHTS_IN_ORDER
        if category not in AGE_RIGHTS and (rows := book.rows_of(category))
    }
    own = latest.get(Category.SPECIAL_ED)
    if own is None:
        return
    like = [c for c, row in latest.items() if c is not Category.SPECIAL_ED and _alike(row, own)]
    if not any(policy.hours[c] == policy.hours[Category.SPECIAL_ED] for c in like):
        names = ", ".join(like) or "nenhuma"
        raise PolicyError(
            "list_hours.SPECIAL_ED: must be the hours of another category that looks the same on board "
            f"({names}), or a stolen validator would tell who is in special education"
        )


def _alike(row: RuleRow, other: RuleRow) -> bool:
    return (row.rider_pays, row.turnstile, row.networks) == (
        other.rider_pays,
        other.turnstile,
        other.networks,
    )


def _hours(category: Category, value: object) -> int | None:
    if value == FOR_EVER:
        return None
    if type(value) is int and 1 <= value <= 24 * 365:
        return value
    raise PolicyError(f"list_hours.{category}: a number of hours from 1 to 8760, or {FOR_EVER!r}")
