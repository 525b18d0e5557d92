"""Kinds of columns that many tables have."""

from enum import StrEnum
from typing import Any

from sqlalchemy import Enum, ForeignKey
from sqlalchemy.orm import MappedColumn, mapped_column


def word(kind: type[StrEnum], name: str, **options: Any) -> MappedColumn[Any]:
    """A column that holds one word of a closed list; the database checks it.

    Args:
        kind: The list.
        name: Name of the check within its table, that is the column's name.
        options: What `mapped_column` takes.
    """
    column = Enum(
        kind,
        native_enum=False,
        create_constraint=True,
        length=32,
        name=name,
        values_callable=lambda words: [one.value for one in words],
    )
    return mapped_column(column, **options)


def reference(target: str, **options: Any) -> MappedColumn[Any]:
    """A column that cites a row, which therefore can never be deleted."""
    return mapped_column(ForeignKey(target, ondelete="RESTRICT"), **options)
