"""Claims: which there are, one as it was closed, and its files. Money is only asked for by `catraca claim close`."""

import contextlib
import json
import tempfile
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse

from backoffice.adapters.claim_files import claim_csv
from backoffice.api.dependencies import ByClaimReader, Reads
from backoffice.api.wire import Code, CodeQuery, MonthQuery, Shown
from backoffice.application.claim_writing import annex_name
from backoffice.application.export_claim import checked_annex
from backoffice.application.inspect_claims import claim_of, list_claims, list_months
from backoffice.persistence.claims import ClaimKind, ClaimState

router = APIRouter(prefix="/v1", tags=["faturas"])

CSV = "text/csv; charset=utf-8"
_IN_MEMORY = 1 << 20
_CHUNK = 1 << 16


class MonthShown(Shown):
    """A month with boardings: DRAFT while it is open, CLOSED from its first closing on."""

    month: str
    state: ClaimState
    parts: int
    """How many closings it has had; those after the first are complementary."""


@router.get("/months")
def months(by: ByClaimReader, session: Reads) -> list[MonthShown]:
    """All months with boardings, oldest first."""
    return [MonthShown.model_validate(sheet) for sheet in list_months(session, by)]


class ClaimShown(Shown):
    """A closed claim at a glance; amounts in centavos."""

    number: str
    operator: str
    month: str
    kind: ClaimKind
    state: ClaimState
    closed_at: datetime
    closed_by: str
    total_cents: int
    annex_sha256: str


@router.get("/claims")
def list_all(
    by: ByClaimReader,
    session: Reads,
    month: MonthQuery = None,
    operator: CodeQuery = None,
) -> list[ClaimShown]:
    """Closed claims; an operator's people see their own."""
    found = list_claims(session, by, month=month, operator=operator)
    return [ClaimShown.model_validate(sheet) for sheet in found]


@router.get("/claims/{number}")
def one(number: Code, by: ByClaimReader, session: Reads) -> dict[str, Any]:
    """A claim as it was closed (docs/claims.md)."""
    document: dict[str, Any] = json.loads(claim_of(session, by, number).document)
    return document


def _file(content: bytes, media_type: str, name: str) -> Response:
    return Response(content, media_type=media_type, headers=_named(name))


def _named(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


@router.get(
    "/claims/{number}/json",
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}}},
)
def json_file(number: Code, by: ByClaimReader, session: Reads) -> Response:
    """The claim's JSON file, byte by byte as `catraca claim export` writes it."""
    claim = claim_of(session, by, number)
    return _file(claim.document.encode(), "application/json", f"fatura-{number}.json")


@router.get(
    "/claims/{number}/csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def csv_file(number: Code, by: ByClaimReader, session: Reads) -> Response:
    """The claim's CSV file for a spreadsheet."""
    claim = claim_of(session, by, number)
    return _file(claim_csv(json.loads(claim.document)), CSV, f"fatura-{number}.csv")


@router.get(
    "/claims/{number}/annex",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def annex_file(number: Code, by: ByClaimReader, session: Reads) -> Response:
    """The annex of billed and excluded boardings, whose SHA-256 stands in the claim."""
    claim = claim_of(session, by, number)
    with contextlib.ExitStack() as closing:
        whole = closing.enter_context(tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))
        # All of it before the first byte goes out, since it may be refused at its end.
        with contextlib.closing(checked_annex(session, claim)) as annex:
            for chunk in annex:
                whole.write(chunk)
        whole.seek(0)
        kept = closing.pop_all()

    def sent() -> Iterator[bytes]:
        with kept:
            while chunk := whole.read(_CHUNK):
                yield chunk

    return StreamingResponse(sent(), media_type=CSV, headers=_named(annex_name(number)))
