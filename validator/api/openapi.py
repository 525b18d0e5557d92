"""The OpenAPI document: what FastAPI knows of its own routes, and the boarding routes from the very types they use."""

from typing import Any

import msgspec
from fastapi import FastAPI

from validator.api.problems import Problem
from validator.application.answers import AnnulAnswer, BoardingAnswer, RecordedAnswer
from validator.application.batch_answers import BatchAnswer
from validator.records.device_messages import (
    MAX_BATCH_BYTES,
    MAX_BATCH_ENTRIES,
    MAX_TAP_BYTES,
    AnnulMessage,
    BatchMessage,
    BoardingId,
    InstantText,
    ReleaseMessage,
    TapMessage,
)

Json = dict[str, Any]

WIRE_TYPES = (
    TapMessage,
    ReleaseMessage,
    AnnulMessage,
    BatchMessage,
    BoardingAnswer,
    RecordedAnswer,
    AnnulAnswer,
    BatchAnswer,
    Problem,
)
"""Every message that goes over the boarding routes."""

_REF = "#/components/schemas/{name}"
_TAG = "embarque"

_PROBLEMS = {
    401: "The device is unknown or revoked; send the token that the register issued.",
    409: "The boarding id was used for another tap; the first one stands. Send a new id for a new tap.",
    408: "The body did not arrive in time; send it again.",
    413: "The body is over the limit.",
    415: "Send application/json in UTF-8, without Content-Encoding.",
    422: "The message breaks its form, or its epoch is not the device's; nothing was recorded.",
    500: "An internal error; send the same bytes again.",
    503: "No answer now (hot state away, being rebuilt or contended; service at its limit). Wait for Retry-After and "
    "send the same bytes again, or decide by the policy of the category.",
}


def wire_schemas() -> Json:
    """The schemas of the wire, as the decoder applies them."""
    _, components = msgspec.json.schema_components(WIRE_TYPES, ref_template=_REF)
    return components


def openapi_of(app: FastAPI) -> Json:
    """The document of the whole service."""
    document: Json = FastAPI.openapi(app)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(wire_schemas())
    document["components"]["securitySchemes"] = {
        "device": {
            "type": "http",
            "scheme": "bearer",
            "description": "The device's token, <device id>.<secret>, as issued by the register.",
        }
    }
    document["paths"].update(_boarding_paths())
    return document


def _boarding_paths() -> Json:
    annulled = {
        "name": "boarding_id",
        "in": "path",
        "required": True,
        "description": "The boarding whose turnstile did not turn.",
        "schema": msgspec.json.schema(BoardingId),
    }
    return {
        "/v1/boardings": {
            "post": _operation(
                "board",
                "Embarcar",
                "One tap, one answer; a refusal is an answer too. The same id with the same bytes gets the same "
                f"answer. At most {MAX_TAP_BYTES} bytes.",
                "TapMessage",
                {"anyOf": [_reference("BoardingAnswer"), _reference("RecordedAnswer")]},
                conflict=True,
            )
        },
        "/v1/boardings/batch": {
            "post": _operation(
                "upload",
                "Enviar lote",
                "What a device journalled, in order: each entry is the exact JSON text of a TapMessage, a "
                "ReleaseMessage or an AnnulMessage. An entry that breaks its form is kept as a rejected row and fails "
                f"nobody else. At most {MAX_BATCH_ENTRIES} entries and {MAX_BATCH_BYTES} bytes.",
                "BatchMessage",
                _reference("BatchAnswer"),
            )
        },
        "/v1/boardings/{boarding_id}/annul": {
            "parameters": [annulled],
            "post": _operation(
                "annul",
                "Anular",
                "The turnstile did not turn. A late attempt is recorded and refused.",
                "AnnulMessage",
                _reference("AnnulAnswer"),
            ),
        },
    }


def _operation(
    name: str, summary: str, description: str, request: str, answer: Json, *, conflict: bool = False
) -> Json:
    problems = {code: text for code, text in _PROBLEMS.items() if code != 409 or conflict}
    return {
        "operationId": name,
        "tags": [_TAG],
        "summary": summary,
        "description": description,
        "security": [{"device": []}],
        "parameters": [
            {
                "name": "Catraca-Sent-At",
                "in": "header",
                "required": True,
                "description": "The device's clock when it sends the request.",
                "schema": msgspec.json.schema(InstantText),
            },
            {
                "name": "Accept-Language",
                "in": "header",
                "required": False,
                "description": "`en` for English; Portuguese otherwise.",
                "schema": {"type": "string"},
            },
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _reference(request)}}},
        "responses": {
            "200": {"description": "Answered.", "content": {"application/json": {"schema": answer}}},
            **{str(code): _problem(text, code) for code, text in problems.items()},
        },
    }


def _problem(text: str, code: int) -> Json:
    described: Json = {
        "description": text,
        "content": {"application/problem+json": {"schema": _reference("Problem")}},
    }
    if code == 503:
        described["headers"] = {
            "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}
        }
    return described


def _reference(name: str) -> Json:
    return {"$ref": _REF.format(name=name)}
