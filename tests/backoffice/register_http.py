"""A client of the register's HTTP API that speaks for the people of the test city."""

from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from backoffice.api.app import create_api
from backoffice.api.parts import ApiParts
from backoffice.persistence.migrate import is_current
from tests.backoffice.register_city import BOOK, NOW, RegisterCity

KEY = "ab" * 32


def app_of(city: RegisterCity) -> FastAPI:
    return create_api(ApiParts(city.engine, BOOK, city.signer, city.chance, lambda: NOW, is_current))


class Api:
    """A client that speaks for the people of the city."""

    def __init__(self, city: RegisterCity, client: TestClient) -> None:
        self.city = city
        self.client = client

    def __call__(
        self, login: str, method: str, path: str, body: Any = None, code: int | None = None, **headers: str
    ) -> Any:
        sent = {"Authorization": f"Bearer {self.city.tokens[login]}", **headers}
        answer = self.client.request(method, f"/v1{path}", json=body, headers=sent)
        if code is not None:
            assert answer.status_code == code, answer.text
            if code >= 400:
                assert answer.headers["content-type"] == "application/problem+json"
        return answer.json() if answer.content else None
