"""The back office's HTTP API: permissions, strict fields, problem documents, and a commit that precedes the answer."""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, select
from structlog.testing import capture_logs

from backoffice.api.app import create_api
from backoffice.api.parts import ApiParts
from backoffice.persistence.base import reading
from backoffice.persistence.migrate import is_current
from backoffice.persistence.schools import SchoolRow
from backoffice.persistence.users import AuditRow
from tests.backoffice.register_city import BOOK, CPF, NOW, OTHER_CPF, RegisterCity
from tests.backoffice.register_http import Api
from validator.domain.vocabulary import Category

KEY = "ab" * 32


def student_by_http(api: Api) -> int:
    city = api.city
    holder = api(
        "clerk",
        "POST",
        "/holders",
        {"name": "Estudante", "birth_date": "2010-05-04", "guardian_name": "Mãe", "guardian_cpf": CPF},
        201,
    )["id"]
    request = api(
        "clerk",
        "POST",
        f"/holders/{holder}/right-requests",
        {
            "category": "STUDENT_50",
            "first_day": "2026-02-01",
            "evidence": ["IDENTITY", "ADDRESS", "ENROLMENT", "NEED"],
            "seen_on": "2026-03-02",
            "school_id": city.public_school,
        },
        201,
    )["id"]
    assert api("manager", "GET", "/right-requests", code=200)[0]["may_approve"]
    api("manager", "POST", f"/right-requests/{request}/approval", code=201)
    api(
        "school",
        "POST",
        f"/holders/{holder}/enrolments",
        {
            "school_id": city.public_school,
            "first_day": "2026-02-01",
            "last_day": "2026-12-20",
            "passes_per_day": 2,
            "identity_seen_on": "2026-03-02",
            "address_seen_on": "2026-03-02",
        },
        201,
    )
    return holder


def test_a_student_from_registration_to_passes(api: Api):
    holder = student_by_http(api)

    card = api("clerk", "POST", f"/holders/{holder}/cards", {}, 201)
    sale = api(
        "clerk",
        "POST",
        f"/holders/{holder}/sales",
        {"product": "STUDENT", "network": "URBAN", "units": 50, "plan": "MONTH"},
        201,
    )
    sheet = api("clerk", "GET", f"/holders/{holder}", code=200)

    assert re.fullmatch("[A-Z2-7]{132}", card["token"])
    assert sale["total_cents"] == 50 * 227
    assert sale["window_until"] == "2026-04-02"
    assert [right["category"] for right in sheet["rights"]] == ["STUDENT_50"]
    assert sheet["cards"] == [
        {"number": card["number"], "kind": "QR", "issue": 1, "state": "LIVE", "uids": []}
    ]
    assert sheet["purses"] == [{"purse": "STUDENT", "bought": 50}]


def test_a_refused_sale_says_why_in_the_language_asked_for(api: Api):
    holder = student_by_http(api)
    order = {"product": "STUDENT", "network": "URBAN", "units": 51, "plan": "MONTH"}

    portuguese = api("clerk", "POST", f"/holders/{holder}/sales", order, 409)
    english = api("clerk", "POST", f"/holders/{holder}/sales", order, 409, **{"Accept-Language": "en"})

    assert portuguese["code"] == english["code"] == "WINDOW_FULL"
    assert "Hoje ainda cabem 50 passes" in portuguese["detail"]
    assert portuguese["remaining"] == 50
    assert english["title"] == "Conflict"


def test_the_city_is_set_up_over_http(api: Api):
    act = api("city", "POST", "/acts", {"kind": "ORDER", "number": "12/2026", "signed_on": "2026-02-01"}, 201)
    fare = {"network": "URBAN", "cents": 500, "first_day": "2026-04-01", "act_id": act["id"]}
    api("city", "POST", "/fares", fare, 201)
    api("city", "POST", "/fares", fare, 409)
    api(
        "city",
        "POST",
        "/operators",
        {"code": "verde", "name": "Verde", "document": "11.222.333/0001-81"},
        201,
    )
    api("city", "POST", "/lines", {"code": "202", "name": "Sul", "network": "URBAN"}, 201)
    run = {"line": "202", "operator": "verde", "from_day": "2026-03-01"}
    api("city", "POST", "/line-operators", run, 204)
    api("city", "POST", "/vehicles", {"number": "77", "operator": "verde", "from_day": "2026-03-01"}, 201)
    device = {"device_id": "v-77", "operator": "verde", "public_key": KEY, "vehicle": "77"}
    enrolled = api("admin", "POST", "/devices", device, 201)
    again = api("admin", "POST", "/devices/v-77/epochs", {"public_key": "cd" * 32}, 201)
    api(
        "admin",
        "POST",
        "/devices/v-77/revocation",
        {"revoked_at": "2026-03-02T08:00:00-03:00", "reason": "furto"},
        204,
    )

    assert enrolled["token"].startswith("v-77.")
    assert again["epoch"] == 2
    lines = {line["code"]: line["operators"] for line in api("auditor", "GET", "/lines", code=200)}
    assert lines["202"] == ["verde"]
    assert {f["cents"] for f in api("auditor", "GET", "/fares", code=200)} == {455, 700, 500}
    (shown,) = api("city", "GET", "/devices", code=200)
    assert (shown["epoch"], shown["vehicle"]) == (2, "77")
    assert shown["revoked_at"] is not None


