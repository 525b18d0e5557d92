"""Claims over HTTP: by role and operator, byte by byte, and what is not there yet says so."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from backoffice.api.app import create_api
from backoffice.api.parts import ApiParts
from backoffice.application.export_claim import export_claims
from backoffice.application.staff import as_claim_reader, hash_token
from backoffice.persistence.migrate import is_current
from tests.backoffice.claims_city import BOOK, CLOSING, LONG_AGO, ClaimsCity, at, make_claims_city
from tests.backoffice.claims_month import MARCH, a_month, close, close_rest, closer
from tests.backoffice.register_city import CountedChance

ROLES = {
    "city": ("CITY", {}),
    "auditor": ("AUDITOR", {}),
    "azul": ("OPERATOR_FINANCE", {"operator_id": 1}),
    "desk": ("DESK_MANAGER", {"desk": "centro"}),
    "admin": ("ADMINISTRATOR", {}),
}


@pytest.fixture
def city(database_url: str) -> Iterator[ClaimsCity]:
    made = make_claims_city(database_url)
    for number, (login, (role, more)) in enumerate(ROLES.items(), start=11):
        made.register(
            "users",
            id=number,
            login=login,
            name=login,
            role=role,
            token_sha256=hash_token(login),
            valid_from=LONG_AGO,
            recorded_at=LONG_AGO,
            **more,
        )
    a_month(made)
    made.store()
    yield made
    made.engine.dispose()


@pytest.fixture
def client(city: ClaimsCity) -> Iterator[TestClient]:
    parts = ApiParts(city.engine, BOOK, None, CountedChance(), lambda: CLOSING, is_current)  # type: ignore[arg-type]
    with TestClient(create_api(parts), raise_server_exceptions=False) as made:
        yield made


def as_(login: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {login}"}


def test_an_open_month_is_a_draft_and_a_closed_one_has_claims(city: ClaimsCity, client: TestClient) -> None:
    before = client.get("/v1/months", headers=as_("auditor")).json()
    close(city)

    assert before == [{"month": "2026-03", "state": "DRAFT", "parts": 0}]
    assert client.get("/v1/months", headers=as_("auditor")).json() == [
        {"month": "2026-03", "state": "CLOSED", "parts": 1}
    ]
    listed = client.get("/v1/claims?month=2026-03", headers=as_("city")).json()
    assert [(one["number"], one["state"], one["closed_by"]) for one in listed] == [
        ("azul-2026-0001", "CLOSED", "clerk"),
        ("verde-2026-0001", "CLOSED", "clerk"),
    ]
    assert client.get("/v1/claims?month=2026-02", headers=as_("city")).json() == []


def test_an_operator_sees_its_own_claims_and_nothing_of_others(city: ClaimsCity, client: TestClient) -> None:
    close(city)

    listed = client.get("/v1/claims", headers=as_("azul")).json()

    assert [one["operator"] for one in listed] == ["azul"]
    assert client.get("/v1/claims?operator=verde", headers=as_("azul")).json() == []
    assert client.get("/v1/claims/azul-2026-0001", headers=as_("azul")).status_code == 200
    for ending in ("", "/json", "/csv", "/annex"):
        answer = client.get(f"/v1/claims/verde-2026-0001{ending}", headers=as_("azul"))
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("login", ["desk", "admin"])
def test_desks_and_administration_read_no_claim(city: ClaimsCity, client: TestClient, login: str) -> None:
    close(city)

    for path in ("months", "claims", "claims/azul-2026-0001", "claims/azul-2026-0001/annex"):
        assert client.get(f"/v1/{path}", headers=as_(login)).status_code == 403
    assert client.get("/v1/claims").status_code == 401


def test_files_over_http_are_those_of_the_command(
    city: ClaimsCity, client: TestClient, tmp_path: Path
) -> None:
    close(city)
    written = export_claims(city.engine, as_claim_reader(closer(city)), MARCH, tmp_path)[0]

    got = {
        kind: client.get(f"/v1/claims/{written.number}/{kind}", headers=as_("auditor"))
        for kind in ("json", "csv", "annex")
    }

    assert got["json"].content == written.json.read_bytes()
    assert got["csv"].content == written.csv.read_bytes()
    assert got["annex"].content == written.annex.read_bytes()
    assert written.annex.name in got["annex"].headers["content-disposition"]
    document = client.get(f"/v1/claims/{written.number}", headers=as_("city")).json()
    assert document == json.loads(written.json.read_bytes())
    assert document["annex"]["sha256"] == hashlib.sha256(got["annex"].content).hexdigest()


def test_an_annex_that_is_not_the_frozen_one_is_refused_whole(city: ClaimsCity, client: TestClient) -> None:
    close(city)
    with city.engine.execution_options(catraca_writes=True).begin() as connection:
        connection.execute(text("UPDATE rated_boardings SET line = 'X' WHERE operator = 'azul'"))

    answer = client.get("/v1/claims/azul-2026-0001/annex", headers=as_("city"))

    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")


@pytest.mark.parametrize("number", ["azul", "azul-2026-9999", "azul-2026-00x1", "AZUL-2026-0001", "ç"])
def test_a_number_that_is_no_claims_is_not_found(client: TestClient, number: str) -> None:
    answer = client.get(f"/v1/claims/{number}", headers=as_("city"))

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("month", ["2026-13", "2026-3", "março", "2026-03-01"])
def test_a_month_is_written_with_year_and_two_digits(client: TestClient, month: str) -> None:
    answer = client.get("/v1/claims", params={"month": month}, headers=as_("city"))

    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID")
    assert answer.json()["errors"][0]["field"] == "month"


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("claims/azul-2026-0001/send", "a entrega da fatura"),
        ("claims/azul-2026-0001/attest", "o ateste da fatura"),
        ("claims/azul-2026-0001/cut", "a glosa da fatura"),
        ("claims/azul-2026-0001/pay", "o pagamento da fatura"),
        ("months/2026-03/closings", "o fechamento por HTTP"),
    ],
)
def test_what_is_not_built_says_so(client: TestClient, path: str, what: str) -> None:
    answer = client.post(f"/v1/{path}", headers=as_("city"))

    assert (answer.status_code, answer.json()["code"]) == (501, "NOT_BUILT")
    assert answer.json()["detail"].startswith(what)
    assert client.post(f"/v1/{path}").status_code == 401


def test_a_complementary_claim_stands_beside_the_first(city: ClaimsCity, client: TestClient) -> None:
    close(city)
    received = at("2026-04-04 06:00")
    city.cash(at("2026-03-31 07:00"), offline=True, received=received)
    city.store()
    close_rest(city, at("2026-04-10 09:00"))

    listed = client.get("/v1/claims?operator=azul", headers=as_("city")).json()

    assert [(one["number"], one["kind"]) for one in listed] == [
        ("azul-2026-0001", "MAIN"),
        ("azul-2026-0002", "COMPLEMENTARY"),
    ]
