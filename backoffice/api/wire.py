"""Types of the wire: JSON in, JSON out. Unknown fields, numbers as text, naive instants and loose dates are refused."""

import re
from datetime import date, datetime
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
)

from backoffice.application.register_fields import FIRST_YEAR, LAST_YEAR

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})", re.ASCII)


class Wrong(ValueError):
    """A value is not what the field takes; the sentence says what to send, in both languages."""

    def __init__(self, sentence: str, english: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.english = english


class Sent(BaseModel):
    """Base of what clients send."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class Shown(BaseModel):
    """Base of what is answered."""

    model_config = ConfigDict(from_attributes=True, use_attribute_docstrings=True)


def _day(value: Any) -> date:
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise Wrong(
            "envie a data como texto AAAA-MM-DD, como 2026-03-02",
            "send the date as text YYYY-MM-DD, such as 2026-03-02",
        )
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise Wrong("esta data não existe no calendário", "no such day in the calendar") from None


def _instant(value: Any) -> datetime:
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        raise Wrong(
            "envie o instante com o fuso, como 2026-03-02T07:15:00-03:00",
            "send the instant with its offset, such as 2026-03-02T07:15:00-03:00",
        )
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        raise Wrong("este instante não existe", "no such instant") from None
    if not FIRST_YEAR <= instant.year <= LAST_YEAR:
        raise Wrong(
            f"o ano {instant.year} está errado; confira o instante",
            f"the year {instant.year} is wrong; check the instant",
        )
    return instant


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Wrong("envie um texto", "send a text")
    if "\0" in value:
        raise Wrong("o texto não pode conter o caractere nulo", "the text cannot hold the null character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Wrong("o texto não é Unicode válido", "the text is no valid Unicode") from None
    return value


def _text_if_any(value: str | None) -> str | None:
    return None if value is None else _text(value)


Day = Annotated[
    date,
    BeforeValidator(_day, json_schema_input_type=Annotated[str, Field(json_schema_extra={"format": "date"})]),
]
"""A civil day, `AAAA-MM-DD`."""

Instant = Annotated[
    AwareDatetime,
    BeforeValidator(
        _instant, json_schema_input_type=Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    ),
]
"""An instant with offset."""

Text = Annotated[
    StrictStr,
    BeforeValidator(_text, json_schema_input_type=Annotated[str, Field(max_length=1_000)]),
    Field(max_length=1_000),
]
Number = Annotated[StrictInt, Field(ge=1, le=2**53)]
"""A number of a record."""
Count = Annotated[StrictInt, Field(ge=-(2**31), le=2**31 - 1)]
"""A count or an amount in centavos; the use case names the sensible range."""
Flag = StrictBool

RecordId = Annotated[int, Path(ge=1, le=2**53)]
CardNumber = Annotated[int, Path(ge=1, lt=2**48)]
KeyNumber = Annotated[int, Path(ge=1, le=65_535)]
Code = Annotated[str, AfterValidator(_text), Path(min_length=1, max_length=64)]
CodeQuery = Annotated[str | None, AfterValidator(_text_if_any), Query(min_length=1, max_length=32)]
_MONTH = "^[0-9]{4}-(0[1-9]|1[0-2])$"
_MONTH_WORDS = "Competência, AAAA-MM."
MonthPath = Annotated[str, Path(pattern=_MONTH, description=_MONTH_WORDS)]
MonthQuery = Annotated[str | None, Query(pattern=_MONTH, description=_MONTH_WORDS)]
