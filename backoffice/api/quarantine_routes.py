"""Boardings whose device's clock was off, and their dating by a person."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from backoffice.api.dependencies import ByCity, Now, Reads, Writes
from backoffice.api.wire import Instant, Sent, Shown, Text
from backoffice.application.date_boarding import boardings_in_doubt, date_boarding

router = APIRouter(prefix="/v1/quarantine", tags=["quarentena"])


class DoubtfulShown(Shown):
    """A boarding in quarantine. It happened between `after` and `before`, if the device was not switched off."""

    boarding_id: str
    device: str
    epoch: int
    seq: int
    line: str | None
    vehicle: str | None
    occurred_at: datetime | None
    received_at: datetime
    after: datetime | None
    before: datetime | None
    dated_at: datetime | None


@router.get("")
def list_all(
    _: ByCity, session: Reads, dated: Annotated[bool, Query(description="Também os já datados.")] = False
) -> list[DoubtfulShown]:
    """Boardings that wait for a date, at most 500."""
    found = boardings_in_doubt(session, waiting_only=not dated)
    return [DoubtfulShown.model_validate(one) for one in found]


class DatingSent(Sent):
    """When a boarding happened, and what that was found from."""

    dated_at: Instant
    evidence: Text


class DatingShown(Shown):
    """A dating; the boarding itself stays as it came."""

    boarding_id: str
    dated_at: datetime
    month_dated: str
    evidence: str


@router.post("/{boarding_id}/datings", status_code=201)
def date(boarding_id: UUID, sent: DatingSent, by: ByCity, at: Now, session: Writes) -> DatingShown:
    """Date a boarding from evidence. A later dating replaces an earlier one; both are kept."""
    dating = date_boarding(
        session, by, at, boarding_id=str(boarding_id), dated_at=sent.dated_at, evidence=sent.evidence
    )
    return DatingShown.model_validate(dating)
