"""Addresses that the design reserves; each answers clearly that it is not there yet."""

from fastapi import APIRouter

from backoffice.api.dependencies import CurrentStaff
from backoffice.api.wire import RecordId
from backoffice.application.reserved import refuse_merge, refuse_refund

router = APIRouter(prefix="/v1", tags=["ainda não existe"])


@router.post("/holders/{holder_id}/merge", status_code=501)
def merge(holder_id: RecordId, _: CurrentStaff) -> None:
    """Reserved: two records found to be one person."""
    refuse_merge()


@router.post("/holders/{holder_id}/refunds", status_code=501)
def refund(holder_id: RecordId, _: CurrentStaff) -> None:
    """Reserved: paying back unused passes."""
    refuse_refund()
