"""Problem documents (RFC 9457), in Portuguese or English: what happened, and what to send instead."""

from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus

import msgspec

from validator.application.answers import REASONS, ReasonAnswer
from validator.application.errors import (
    BoardingError,
    BoardingIdConflict,
    DeviceUnknown,
    Malformed,
    NotServed,
)

Headers = list[tuple[bytes, bytes]]


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One problem. `type` names its kind for programs, `detail` says what to send instead, `field` where it is."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    reason: ReasonAnswer | None = None


class RequestRefused(Exception):
    """An HTTP request that is refused before anybody reads its message."""

    def __init__(
        self,
        status: HTTPStatus,
        slug: str,
        titles: tuple[str, str],
        details: tuple[str, str],
        *,
        allow: str = "",
    ) -> None:
        super().__init__(details[1])
        self.status = status
        self.slug = slug
        self.titles = titles
        self.details = details
        self.allow = allow


@dataclass(frozen=True)
class Refusal:
    """A problem ready to send."""

    status: int
    headers: Headers
    body: bytes


_TITLES = {
    "malformed": ("Mensagem inválida", "Malformed message"),
    "device-unknown": ("Validador não autorizado", "Device not authorised"),
    "boarding-id-conflict": ("Identificador de embarque já usado", "Boarding id already used"),
    "hot-state-away": ("Estado quente indisponível", "Hot state unavailable"),
    "hot-state-full": ("Estado quente sem memória", "Hot state out of memory"),
    "hot-state-busy": ("Titular em disputa", "Holder contended"),
    "shard-fenced": ("Estado quente em reconstrução", "Hot state being rebuilt"),
    "usage-lost": ("Uso do titular em reconstrução", "Holder's usage being rebuilt"),
    "register-behind": ("Cadastro ainda não publicado", "Register not published yet"),
    "boarding-pending": ("Embarque ainda não registrado", "Boarding not recorded yet"),
    "city-missing": ("Cidade sem regras ou tarifas", "City without rules or fares"),
    "damaged": ("Registro danificado", "Damaged record"),
    "overloaded": ("Serviço no limite", "Service at its limit"),
    "internal": ("Erro interno", "Internal error"),
}
_INTERNAL = (
    "Ocorreu um erro interno. Envie os mesmos bytes de novo.",
    "An internal error happened. Send the same bytes again.",
)

_encode = msgspec.json.Encoder().encode


def language_of(accept: bytes | None) -> str:
    """`en` where an Accept-Language prefers English to Portuguese, else `pt-BR`."""
    if not accept or b"en" not in accept.lower():
        return "pt-BR"
    best = {"en": 0.0, "pt": 0.0}
    for part in accept.decode("latin-1").split(","):
        name, _, parameter = part.partition(";")
        base = name.strip().lower().split("-")[0]
        if base in best:
            best[base] = max(best[base], _quality(parameter))
    return "en" if best["en"] > best["pt"] else "pt-BR"


def _quality(parameter: str) -> float:
    key, _, value = parameter.strip().partition("=")
    if key.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0


def refusal_of(error: Exception, language: str) -> Refusal:
    """The problem document of an error; the only place where errors become HTTP."""
    if isinstance(error, RequestRefused):
        headers = [(b"allow", error.allow.encode())] if error.allow else []
        return _refusal(int(error.status), error.slug, error.titles, error.details, headers, language)
    if isinstance(error, NotServed):
        return _not_served(error.slug, error.pt, error.en, error.retry_after_s, language)
    if not isinstance(error, BoardingError):
        return _refusal(500, "internal", _TITLES["internal"], _INTERNAL, [], language)
    headers = []
    field: str | None = None
    reason: ReasonAnswer | None = None
    status = 500
    if isinstance(error, Malformed):
        status, field = 422, error.field
    elif isinstance(error, DeviceUnknown):
        status, headers = 401, [(b"www-authenticate", b'Bearer realm="catraca"')]
    elif isinstance(error, BoardingIdConflict):
        status, reason = 409, REASONS[error.reason]
    details = (error.pt, error.en)
    return _refusal(status, error.slug, _TITLES[error.slug], details, headers, language, field, reason)


@lru_cache(maxsize=256)
def _not_served(slug: str, pt: str, en: str, retry_after_s: int, language: str) -> Refusal:
    """Made once for each error: an overload is when there is least time to write the same document again."""
    headers = [(b"retry-after", b"%d" % retry_after_s)]
    return _refusal(503, slug, _TITLES[slug], (pt, en), headers, language)


def _refusal(
    status: int,
    slug: str,
    titles: tuple[str, str],
    details: tuple[str, str],
    headers: Headers,
    language: str,
    field: str | None = None,
    reason: ReasonAnswer | None = None,
) -> Refusal:
    chosen = 1 if language == "en" else 0
    body = _encode(
        Problem(f"urn:catraca:problem:{slug}", titles[chosen], status, details[chosen], field, reason)
    )
    return Refusal(
        status,
        [
            (b"content-type", b"application/problem+json"),
            (b"content-language", language.encode()),
            (b"content-length", b"%d" % len(body)),
            *headers,
        ],
        body,
    )
