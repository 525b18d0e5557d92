"""Addresses that the design reserves; each answers clearly that it is not there yet."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path

from backoffice.api.dependencies import CurrentStaff
from backoffice.api.wire import Code, MonthPath, RecordId
from backoffice.application.reserved import (
    refuse_closing_by_http,
    refuse_merge,
    refuse_refund,
    refuse_step,
)

router = APIRouter(prefix="/v1", tags=["ainda não existe"])


@router.post("/holders/{holder_id}/merge", status_code=501)
def merge(holder_id: RecordId, _: CurrentStaff) -> None:
    """Reserved: two records found to be one person."""
    refuse_merge()


@router.post("/holders/{holder_id}/refunds", status_code=501)
def refund(holder_id: RecordId, _: CurrentStaff) -> None:
    """Reserved: paying back unused passes."""
    refuse_refund()


@router.post("/claims/{number}/{step}", status_code=501)
def claim_step(
    number: Code, step: Annotated[Literal["send", "attest", "cut", "pay"], Path()], _: CurrentStaff
) -> None:
    """Reserved: the steps of a claim after its closing."""
    del number
    refuse_step(step)


@router.post("/months/{month}/closings", status_code=501)
def close(month: MonthPath, _: CurrentStaff) -> None:
    """Reserved: closing a month over HTTP. The command `catraca claim close` does it."""
    del month
    refuse_closing_by_http()
