"""A clerk reads Portuguese and a program's maker may ask for English: no problem document mixes the two."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.backoffice.register_city import make_city
from tests.backoffice.register_http import Api, app_of

ENGLISH = re.compile(
    r"\b(the|is|are|not|should|must|valid|invalid|value|input|field|required|unable|string|integer|greater|less|than"
    r"|expected|error|or|and|with|parsing|mismatch|type|too|long|short|send|there|no such|missing|unknown)\b",
    re.IGNORECASE,
)
PORTUGUESE = re.compile(
    r"[ãõçáéíóúâêô]|\b(envie|falta|este|esta|campo|confira|informe|use|valor|de|um|uma|para|com|se)\b",
    re.IGNORECASE,
)
VALUES = (None, "", -1, [], "x" * 2_000, "\0", 10**30, "2026-02-30", "2026-13-01T00:00:00Z")
BODIES = (b"", b"{", b"\xff", b"[]", b'{"a": 1, "a": 2}')
CODES = re.compile(r"'[^']*'|\([A-Z_]+\)|`[^`]*`|\b[a-z]+_[a-z_]+\b|^[a-z]+: |/docs|errors", re.MULTILINE)
"""What is no language: words of the wire, in quotes, in brackets, or before a colon."""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder: Path = tmp_path_factory.mktemp("words")
    city = make_city(f"sqlite:///{folder / 'catraca.sqlite'}", folder)
    with TestClient(app_of(city), raise_server_exceptions=False) as client:
        yield Api(city, client)
    city.engine.dispose()


def answers(api: Api, language: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What all addresses answer to all kinds of wrong requests."""
    document = api.client.get("/openapi.json").json()
    seen: set[str] = set()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            headers = {
                "Authorization": f"Bearer {allowed(api, method, path)}",
                "Accept-Language": language,
            }
            for request in requests(document, path, operation, seen):
                answer = api.client.request(method, headers=headers, **request)
                if answer.status_code >= 400:
                    yield f"{method} {path}", answer.json()
    yield "nobody", api.client.get("/v1/acts", headers={"Accept-Language": language}).json()
    yield "nowhere", api.client.get("/v1/nada", headers={"Accept-Language": language}).json()
    yield "method", api.client.delete("/v1/acts", headers={"Accept-Language": language}).json()


def allowed(api: Api, method: str, path: str) -> str:
    """The token of somebody who may do it."""
    for login in ("clerk", "manager", "city", "admin"):
        token = api.city.tokens[login]
        headers = {"Authorization": f"Bearer {token}"}
        if api.client.request(method, f"{re.sub('{[^}]+}', '1', path)}", headers=headers).status_code != 403:
            break
    return token


def requests(
    document: dict[str, Any], path: str, operation: dict[str, Any], seen: set[str]
) -> Iterator[dict[str, Any]]:
    for given in ("1", "abc", "9" * 20):
        yield {"url": re.sub(r"\{[^}]+\}", given, path)}
    url = re.sub(r"\{[^}]+\}", "1", path)
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "query":
            for value in ("", "abc", "9" * 20):
                yield {"url": url, "params": {parameter["name"]: value}}
    if "requestBody" in operation:
        reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        fields = (
            {}
            if reference in seen
            else document["components"]["schemas"][reference.rsplit("/")[-1]]["properties"]
        )
        seen.add(reference)
        for body in BODIES:
            yield {"url": url, "content": body}
        for name in fields:
            yield from ({"url": url, "json": {name: value}} for value in VALUES)


def sentences(document: dict[str, Any]) -> list[str]:
    return [
        document["title"],
        document["detail"],
        *(found["message"] for found in document.get("errors", [])),
    ]


@pytest.mark.parametrize(("language", "other"), [("pt-BR", ENGLISH), ("en", PORTUGUESE)])
def test_no_problem_document_mixes_languages(api: Api, language: str, other: re.Pattern[str]):
    mixed = {
        (sentence, where)
        for where, document in answers(api, language)
        for sentence in sentences(document)
        if other.search(CODES.sub("", sentence))
    }

    assert dict(sorted(mixed)) == {}


@pytest.mark.parametrize(
    "body",
    [
        b'{"kind": "ORDER", "number": "1", "number": "2", "signed_on": "2026-02-01"}',
        b'{"kind": "ORDER", "kind": "ORDER", "number": "1", "signed_on": "2026-02-01"}',
        b'{"kind": "ORDER", "number": "1", "signed_on": "2026-02-01", "note": {"a": 1, "a": 1}}',
        b'{"kind": "ORDER", "num\\u0062er": "1", "number": "2", "signed_on": "2026-02-01"}',
    ],
)
def test_a_key_that_is_sent_twice_is_refused(api: Api, body: bytes):
    before = len(api("city", "GET", "/acts"))
    headers = {"Authorization": f"Bearer {api.city.tokens['city']}", "Content-Type": "application/json"}

    answer = api.client.post("/v1/acts", content=body, headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (422, "REPEATED_KEY")
    assert "aparece duas vezes" in answer.json()["detail"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(api("city", "GET", "/acts")) == before


def test_schemas_have_names_of_their_own(api: Api):
    names = api.client.get("/openapi.json").json()["components"]["schemas"]

    assert [name for name in names if "__" in name] == []
