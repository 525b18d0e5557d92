"""Problem documents (RFC 9457) in Portuguese or English, by Accept-Language. No personal data, whatever was sent."""

import re
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from backoffice.api.wire import Wrong
from backoffice.application.constraints import conflict_of
from backoffice.application.errors import Conflict, Forbidden, Invalid, NotBuilt, NotFound, RegisterError
from backoffice.application.field_words import field_fault
from backoffice.application.sell_passes import SaleRefused

_log = structlog.get_logger("catraca.api")

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 2

_STATUS: tuple[tuple[type[RegisterError], int], ...] = (
    (NotFound, 404),
    (Invalid, 422),
    (Conflict, 409),
    (SaleRefused, 409),
    (Forbidden, 403),
    (NotBuilt, 501),
)

_TITLES = {
    400: ("Pedido malformado", "Malformed request"),
    401: ("Identifique-se", "Not authenticated"),
    403: ("Não permitido", "Forbidden"),
    404: ("Não encontrado", "Not found"),
    405: ("Método não aceito neste endereço", "Method not allowed"),
    409: ("Em conflito com o registro", "Conflict"),
    413: ("Pedido grande demais", "Content too large"),
    415: ("Envie JSON", "Unsupported media type"),
    422: ("Dados inválidos", "Invalid data"),
    500: ("Erro interno", "Internal error"),
    501: ("Ainda não existe", "Not built yet"),
    503: ("Indisponível no momento", "Unavailable"),
}


class FieldProblem(BaseModel):
    """One field that is wrong."""

    field: str = Field(description="Caminho do campo, como `person.birth_date`.")
    message: str = Field(description="O que enviar.")


class Problem(BaseModel):
    """A problem document."""

    type: str = Field("about:blank", description="Sempre about:blank.")
    title: str = Field(description="O tipo de problema, por extenso.")
    status: int = Field(description="O código HTTP.")
    detail: str = Field(description="O que houve e o que fazer.")
    code: str = Field(description="Palavra fixa, para programas.")
    errors: list[FieldProblem] = Field([], description="Os campos inválidos.")
    remaining: int | None = Field(None, description="Passes que ainda cabem hoje, em recusa de venda.")
    next_on: str | None = Field(None, description="Dia em que a quantidade pedida cabe, em recusa de venda.")


class NotAuthenticated(Exception):
    """No token, or one that is nobody's."""


def add_problems(app: FastAPI) -> None:
    """Answer every failure with a problem document."""
    app.add_exception_handler(RegisterError, _refused)
    app.add_exception_handler(NotAuthenticated, _unknown)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(IntegrityError, _contradicted)
    app.add_exception_handler(OperationalError, _away)
    app.add_exception_handler(PoolTimeout, _away)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _broken)


def wants_english(request: Request) -> bool:
    """Whether the client prefers English; Portuguese wins a draw and is the default."""
    weights = {"pt": 0.0, "en": 0.0}
    for part in request.headers.get("accept-language", "").lower().split(","):
        found = re.fullmatch(r"\s*(pt|en)(-[a-z0-9]+)?\s*(?:;\s*q\s*=\s*([0-9.]{1,5}))?\s*", part, re.ASCII)
        if found is not None:
            try:
                weight = float(found[3]) if found[3] else 1.0
            except ValueError:
                continue
            weights[found[1]] = max(weights[found[1]], weight)
    return weights["en"] > weights["pt"]


def problem(
    request: Request,
    status: int,
    detail: tuple[str, str],
    *,
    code: str,
    more: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    """A problem document; `detail` is the sentence in Portuguese and in English."""
    english = wants_english(request)
    body = {
        "type": "about:blank",
        "title": _TITLES.get(status, ("Erro", "Error"))[english],
        "status": status,
        "detail": detail[english],
        "code": code,
        **(more or {}),
    }
    language = {"Content-Language": "en" if english else "pt-BR", "Vary": "Accept-Language"}
    return JSONResponse(body, status, {**language, **(headers or {})}, media_type=MEDIA_TYPE)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RegisterError)
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 409)
    more: dict[str, Any] = {}
    if isinstance(error, SaleRefused):
        more = {"remaining": error.remaining, "next_on": error.next_on and error.next_on.isoformat()}
    return problem(request, status, (error.sentence, error.english), code=error.code, more=more)


async def _unknown(request: Request, _: Exception) -> JSONResponse:
    detail = (
        "envie o cabeçalho Authorization: Bearer com a sua chave de acesso; quem não tem peça à administração",
        "send Authorization: Bearer with your token",
    )
    return problem(request, 401, detail, code="NOT_AUTHENTICATED", headers={"WWW-Authenticate": "Bearer"})


async def _malformed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    english = wants_english(request)
    errors = [
        {"field": _path(found), "message": _message(found, english=english)} for found in error.errors()
    ]
    detail = ("corrija os campos indicados em errors", "correct the fields named in errors")
    return problem(request, 422, detail, code="INVALID", more={"errors": errors})


def _path(found: Any) -> str:
    """The field; the whole body where it is no JSON, whose location is then a place in the text."""
    location: tuple[int | str, ...] = found["loc"]
    if found["type"] == "json_invalid":
        return str(location[0])
    return ".".join(str(part) for part in location[1:]) or str(location[0])


def _message(found: Any, *, english: bool) -> str:
    """What to send instead. The value that was sent is never repeated: it may be personal."""
    kind, context = found["type"], found.get("ctx", {})
    said = context.get("error")
    if kind == "value_error" and isinstance(said, Wrong):
        return said.english if english else said.sentence
    return str(found["msg"]) if english else field_fault(kind, context)


async def _contradicted(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, IntegrityError)
    return await _refused(request, conflict_of(error))


async def _away(request: Request, error: Exception) -> JSONResponse:
    _log.warning("database_away", kind=type(error).__name__)
    detail = (
        "o banco de dados não respondeu; nada foi gravado; tente de novo em instantes",
        "the database did not answer; nothing was written; try again shortly",
    )
    return problem(request, 503, detail, code="DATABASE_AWAY", headers={"Retry-After": str(RETRY_AFTER_S)})


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return http_problem(request, error)


def http_problem(request: Request, error: HTTPException) -> JSONResponse:
    """The problem document of an HTTP error."""
    details = {
        404: ("este endereço não existe; veja /docs", "no such address; see /docs"),
        405: ("este endereço não aceita este método; veja /docs", "method not allowed; see /docs"),
        413: ("o pedido é grande demais", "the request is too large"),
        400: ("o corpo do pedido não é JSON em UTF-8", "the body is not JSON in UTF-8"),
    }
    status = error.status_code
    detail = details.get(status, ("o pedido não pôde ser atendido", "the request could not be served"))
    headers = dict(error.headers or {})
    return problem(request, status, detail, code=f"HTTP_{status}", headers=headers)


async def _broken(request: Request, error: Exception) -> JSONResponse:
    _log.error("request_failed", method=request.method, exc_info=error)
    detail = (
        "houve um erro no sistema; nada foi gravado; avise a administração",
        "the system failed; nothing was written; tell the administration",
    )
    return problem(request, 500, detail, code="INTERNAL_ERROR")
