"""The HTTP API of the back office: a router per noun, put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

from backoffice.api import (
    admin_routes,
    city_routes,
    desk_routes,
    device_routes,
    fleet_routes,
    health,
    metrics,
    people_routes,
    reserved_routes,
)
from backoffice.api.body_limit import BodyLimit
from backoffice.api.parts import ApiParts
from backoffice.api.problems import Problem, add_problems

MAX_BODY_BYTES = 256 * 1024

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Problem, "description": "Recusado; o documento diz por quê."},
    "5XX": {"model": Problem, "description": "Falhou; nada foi gravado."},
}


def create_api(parts: ApiParts) -> FastAPI:
    """The application of one process."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        parts.engine.dispose()

    app = FastAPI(
        title="Catraca: retaguarda",
        description="Registro de titulares, direitos, cartões, passes, operadores e validadores.",
        version="1",
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.parts = parts
    add_problems(app)
    app.add_middleware(BodyLimit, most_bytes=MAX_BODY_BYTES)
    for module in (
        health,
        metrics,
        city_routes,
        fleet_routes,
        device_routes,
        people_routes,
        desk_routes,
        admin_routes,
        reserved_routes,
    ):
        app.include_router(module.router, responses=_PROBLEMS)
    return app
