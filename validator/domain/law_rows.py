"""Rows of a law file: typed fields, and errors that name the row and say what to write instead."""

import itertools
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from enum import StrEnum
from typing import Any, TypeVar

E = TypeVar("E", bound=StrEnum)


class LawError(ValueError):
    """The law's data breaks its form; the message names the row and says what to write instead.

    Attributes:
        sentence: The message in Portuguese.
        english: The same in English.
    """

    def __init__(self, sentence: str, english: str) -> None:
        super().__init__(f"{sentence} / {english}")
        self.sentence = sentence
        self.english = english

    def at(self, place: str) -> "LawError":
        """The same error with the place where it stands."""
        return LawError(f"{place}: {self.sentence}", f"{place}: {self.english}")


class Row:
    """Typed access to the fields of one raw row; every error names the row."""

    def __init__(self, kind: str, number: int, raw: Mapping[str, Any], known: set[str]) -> None:
        self.raw = raw
        self.name = f"{kind} {raw.get('id') or raw.get('name') or f'number {number} (without a name)'}"
        unknown = sorted(set(raw) - known)
        if unknown:
            names = ", ".join(sorted(known))
            raise self.error(
                f"campo {unknown[0]!r} desconhecido; há {names}",
                f"unknown field {unknown[0]!r}; known are {names}",
            )

    def error(self, sentence: str, english: str) -> LawError:
        """The error that names this row."""
        return LawError(sentence, english).at(self.name)

    def text(self, field: str) -> str:
        """A text that says something."""
        value = self.raw.get(field)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"falta {field}; escreva um texto", f"{field} is missing; write a text")
        return value

    def optional_text(self, field: str) -> str | None:
        """A text, or None where the field is left out."""
        return self.text(field) if field in self.raw else None

    def day(self, field: str) -> date:
        """A civil day."""
        value = self.raw.get(field)
        if type(value) is not date:
            raise self.error(
                f"{field} falta ou não é uma data; escreva-a como 2005-01-06",
                f"{field} is missing or no date; write it as 2005-01-06",
            )
        return value

    def optional_day(self, field: str) -> date | None:
        """A civil day, or None where the field is left out."""
        return self.day(field) if field in self.raw else None

    def number(self, field: str, highest: int) -> int:
        """A whole number from 0 on."""
        value = self.raw.get(field)
        if type(value) is not int or not 0 <= value <= highest:
            raise self.error(
                f"{field} é um número inteiro de 0 a {highest}, e não {value!r}",
                f"{field} is a whole number from 0 to {highest}, not {value!r}",
            )
        return value

    def optional_number(self, field: str, highest: int) -> int | None:
        """A whole number, or None where the field is left out."""
        return self.number(field, highest) if field in self.raw else None

    def flag(self, field: str) -> bool:
        """True or false; false where the field is left out."""
        value = self.raw.get(field, False)
        if not isinstance(value, bool):
            raise self.error(
                f"{field} é true ou false, e não {value!r}", f"{field} is true or false, not {value!r}"
            )
        return value

    def members(self, field: str, enum: type[E], *, example: str) -> frozenset[E]:
        """The words of a list that is not empty, each once."""
        values = self.raw.get(field)
        if not isinstance(values, list) or not values:
            raise self.error(f"{field} é uma lista como {example}", f"{field} is a list such as {example}")
        found = [self.member(field, value, enum) for value in values]
        for word in found:
            if found.count(word) > 1:
                raise self.error(f"{field} traz {word} duas vezes", f"{field} names {word} twice")
        return frozenset(found)

    def check_order(self, first_day: date, last_day: date | None) -> None:
        """Refuse a row that ends before it begins."""
        if last_day is not None and last_day < first_day:
            raise self.error(
                f"termina em {last_day}, antes de começar em {first_day}",
                f"ends on {last_day} before it begins on {first_day}",
            )

    def choice(self, field: str, enum: type[E]) -> E:
        """One word of a closed list."""
        return self.member(field, self.raw.get(field), enum)

    def member(self, field: str, value: object, enum: type[E]) -> E:
        """A value as a word of a closed list."""
        try:
            return enum(str(value))
        except ValueError:
            raise self.error(
                f"{field} {value!r} não existe; há {', '.join(enum)}",
                f"{field} {value!r} is unknown; known are {', '.join(enum)}",
            ) from None


def check_ids(kind: str, ids: Sequence[str]) -> None:
    """Refuse rows of one kind of which two have the same id.

    Raises:
        LawError: they do; the message names it.
    """
    for row_id in ids:
        if ids.count(row_id) > 1:
            raise LawError("duas linhas têm este id", "two rows have this id").at(f"{kind} {row_id}")


def in_force(day: date, first_day: date, last_day: date | None) -> bool:
    """Whether a row holds on a civil day; `last_day` is its last one, None while it is in force."""
    return first_day <= day and (last_day is None or day <= last_day)


def check_days(rows: Sequence[tuple[str, date, date | None]]) -> None:
    """Refuse rows of one kind that overlap or leave a gap: name, first day, last day, the oldest first.

    Raises:
        LawError: they do; the message names the earlier row.
    """
    for (name, _, last_day), (next_name, next_day, _) in itertools.pairwise(rows):
        following = next_name.partition(" ")[2]
        if last_day is None or last_day >= next_day:
            raise LawError(
                f"sobrepõe-se a {following}, que começa em {next_day}",
                f"overlaps {following}, which begins on {next_day}",
            ).at(name)
        if last_day + timedelta(days=1) != next_day:
            raise LawError(
                f"deixa um vazio depois de {last_day} até começar {following}",
                f"leaves a gap after {last_day} until {following} begins",
            ).at(name)
