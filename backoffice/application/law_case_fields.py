"""Typed access to the fields of a golden case; every error names the field and says what to write."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from enum import StrEnum
from typing import TypeVar

from validator.domain.service_time import Month, parse_month

E = TypeVar("E", bound=StrEnum)

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(?P<offset>Z|[+-][0-9]{2}:[0-9]{2})?"
)
_YEARS = (1800, 2999)


class CaseError(ValueError):
    """A case breaks the format; the message names the field and says what to write."""

    def __init__(self, field: str, what: str) -> None:
        super().__init__(f"{field}: {what}" if field else what)


class Repeated(dict[str, object]):
    """A JSON object that names a key twice; reading it is an error."""

    key = ""


def without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of a JSON text, marked where it names a key twice (`object_pairs_hook`)."""
    raw = dict(pairs)
    if len(raw) == len(pairs):
        return raw
    names = [name for name, _ in pairs]
    repeated = Repeated(raw)
    repeated.key = next(name for name in names if names.count(name) > 1)
    return repeated


class Fields:
    """One JSON object of a case, read field by field; `done` refuses what nobody asked for."""

    def __init__(self, raw: object, path: str) -> None:
        if not isinstance(raw, dict):
            raise CaseError(path, f"is {_shown(raw)}; write an object {{...}}")
        self.raw: Mapping[str, object] = raw
        self.path = path
        if isinstance(raw, Repeated):
            raise self.error(raw.key, "stands twice in one object; keep one")
        self._asked: set[str] = set()

    def has(self, field: str) -> bool:
        """Whether a field is there, null or not."""
        self._asked.add(field)
        return field in self.raw

    def is_null(self, field: str) -> bool:
        """Whether a field is left out or null."""
        return not self.has(field) or self.raw[field] is None

    def value(self, field: str, wanted: str) -> object:
        """The raw value of a field that must be there."""
        if not self.has(field):
            raise self.error(field, f"is missing; write {wanted}")
        return self.raw[field]

    def error(self, field: str, what: str) -> CaseError:
        """An error about one field."""
        return CaseError(self.named(field), what)

    def named(self, field: str) -> str:
        """The full name of a field, such as `tap.medium.kind`."""
        return ".".join(part for part in (self.path, field) if part)

    def wrong(self, field: str, wanted: str) -> CaseError:
        """An error about a value of the wrong type or form."""
        return self.error(field, f"is {_shown(self.raw.get(field))}; write {wanted}")

    def text(self, field: str) -> str:
        """A text that is not empty."""
        value = self.value(field, "a text")
        if not isinstance(value, str) or not value:
            raise self.wrong(field, "a text that is not empty")
        return value

    def ignored_text(self, *fields: str) -> None:
        """Fields that the wire has and a decision does not read; if there, they are texts."""
        for field in fields:
            if not self.is_null(field):
                self.text(field)

    def whole(
        self, field: str, *, least: int = 0, most: int = 1_000_000_000, default: int | None = None
    ) -> int:
        """A whole number."""
        if default is not None and not self.has(field):
            return default
        wanted = (
            f"a whole number from {least}"
            if most == 1_000_000_000
            else f"a whole number from {least} to {most}"
        )
        value = self.value(field, wanted)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(field, wanted)
        return value

    def flag(self, field: str) -> bool:
        """True or false; false when left out."""
        if not self.has(field):
            return False
        value = self.raw[field]
        if not isinstance(value, bool):
            raise self.wrong(field, "true or false")
        return value

    def day(self, field: str) -> date:
        """A civil day."""
        wanted = "a day such as 2026-03-02"
        value = self.value(field, wanted)
        found = _day(value)
        if found is None:
            raise self.wrong(field, wanted)
        return found

    def optional_day(self, field: str) -> date | None:
        """A civil day, or None where left out or null."""
        return None if self.is_null(field) else self.day(field)

    def instant(self, field: str) -> datetime:
        """An instant with its offset."""
        wanted = "an instant with offset such as 2026-03-02T07:15:02-03:00"
        value = self.value(field, wanted)
        match = _INSTANT.fullmatch(value) if isinstance(value, str) else None
        if match is None or not isinstance(value, str):
            raise self.wrong(field, wanted)
        if match["offset"] is None:
            raise self.error(field, f"{value} has no offset; write {wanted}")
        try:
            instant = datetime.fromisoformat(value)
        except ValueError:
            raise self.wrong(field, wanted) from None
        if not _YEARS[0] <= instant.year <= _YEARS[1]:
            raise self.wrong(field, f"an instant of the years {_YEARS[0]} to {_YEARS[1]}")
        return instant

    def month(self, field: str) -> Month:
        """A civil month."""
        value = self.value(field, "a month such as 2026-03")
        month = month_from(value)
        if month is None:
            raise self.wrong(field, "a month such as 2026-03")
        return month

    def choice(self, field: str, words: type[E]) -> E:
        """A word of a closed list."""
        wanted = f"one of {', '.join(words)}"
        value = self.value(field, wanted)
        if isinstance(value, str) and value in list(words):
            return words(value)
        raise self.wrong(field, wanted)

    def optional_choice(self, field: str, words: type[E]) -> E | None:
        """A word of a closed list, or None where left out or null."""
        return None if self.is_null(field) else self.choice(field, words)

    def inner(self, field: str) -> "Fields":
        """The object in a field."""
        return Fields(self.value(field, "an object {...}"), self.named(field))

    def optional_inner(self, field: str) -> "Fields | None":
        """The object in a field, or None where it is left out or null."""
        return None if self.is_null(field) else self.inner(field)

    def items(self, field: str, *, optional: bool = False) -> Iterator["Fields"]:
        """The objects of a list."""
        if optional and self.is_null(field):
            return
        value = self.value(field, "a list [...]")
        if not isinstance(value, list):
            raise self.wrong(field, "a list [...]")
        for number, item in enumerate(value):
            yield Fields(item, f"{self.named(field)}[{number}]")

    def counts(self, field: str) -> dict[str, int]:
        """A mapping from names to whole numbers; empty where it is left out or null."""
        inner = self.optional_inner(field)
        if inner is None:
            return {}
        return {name: inner.whole(name) for name in inner.raw}

    def done(self) -> None:
        """Refuse fields that the format does not have."""
        unknown = sorted(set(self.raw) - self._asked)
        if unknown:
            known = ", ".join(sorted(self._asked))
            raise self.error(unknown[0], f"is no field of the format; known here are {known}")


def month_from(value: object) -> Month | None:
    """A month written AAAA-MM, or None for anything else."""
    try:
        return parse_month(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _day(value: object) -> date | None:
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        return None
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    return day if _YEARS[0] <= day.year <= _YEARS[1] else None


def _shown(value: object) -> str:
    """A value as a reader of the message recognises it, cut where it is long."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int | float):
        return f"the number {value}"
    text = str(value).replace("\n", " ")
    return f'the text "{text[:40]}{"..." if len(text) > 40 else ""}"'
