"""The rule table and the parameters: the law as dated data, read from a mapping and checked row by row.

Another city, or a later law, is another file and no new code.
"""

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from validator.domain.law_rows import LawError as LawError
from validator.domain.law_rows import Row, check_days, check_ids, in_force
from validator.domain.registration import RegistrationRow, check_registrations, registration_row
from validator.domain.vocabulary import Category, Network, Turnstile


class RiderPays(StrEnum):
    """What the rider pays of the fare under a rule."""

    NOTHING = "nothing"
    HALF = "half"
    ALL = "all"


class Status(StrEnum):
    """How sure the city's duty to repay is: `docs/law.md`, disputed readings."""

    FIRM = "firm"
    DISPUTED = "disputed"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One dated rule of the law.

    Attributes:
        id: Name of the row, unique in the table; it stands on every decision and claim line.
        category: Who the rule is for.
        first_day: First civil day of the rule.
        last_day: Last civil day of the rule, None while it is in force.
        age_from: Completed years from which the rule holds (from 00:00 of that birthday).
        age_through: Completed years through which the rule holds (until the eve of the next birthday).
        rider_pays: What the rider pays of the fare.
        repaid_percent: What the city repays, in percent of the part that the rider does not pay.
        status: How sure the city's duty to repay is.
        turnstile: What the turnstile does.
        networks: Where the rule holds.
        keyable: Whether the driver may key the category without a card.
        by_document: Whether any identity document proves the right, without a card.
        article: The article that makes the rule.
        amended_by: The law that gave the article this wording, or None.
        note: What a reader of the table should know, or None.
    """

    id: str
    category: Category
    first_day: date
    last_day: date | None
    age_from: int | None
    age_through: int | None
    rider_pays: RiderPays
    repaid_percent: int
    status: Status
    turnstile: Turnstile
    networks: frozenset[Network]
    keyable: bool
    by_document: bool
    article: str
    amended_by: str | None
    note: str | None

    def in_force_on(self, day: date) -> bool:
        """Whether the rule holds on a civil day."""
        return in_force(day, self.first_day, self.last_day)


@dataclass(frozen=True, slots=True)
class ParameterRow:
    """A number that an act of the city sets from a day on; `unit` says of what."""

    name: str
    value: int
    unit: str
    first_day: date
    act: str
    note: str | None


PARAMETERS = {
    "student_boarding_cap": "boardings",
    "reuse_minutes": "minutes",
    "continuation_minutes": "minutes",
    "max_change_fares": "fares",
    "clock_ahead_minutes": "minutes",
    "clock_behind_days": "days",
    "annul_seconds": "seconds",
    "window_passes_month": "passes",
    "window_passes_two_months": "passes",
    "passes_per_school_day": "passes",
    "school_days_default": "days",
    "list_max_age_hours": "hours",
    "elder_split_years": "years",
    "uid_rights": "switch",
}
"""Every parameter that the code reads, with its unit; a switch is 0 for no and 1 for yes."""


@dataclass(frozen=True, slots=True)
class RuleBook:
    """The whole rule table with its parameters.

    Attributes:
        rows: All rules, by category and first day.
        parameters: All parameter rows, by name and first day.
        registrations: What proves a right at the desk, by category and first day.
        art70_effective_from: First day of the cap and the windows of Decreto art. 70 (art. 73), None for never.
        version: Hash of the whole content; every decision and claim carries it.
    """

    rows: tuple[RuleRow, ...]
    parameters: tuple[ParameterRow, ...]
    registrations: tuple[RegistrationRow, ...]
    art70_effective_from: date | None
    version: str

    def rows_of(self, category: Category) -> tuple[RuleRow, ...]:
        """The rules of one category, oldest first."""
        return tuple(row for row in self.rows if row.category is category)

    def row_on(self, category: Category, day: date) -> RuleRow | None:
        """The rule of a category in force on a civil day."""
        return next((row for row in self.rows_of(category) if row.in_force_on(day)), None)

    def registration_on(self, category: Category, day: date) -> RegistrationRow | None:
        """What proves a right of a category on the day on which it is asked for; None where nothing does."""
        rows = (row for row in self.registrations if row.category is category)
        return next((row for row in rows if row.in_force_on(day)), None)

    def parameter_on(self, name: str, day: date) -> int:
        """The value of a parameter on a civil day; before its first row the first value holds.

        Raises:
            KeyError: no such parameter.
        """
        rows = [row for row in self.parameters if row.name == name]
        if not rows:
            raise KeyError(name)
        begun = [row for row in rows if row.first_day <= day]
        return (begun[-1] if begun else rows[0]).value


def parse_rule_book(data: Mapping[str, Any]) -> RuleBook:
    """Read a rule table from the mapping that a TOML file holds.

    Raises:
        LawError: a row is unknown, incomplete, overlaps another or leaves a gap; the message names it.
    """
    unknown = sorted(set(data) - {"law", "rule", "registration", "parameter"})
    if unknown:
        raise LawError(
            f"tabela {unknown[0]!r} desconhecida: a lei tem [law], [[rule]], [[registration]] e [[parameter]]",
            f"unknown table {unknown[0]!r}: a law file has [law], [[rule]], [[registration]] and [[parameter]]",
        )
    rules = [_rule_row(number, raw) for number, raw in enumerate(_tables(data, "rule"), start=1)]
    proofs = [
        registration_row(number, raw) for number, raw in enumerate(_tables(data, "registration"), start=1)
    ]
    numbers = [_parameter_row(number, raw) for number, raw in enumerate(_tables(data, "parameter"), start=1)]
    rows = tuple(sorted(rules, key=lambda row: (row.category, row.first_day)))
    parameters = tuple(sorted(numbers, key=lambda row: (row.name, row.first_day)))
    registrations = tuple(sorted(proofs, key=lambda row: (row.category, row.first_day)))
    _check_rows(rows)
    check_registrations(registrations)
    _check_parameters(parameters)
    return RuleBook(rows, parameters, registrations, _art70(data.get("law", {})), _version(data))


def _art70(law: object) -> date | None:
    if not isinstance(law, Mapping):
        raise LawError(
            "[law] é uma tabela com name e art70_effective_from",
            "[law] is a table with name and art70_effective_from",
        )
    unknown = sorted(set(law) - {"name", "art70_effective_from"})
    if unknown:
        raise LawError(
            f"[law] campo {unknown[0]!r} desconhecido; há name, art70_effective_from",
            f"[law] unknown field {unknown[0]!r}; known are name, art70_effective_from",
        )
    art70 = law.get("art70_effective_from")
    if art70 is not None and type(art70) is not date:
        raise LawError(
            "[law] art70_effective_from é uma data como 1994-12-29, ou fica de fora",
            "[law] art70_effective_from is a date such as 1994-12-29, or left out",
        )
    return art70


def _tables(data: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    tables = data.get(name, [])
    if not isinstance(tables, list) or not tables or not all(isinstance(table, Mapping) for table in tables):
        raise LawError(f"o arquivo da lei não tem linhas [[{name}]]", f"the law file has no [[{name}]] rows")
    return tables


def _version(data: Mapping[str, Any]) -> str:
    canonical = json.dumps(data, sort_keys=True, default=str, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


_RULE_FIELDS = {
    "id", "category", "from", "to", "age_from", "age_through", "rider_pays", "repaid_percent", "status",
    "turnstile", "networks", "keyable", "by_document", "article", "amended_by", "note",
}  # fmt: skip


def _rule_row(number: int, raw: Mapping[str, Any]) -> RuleRow:
    row = Row("rule", number, raw, _RULE_FIELDS)
    networks = raw.get("networks")
    if not isinstance(networks, list) or not networks:
        raise row.error(
            'networks é uma lista como ["URBAN", "INTERIOR"]',
            'networks is a list such as ["URBAN", "INTERIOR"]',
        )
    rule = RuleRow(
        id=row.text("id"),
        category=row.choice("category", Category),
        first_day=row.day("from"),
        last_day=row.optional_day("to"),
        age_from=row.optional_number("age_from", 130),
        age_through=row.optional_number("age_through", 130),
        rider_pays=row.choice("rider_pays", RiderPays),
        repaid_percent=row.number("repaid_percent", 100),
        status=row.choice("status", Status),
        turnstile=row.choice("turnstile", Turnstile),
        networks=frozenset(row.member("networks", value, Network) for value in networks),
        keyable=row.flag("keyable"),
        by_document=row.flag("by_document"),
        article=row.text("article"),
        amended_by=row.optional_text("amended_by"),
        note=row.optional_text("note"),
    )
    _check_sense(row, rule)
    return rule


def _check_sense(row: Row, rule: RuleRow) -> None:
    row.check_order(rule.first_day, rule.last_day)
    if (rule.status is Status.NONE) != (rule.repaid_percent == 0):
        raise row.error(
            "status é none exatamente onde repaid_percent é 0",
            "status is none exactly where repaid_percent is 0",
        )
    if rule.rider_pays is RiderPays.ALL and rule.repaid_percent:
        raise row.error(
            "o passageiro paga tudo, e nada há a reembolsar", "the rider pays all, so nothing can be repaid"
        )
    paid_in_full = rule.category in (Category.PREPAID, Category.VT, Category.FULL)
    if (rule.rider_pays is RiderPays.ALL) != paid_in_full:
        raise row.error(
            "o passageiro paga tudo como PREPAID, VT e FULL, e em nenhuma outra categoria",
            "the rider pays all as PREPAID, VT and FULL, and as no other category",
        )
    if rule.rider_pays is RiderPays.HALF and rule.category is not Category.STUDENT_50:
        raise row.error(
            "só STUDENT_50 paga metade: meia passagem é passe de estudante comprado antes",
            "only STUDENT_50 pays half: half fares are student passes bought in advance",
        )
    if (rule.keyable or rule.by_document) and rule.rider_pays is not RiderPays.NOTHING:
        raise row.error(
            "keyable e by_document deixam viajar de graça; aqui o passageiro paga",
            "keyable and by_document let somebody ride free; here the rider pays",
        )
    if rule.turnstile is Turnstile.HOLD:
        raise row.error(
            "uma regra deixa viajar: turnstile é TURN ou NOT_TURNED",
            "a rule lets somebody ride: turnstile is TURN or NOT_TURNED",
        )
    by_age = rule.category in (Category.CHILD, Category.ELDER)
    if by_age != (rule.age_from is not None or rule.age_through is not None):
        raise row.error(
            "CHILD e ELDER têm idade, e nenhuma outra categoria tem",
            "CHILD and ELDER have an age, and no other category has one",
        )


def _parameter_row(number: int, raw: Mapping[str, Any]) -> ParameterRow:
    row = Row("parameter", number, raw, {"name", "value", "unit", "from", "act", "note"})
    name = row.text("name")
    known = ", ".join(sorted(PARAMETERS))
    if name not in PARAMETERS:
        raise row.error(f"parâmetro desconhecido; há {known}", f"unknown parameter; known are {known}")
    unit = row.text("unit")
    if unit != PARAMETERS[name]:
        raise row.error(f"unit é {PARAMETERS[name]}, e não {unit}", f"unit is {PARAMETERS[name]}, not {unit}")
    highest = 1 if unit == "switch" else 100_000
    return ParameterRow(
        name, row.number("value", highest), unit, row.day("from"), row.text("act"), row.optional_text("note")
    )


def _check_rows(rows: tuple[RuleRow, ...]) -> None:
    check_ids("rule", [row.id for row in rows])
    for category in Category:
        own = [row for row in rows if row.category is category]
        if not own:
            raise LawError(
                f"a categoria {category} não tem linha rule; cada uma precisa de uma",
                f"category {category} has no rule row; every category needs one",
            )
        check_days([(f"rule {row.id}", row.first_day, row.last_day) for row in own])


def _check_parameters(rows: tuple[ParameterRow, ...]) -> None:
    names = {row.name for row in rows}
    for name in sorted(PARAMETERS):
        if name not in names:
            raise LawError(
                "falta; cada parâmetro precisa de uma linha com o seu ato",
                "missing; every parameter needs a row with its act",
            ).at(f"parameter {name}")
    for before, after in itertools.pairwise(rows):
        if (before.name, before.first_day) == (after.name, after.first_day):
            raise LawError(
                f"duas linhas começam em {after.first_day}", f"two rows begin on {after.first_day}"
            ).at(f"parameter {after.name}")
