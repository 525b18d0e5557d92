"""`GET /v1/sync`: the signed bundle of rules, fares, lines, keys and lists, offered and handed out in chunks."""

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response
from pydantic import BaseModel, Field

from validator.api.problems import RequestRefused
from validator.application.errors import BoardingError, Malformed
from validator.application.service import Service
from validator.application.sync import chunk_to, offer_to
from validator.records.packing import RecordError

Respond = Callable[[Request, Exception], Response]
"""Makes a problem document of an error."""

_HAVE = re.compile(r"[0-9]{1,15}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
# Shown in the document and checked below, so that a refusal is a problem document like all others.
Have = Annotated[
    str,
    Query(
        description="Versão que o validador tem; 0 sem nenhuma.",
        json_schema_extra={"pattern": "^[0-9]{1,15}$"},
    ),
]
Digest = Annotated[str, Path(json_schema_extra={"pattern": "^[0-9a-f]{64}$"})]

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
    async def sync(request: Request, have: Have = "0") -> SyncOffer:
        try:
            answer = await offer_to(
                _authorization(request),
                read_have(have),
                at=service.clock(),
                hot=service.hot,
                gate=service.gate,
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
    async def chunk(request: Request, digest: Digest) -> Response:
        try:
            piece = await chunk_to(
                _authorization(request), read_digest(digest), hot=service.hot, gate=service.gate
            )
        except BoardingError as error:
            return respond(request, error)
        if piece is None:
            return respond(request, _GONE)
        return Response(piece, media_type="application/octet-stream")


def read_have(text: str) -> int:
    """The version that a device has.

    Raises:
        Malformed: no number of at most 15 digits.
    """
    if _HAVE.fullmatch(text) is None:
        raise Malformed(
            "have",
            "Envie em `have` a versão que o validador tem, em algarismos; 0 sem nenhuma.",
            "Send in `have` the version that the device has, in digits; 0 for none.",
        )
    return int(text)


def read_digest(text: str) -> str:
    """The digest of a chunk.

    Raises:
        Malformed: no 64 lower-case hexadecimal digits.
    """
    if _DIGEST.fullmatch(text) is None:
        raise Malformed(
            "digest",
            "O pedaço é o seu SHA-256: 64 algarismos hexadecimais minúsculos.",
            "A chunk is its SHA-256: 64 lower-case hexadecimal digits.",
        )
    return text


def _authorization(request: Request) -> bytes:
    return request.headers.get("authorization", "").encode("latin-1")
