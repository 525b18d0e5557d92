"""Numbers for Prometheus: how far journal and outbox are behind. No personal data."""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from backoffice.api.dependencies import Parts
from backoffice.application.ingest_lag import as_metrics

router = APIRouter(tags=["saúde"])


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(parts: Parts) -> PlainTextResponse:
    """Numbers in Prometheus' text form."""
    return PlainTextResponse(as_metrics(parts.gauges()), media_type="text/plain; version=0.0.4")
