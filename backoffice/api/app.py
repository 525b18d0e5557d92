"""The HTTP API of the back office: a router per noun, put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from backoffice.api import health
from backoffice.api.parts import ApiParts
from backoffice.api.problems import add_problems

MAX_BODY_BYTES = 256 * 1024


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
        max_body_size=MAX_BODY_BYTES,
        redirect_slashes=False,
    )
    app.state.parts = parts
    add_problems(app)
    for module in (health,):
        app.include_router(module.router)
    return app
