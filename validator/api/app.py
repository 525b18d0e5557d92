"""The HTTP application: FastAPI for everything but the boarding routes."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from typing import Literal

from fastapi import FastAPI, Request, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from validator.api.counts import Counts, CountsCollector
from validator.api.hot_path import HotPath
from validator.api.openapi import openapi_of
from validator.api.problems import RequestRefused, language_of, refusal_of
from validator.api.sync import add_sync
from validator.application.service import Service

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


class Live(BaseModel):
    """The process runs."""

    status: Literal["live"] = "live"


class Ready(BaseModel):
    """Whether boardings can be answered; `lacks` names what is missing: `hot-state`, `city`."""

    status: Literal["ready", "not-ready"]
    lacks: list[str]


def create_api(service: Service, lifespan: Lifespan) -> HotPath:
    """The whole application of one process."""
    counts = Counts()
    registry = CollectorRegistry()
    registry.register(CountsCollector(counts, service.gauges))
    app = FastAPI(
        title="Catraca: validador",
        version="1",
        description="Decide embarques. Textos em português, ou em inglês com `Accept-Language: en`.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        lifespan=lifespan,
    )
    app.openapi = lambda: openapi_of(app)  # type: ignore[method-assign]
    app.add_exception_handler(HTTPException, _http_problem)
    _add_health(app, service)
    add_sync(app, service, _respond)

    @app.get(
        "/metrics",
        tags=["operação"],
        summary="Métricas para o Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        return Response(generate_latest(registry), headers={"content-type": CONTENT_TYPE_LATEST})

    return HotPath(service, counts, app)


def _add_health(app: FastAPI, service: Service) -> None:
    @app.get("/v1/health/live", tags=["operação"], summary="O processo está de pé")
    async def live() -> Live:
        return Live()

    @app.get(
        "/v1/health/ready",
        tags=["operação"],
        summary="Embarques podem ser respondidos",
        responses={503: {"model": Ready, "description": "Not ready; `lacks` says why."}},
    )
    async def ready(response: Response) -> Ready:
        readiness = service.readiness()
        response.status_code = 200 if readiness.ready else 503
        return Ready(status="ready" if readiness.ready else "not-ready", lacks=list(readiness.lacks))


async def _http_problem(request: Request, error: Exception) -> Response:
    """Whatever FastAPI refuses by itself: an unknown address, or another method."""
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    allow = (error.headers or {}).get("Allow", "") if error.headers else ""
    details = (
        "O endereço não existe ou não aceita este método; veja /openapi.json.",
        "The address does not exist or does not take this method; see /openapi.json.",
    )
    slug = status.phrase.lower().replace(" ", "-")
    titles = ("Pedido não atendido", status.phrase)
    return _respond(request, RequestRefused(status, slug, titles, details, allow=allow))


def _respond(request: Request, refused: Exception) -> Response:
    accept = request.headers.get("accept-language")
    refusal = refusal_of(refused, language_of(accept.encode("latin-1") if accept else None))
    response = Response(refusal.body, refusal.status)
    for name, value in refusal.headers:
        response.headers[name.decode()] = value.decode()
    return response
