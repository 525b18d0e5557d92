"""What a golden case may expect, by kind: the known keys, and the form of each value."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from backoffice.application.law_case_fields import Fields
from backoffice.domain.acquisition import NotSoldReason
from backoffice.domain.exclusions import ExclusionReason
from validator.domain.reasons import Reason
from validator.domain.vocabulary import Category, RideClass, Turnstile

Check = Callable[[Fields, str], object]


class Outcome(StrEnum):
    """The two outcomes of a decision or of a request at the desk."""

    ACCEPTED = "accepted"
    REFUSED = "refused"


def _of(words: type[StrEnum], *more: str) -> Check:
    def check(fields: Fields, key: str) -> None:
        if not fields.is_null(key) and fields.raw[key] not in more:
            fields.choice(key, words)

    return check


def _reason(fields: Fields, key: str) -> None:
    name = fields.value(key, "a reason")
    if not isinstance(name, str) or name not in Reason.__members__:
        raise fields.wrong(key, f"one of {', '.join(Reason.__members__)}")


def _cents(fields: Fields, key: str) -> None:
    if not fields.is_null(key):
        fields.whole(key)


def _text(fields: Fields, key: str) -> None:
    if not fields.is_null(key):
        fields.text(key)


def _uses(fields: Fields, key: str) -> None:
    uses = fields.optional_inner(key)
    if uses is not None:
        uses.text("product")
        uses.value("counts_cap", "true or false")
        uses.flag("counts_cap")
        uses.done()


def _window(fields: Fields, key: str) -> None:
    wanted = 'null or two days such as ["2026-03-02", "2026-04-02"]'
    value = fields.value(key, wanted)
    if value is None:
        return
    if not isinstance(value, list) or len(value) != 2:
        raise fields.wrong(key, wanted)
    days = Fields({"first": value[0], "until": value[1]}, fields.named(key))
    days.day("first")
    days.day("until")


def _excluded(fields: Fields, key: str) -> None:
    inner = fields.inner(key)
    known = dict.fromkeys([*ExclusionReason, *Reason.__members__])
    for reason in inner.raw:
        if reason not in known:
            raise inner.error(reason, f"is no reason of a rating; known are {', '.join(known)}")
        ids = inner.value(reason, "a list of boarding ids")
        if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
            raise inner.wrong(reason, "a list of boarding ids")


EXPECTED: Mapping[str, Mapping[str, Check]] = {
    "decide": {
        "outcome": _of(Outcome),
        "reason": _reason,
        "category": _of(Category),
        "fare_cents": _cents,
        "rider_cents": _cents,
        "city_cents": _cents,
        "operator_cents": _cents,
        "change_cents": _cents,
        "turnstile": _of(Turnstile),
        "uses": _uses,
        "class": _of(RideClass),
        "rule": _text,
    },
    "acquire": {
        "outcome": _of(Outcome),
        "reason": _of(NotSoldReason, "OK"),
        "window": _window,
        "remaining": _cents,
        "next_on": Fields.optional_day,
    },
    "rate": {
        "billable": _cents,
        "statistical": _cents,
        "city_cents": _cents,
        "excluded": _excluded,
    },
}
"""The keys that `expect` may name, by kind of case."""


def read_expected(fields: Fields, kind: str) -> Mapping[str, object]:
    """The expectations of a case.

    Raises:
        CaseError: there are none, or one is unknown or of the wrong form.
    """
    checks = EXPECTED[kind]
    known = ", ".join(checks)
    if not fields.raw:
        raise fields.error("", f"is empty; name at least one of {known}")
    for key in fields.raw:
        if key not in checks:
            raise fields.error(key, f"is no result of kind {kind}; known are {known}")
        checks[key](fields, key)
    return {key: _without_empty(value) if key == "excluded" else value for key, value in fields.raw.items()}


def _without_empty(excluded: object) -> object:
    """A reason that lists no boarding says the same as one that is left out."""
    assert isinstance(excluded, Mapping)
    return {reason: ids for reason, ids in excluded.items() if ids}
