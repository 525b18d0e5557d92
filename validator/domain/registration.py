"""What proves a right at the desk: the documents to be seen, and whose schools give it. Dated data of the law."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from validator.domain.law_rows import LawError, Row, check_days, check_ids, in_force
from validator.domain.vocabulary import AGE_RIGHTS, RIGHTS_IN_ORDER, Category


class Evidence(StrEnum):
    """Documents that a desk has seen; copies are not kept (LGPD)."""

    IDENTITY = "IDENTITY"
    ADDRESS = "ADDRESS"
    ENROLMENT = "ENROLMENT"
    NEED = "NEED"
    CREDENTIAL = "CREDENTIAL"
    APPOINTMENT = "APPOINTMENT"
    EMPLOYER = "EMPLOYER"


class SchoolNetwork(StrEnum):
    """Who keeps a school."""

    PUBLIC_MUNICIPAL = "PUBLIC_MUNICIPAL"
    PUBLIC_STATE = "PUBLIC_STATE"
    PUBLIC_FEDERAL = "PUBLIC_FEDERAL"
    PRIVATE = "PRIVATE"
    SPECIAL = "SPECIAL"


OF_SCHOOLS = frozenset({Category.STUDENT_50, Category.TEACHER, Category.SPECIAL_ED})
"""Rights that a school's pupils or teachers have; the law says of which networks."""

REGISTERED = tuple(category for category in RIGHTS_IN_ORDER if category not in AGE_RIGHTS)
"""Rights that a desk registers; those of age follow from the birth date."""


@dataclass(frozen=True, slots=True)
class RegistrationRow:
    """What a desk must see before a right of a category is asked for, from a day on.

    Attributes:
        id: Name of the row, unique in the table.
        category: The right.
        first_day: First civil day on which a right is asked for so.
        last_day: Last civil day, None while it is in force.
        documents: What must have been seen, all of it.
        schools: Networks whose pupils or teachers have the right; None where it has nothing to do with a school.
        article: The article that asks for them.
        amended_by: The law that gave the article this wording, or None.
        note: What a reader of the table should know, or None.
    """

    id: str
    category: Category
    first_day: date
    last_day: date | None
    documents: frozenset[Evidence]
    schools: frozenset[SchoolNetwork] | None
    article: str
    amended_by: str | None
    note: str | None

    def in_force_on(self, day: date) -> bool:
        """Whether the row holds on a civil day."""
        return in_force(day, self.first_day, self.last_day)


_FIELDS = {"id", "category", "from", "to", "documents", "schools", "article", "amended_by", "note"}


def registration_row(number: int, raw: Mapping[str, Any]) -> RegistrationRow:
    """Read one row.

    Raises:
        LawError: it breaks its form.
    """
    row = Row("registration", number, raw, _FIELDS)
    category = row.choice("category", Category)
    if category not in REGISTERED:
        raise row.error(
            f"{category} não se registra no posto; há {', '.join(REGISTERED)}",
            f"{category} is not registered at a desk; known are {', '.join(REGISTERED)}",
        )
    if (category in OF_SCHOOLS) != ("schools" in raw):
        raise row.error(
            "STUDENT_50, TEACHER e SPECIAL_ED têm schools, e nenhuma outra categoria tem",
            "STUDENT_50, TEACHER and SPECIAL_ED have schools, and no other category has them",
        )
    schools = None
    if category in OF_SCHOOLS:
        schools = row.members("schools", SchoolNetwork, example='["PUBLIC_MUNICIPAL"]')
    read = RegistrationRow(
        id=row.text("id"),
        category=category,
        first_day=row.day("from"),
        last_day=row.optional_day("to"),
        documents=row.members("documents", Evidence, example='["IDENTITY", "CREDENTIAL"]'),
        schools=schools,
        article=row.text("article"),
        amended_by=row.optional_text("amended_by"),
        note=row.optional_text("note"),
    )
    row.check_order(read.first_day, read.last_day)
    return read


def check_registrations(rows: Sequence[RegistrationRow]) -> None:
    """Refuse a table with an id twice, a category without a row, an overlap or a gap.

    Raises:
        LawError: it has one; the message names the row.
    """
    check_ids("registration", [row.id for row in rows])
    for category in REGISTERED:
        own = [row for row in rows if row.category is category]
        if not own:
            raise LawError(
                f"a categoria {category} não tem linha registration; cada direito registrado precisa de uma",
                f"category {category} has no registration row; every registered right needs one",
            )
        check_days([(f"registration {row.id}", row.first_day, row.last_day) for row in own])
