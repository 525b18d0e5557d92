"""`GET /v1/sync`: the signed bundle of rules, fares, lines, keys and lists, offered and handed out in chunks."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response
from pydantic import BaseModel, Field

from validator.api.problems import RequestRefused
from validator.application.errors import BoardingError
from validator.application.service import Service
from validator.application.sync import chunk_to, offer_to
from validator.records.packing import RecordError

Respond = Callable[[Request, Exception], Response]
"""Makes a problem document of an error."""

_PROBLEM: dict[str, Any] = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_NOT_BUILT = RequestRefused(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "bundle-missing",
    ("Nenhuma lista publicada", "No bundle published"),
    (
        "Ainda não há pacote assinado. Decida on-line e pergunte de novo em um minuto.",
        "There is no signed bundle yet. Decide online and ask again in a minute.",
    ),
)
_GONE = RequestRefused(
    HTTPStatus.NOT_FOUND,
    "chunk-unknown",
    ("Pedaço desconhecido", "Unknown chunk"),
    (
        "Nenhum pacote vigente tem este pedaço. Peça a oferta de novo em /v1/sync.",
        "No current bundle has this chunk. Ask for the offer again at /v1/sync.",
    ),
)


class SyncOffer(BaseModel):
    """A signed offer. `signature` is Ed25519, by the city's key `key_id`, over the exact text of `offer`."""

    offer: str = Field(description="JSON como texto; assinado byte a byte. Veja docs/device-protocol.md.")
    key_id: int = Field(ge=0, le=65_535)
    signature: str = Field(pattern="^[0-9a-f]{128}$")
    server_time: str = Field(json_schema_extra={"format": "date-time"})


def add_sync(app: FastAPI, service: Service, respond: Respond) -> None:
    """Add the two routes."""
    problems: dict[int | str, dict[str, Any]] = {
        401: {"description": "Unknown or revoked device.", "content": _PROBLEM},
        422: {"description": "The parameter breaks its form.", "content": _PROBLEM},
        503: {"description": "No bundle yet, or the hot state is away.", "content": _PROBLEM},
    }

    @app.get("/v1/sync", tags=["listas"], summary="Oferta assinada das listas", responses=problems)
    async def sync(
        request: Request,
        have: Annotated[
            int, Query(ge=0, le=2**53, description="Versão que o validador tem; 0 sem nenhuma.")
        ] = 0,
    ) -> SyncOffer:
        try:
            answer = await offer_to(
                _authorization(request), have, at=service.clock(), hot=service.hot, gate=service.gate
            )
        except (BoardingError, RecordError) as error:
            return respond(request, error)  # type: ignore[return-value]
        if answer is None:
            return respond(request, _NOT_BUILT)  # type: ignore[return-value]
        return SyncOffer(
            offer=answer.offer,
            key_id=answer.key_id,
            signature=answer.signature,
            server_time=answer.server_time,
        )

    @app.get(
        "/v1/sync/chunks/{digest}",
        tags=["listas"],
        summary="Pedaço de uma lista, pelo seu SHA-256",
        response_class=Response,
        responses={
            200: {
                "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
            },
            404: {"description": "No current bundle names this chunk.", "content": _PROBLEM},
            **problems,
        },
    )
    async def chunk(request: Request, digest: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]) -> Response:
        try:
            piece = await chunk_to(_authorization(request), digest, hot=service.hot, gate=service.gate)
        except BoardingError as error:
            return respond(request, error)
        if piece is None:
            return respond(request, _GONE)
        return Response(piece, media_type="application/octet-stream")


def _authorization(request: Request) -> bytes:
    return request.headers.get("authorization", "").encode("latin-1")
