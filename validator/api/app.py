"""The HTTP application: FastAPI for everything but the boarding routes."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from fastapi import FastAPI, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from validator.api.counts import Counts, CountsCollector
from validator.api.hot_path import HotPath
from validator.application.service import Service

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def create_api(service: Service, lifespan: Lifespan) -> HotPath:
    """The whole application of one process."""
    counts = Counts()
    registry = CollectorRegistry()
    registry.register(CountsCollector(counts, service.gauges))
    app = FastAPI(title="Catraca: validador", version="1", docs_url=None, redoc_url=None, lifespan=lifespan)

    @app.get("/v1/health/live")
    async def live() -> dict[str, str]:
        return {"status": "live"}

    @app.get("/v1/health/ready")
    async def ready(response: Response) -> dict[str, Any]:
        readiness = service.readiness()
        response.status_code = 200 if readiness.ready else 503
        return {"status": "ready" if readiness.ready else "not-ready", "lacks": list(readiness.lacks)}

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return HotPath(service, counts, app)
