"""The HTTP API of the back office: a router per noun, put together."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI

from backoffice.api import (
    admin_routes,
    city_routes,
    claim_routes,
    desk_routes,
    device_routes,
    enrolment_routes,
    fleet_routes,
    health,
    metrics,
    people_routes,
    quarantine_routes,
    reserved_routes,
)
from backoffice.api.body_limit import BodyLimit
from backoffice.api.json_keys import refuse_repeated_keys
from backoffice.api.openapi import describe_problems
from backoffice.api.parts import ApiParts
from backoffice.api.problems import add_problems
from backoffice.api.request_log import RequestLog

MAX_BODY_BYTES = 256 * 1024


def create_api(parts: ApiParts) -> FastAPI:
    """The application of one process."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        parts.engine.dispose()

    app = FastAPI(
        title="Catraca: retaguarda",
        description="Registro de titulares, direitos, cartões, passes, operadores e validadores; faturas de reembolso.",
        version="1",
        lifespan=lifespan,
        dependencies=[Depends(refuse_repeated_keys)],
        redirect_slashes=False,
    )
    app.state.parts = parts
    add_problems(app)
    app.add_middleware(BodyLimit, most_bytes=MAX_BODY_BYTES)
    app.add_middleware(RequestLog, elapsed=time.perf_counter)
    for module in (
        health,
        metrics,
        city_routes,
        fleet_routes,
        device_routes,
        enrolment_routes,
        people_routes,
        desk_routes,
        admin_routes,
        quarantine_routes,
        claim_routes,
        reserved_routes,
    ):
        app.include_router(module.router)
    describe_problems(app)
    return app
