"""Rights of one category that overlap: allowed, as a renewal does, and shown to whoever asks and whoever approves."""

from datetime import date

from backoffice.application.holder_state import HolderRows
from backoffice.persistence.rights import RightRequestRow
from validator.domain.rules import RuleBook


def overlapped_rights(book: RuleBook, rows: HolderRows, request: RightRequestRow) -> tuple[int, ...]:
    """Numbers of approved rights of the same category in a holder's `rows` that hold on a day that is asked for."""
    standing = zip(rows.rights, rows.as_of(book).holder.rights, strict=True)
    return tuple(
        row.id
        for row, right in standing
        if row.category is request.category
        and _begins_before(right.period.first, request.ended_on)
        and _begins_before(request.first_day, right.period.until)
    )


def _begins_before(first_day: date, until: date | None) -> bool:
    return until is None or first_day < until