def test_an_operators_people_see_and_declare_their_own_only(api: Api):
    broke = {"vehicle": "1201", "from_at": "2026-03-02T08:00:00-03:00"}
    api("finance", "POST", "/breakdowns", broke, 201)
    api("finance", "POST", "/breakdowns", {**broke, "vehicle": "3301"}, 403)
    api("finance", "POST", "/breakdowns", broke, 409)

    assert [o["code"] for o in api("finance", "GET", "/operators", code=200)] == ["azul"]
    assert [v["number"] for v in api("finance", "GET", "/vehicles", code=200)] == ["1201"]
    assert len(api("city", "GET", "/breakdowns", code=200)) == 1
    api("finance", "POST", "/repairs", {"vehicle": "1201", "until_at": "2026-03-02T08:30:00-03:00"}, 204)
    assert api("city", "GET", "/breakdowns", code=200) == []


def test_a_persons_document_as_operator_is_not_shown(lite: Api):
    documents = {o["code"]: o["document"] for o in lite("auditor", "GET", "/operators", code=200)}

    assert documents == {"azul": "12ABC34501DE35", "rural": None}


def test_nobody_enters_without_a_token(lite: Api):
    for headers in ({}, {"Authorization": "Bearer nope"}, {"Authorization": "Basic eDp5"}):
        answer = lite.client.get("/v1/fares", headers=headers)

        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["code"] == "NOT_AUTHENTICATED"


def test_a_user_whose_time_is_over_is_nobody(lite: Api):
    lite("admin", "POST", "/users/clerk/end", {"valid_until": NOW.isoformat()}, 204)

    lite("clerk", "GET", "/fares", code=401)


def test_a_renewed_token_voids_the_old_one(lite: Api):
    renewed = lite("admin", "POST", "/users/clerk/token", code=201)

    lite("clerk", "GET", "/fares", code=401)
    lite.city.tokens["clerk"] = renewed["token"]
    lite("clerk", "GET", "/fares", code=200)


@pytest.mark.parametrize(
    ("login", "method", "path", "body"),
    [
        ("clerk", "POST", "/acts", {"kind": "LAW", "number": "1", "signed_on": "2026-01-01"}),
        ("finance", "POST", "/holders", {"name": "X"}),
        ("auditor", "POST", "/holders/search", {"name": "Titular"}),
        ("auditor", "GET", "/holders/1", None),
        ("city", "POST", "/holders/1/cards", {}),
        ("school", "POST", "/holders/1/sales", {"product": "VT", "network": "URBAN", "units": 1}),
        ("clerk", "POST", "/right-requests/1/approval", None),
        ("clerk", "GET", "/audit", None),
        ("clerk", "POST", "/users", {"login": "x", "name": "X", "role": "CITY"}),
        ("city", "POST", "/users", {"login": "x", "name": "X", "role": "DESK_MANAGER", "desk": "centro"}),
        ("city", "POST", "/users/manager/token", None),
        ("city", "POST", "/users/manager/end", {"valid_until": NOW.isoformat()}),
        ("admin", "POST", "/right-requests/1/approval", None),
        ("admin", "POST", "/holders", {"name": "X"}),
        ("clerk", "POST", "/devices", {"device_id": "v", "operator": "azul", "public_key": KEY}),
        ("clerk", "POST", "/breakdowns", {"vehicle": "1201", "from_at": "2026-03-02T08:00:00-03:00"}),
    ],
)
def test_each_role_does_its_own_work_only(lite: Api, login: str, method: str, path: str, body: Any):
    lite.city.holder()

    assert lite(login, method, path, body, 403)["code"] == "FORBIDDEN"


def test_special_education_is_a_neutral_label_to_the_desk(lite: Api):
    holder = lite.city.holder()
    lite.city.right(holder, Category.SPECIAL_ED, school=lite.city.special_school)

    clerk = lite("clerk", "GET", f"/holders/{holder}", code=200)["rights"][0]
    manager = lite("manager", "GET", f"/holders/{holder}", code=200)["rights"][0]

    assert (clerk["category"], clerk["school_id"]) == ("GRATUIDADE", None)
    assert (manager["category"], manager["school_id"]) == ("SPECIAL_ED", lite.city.special_school)


def test_every_look_is_logged_and_the_log_has_no_personal_data(lite: Api):
    holder = lite.city.holder("Nome Secreto", cpf=OTHER_CPF)
    lite("clerk", "GET", f"/holders/{holder}", code=200)
    lite("clerk", "POST", "/holders/search", {"cpf": OTHER_CPF}, 200)

    log = lite("auditor", "GET", "/audit?limit=1000", code=200)

    actions = [entry["action"] for entry in log]
    assert actions[-2:] == ["holder.look", "holder.find"]
    assert "Secreto" not in str(log)
    assert "11144477735" not in str(log)


def test_a_school_sees_its_own_pupils_only(lite: Api):
    stranger = lite.city.holder("Aluno de Outra")
    pupil = lite.city.holder("Aluno Próprio")
    lite.city.enrolment(pupil)

    lite("school", "GET", f"/holders/{stranger}", code=403)
    lite("school", "GET", f"/holders/{pupil}", code=200)
    found = lite("school", "POST", "/holders/search", {"name": "Aluno"}, 200)
    assert [person["id"] for person in found] == [pupil]
    body = {
        "school_id": lite.city.state_school,
        "first_day": "2026-02-01",
        "last_day": "2026-12-20",
        "passes_per_day": 2,
    }
    lite("school", "POST", f"/holders/{pupil}/enrolments", body, 403)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/holders/0", 422),
        ("/holders/x", 422),
        ("/holders/99999", 404),
        ("/holders/99999999999999999999", 422),
    ],
)
def test_numbers_in_addresses_are_checked(lite: Api, path: str, code: int):
    lite("clerk", "GET", path, code=code)


@pytest.mark.parametrize("path", ["/holders/1/merge", "/holders/1/refunds"])
def test_what_is_reserved_says_that_it_is_not_there(lite: Api, path: str):
    assert lite("clerk", "POST", path, code=501)["code"] == "NOT_BUILT"


def test_an_unknown_address_is_a_problem_document(lite: Api):
    assert lite("clerk", "GET", "/nothing", code=404)["code"] == "HTTP_404"
    assert lite("clerk", "DELETE", "/fares", code=405)["code"] == "HTTP_405"


def test_a_commit_that_fails_never_answers_2xx(api: Api):
    def refuse(_: object) -> None:
        raise RuntimeError("the disk is full")

    body = {"name": "Escola que não fica", "network": "PRIVATE"}
    event.listen(api.city.engine, "commit", refuse)
    try:
        problem = api("city", "POST", "/schools", body)
    finally:
        event.remove(api.city.engine, "commit", refuse)

    assert problem["status"] == 500
    with reading(api.city.engine) as session:
        assert session.scalar(select(SchoolRow.id).where(SchoolRow.name == body["name"])) is None


def test_a_refused_request_leaves_no_trace_in_the_log(lite: Api):
    with reading(lite.city.engine) as session:
        before = len(session.scalars(select(AuditRow.id)).all())

    lite("city", "POST", "/schools", {"name": " ", "network": "PRIVATE"}, 422)

    with reading(lite.city.engine) as session:
        assert len(session.scalars(select(AuditRow.id)).all()) == before


def test_health_tells_whether_the_tables_are_there(lite: Api):
    assert lite.client.get("/v1/health/live").json() == {"status": "live"}
    assert lite.client.get("/v1/health/ready").json() == {"status": "ready"}


def test_a_token_works_only_while_its_user_is_valid(sqlite_city: RegisterCity):
    parts = ApiParts(
        sqlite_city.engine, BOOK, sqlite_city.signer, sqlite_city.chance, lambda: NOW, is_current
    )
    early = replace(parts, clock=lambda: NOW - timedelta(days=1))
    with TestClient(create_api(early)) as client:
        headers = {"Authorization": f"Bearer {sqlite_city.tokens['city']}"}

        assert client.get("/v1/fares", headers=headers).status_code == 401


def test_the_openapi_document_names_every_address(lite: Api):
    document = lite.client.get("/openapi.json").json()

    assert "/v1/holders/{holder_id}/sales" in document["paths"]
    assert all("{cpf}" not in path and "{name}" not in path for path in document["paths"])


def test_a_request_is_one_log_line_without_what_stood_in_the_address(lite: Api):
    holder = lite.city.holder("Nome Secreto", cpf=OTHER_CPF)

    with capture_logs() as lines:
        lite("clerk", "GET", f"/holders/{holder}", code=200)

    (line,) = [line for line in lines if line["event"] == "request"]
    assert (line["method"], line["route"], line["status"]) == ("GET", "/v1/holders/{holder_id}", 200)
    assert "Secreto" not in str(lines)
