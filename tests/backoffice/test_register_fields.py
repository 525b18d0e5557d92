"""What the HTTP API takes: a field of the wrong kind is named, a body that is no JSON or too large is refused."""

from typing import Any

import pytest

from tests.backoffice.register_http import Api


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"cents": "455"}, "cents"),
        ({"cents": 4.5}, "cents"),
        ({"cents": True}, "cents"),
        ({"cents": 2**40}, "cents"),
        ({"first_day": 20260401}, "first_day"),
        ({"first_day": "2026-04-31"}, "first_day"),
        ({"first_day": "2026-04-01T00:00:00"}, "first_day"),
        ({"network": "urban"}, "network"),
        ({"act_id": 0}, "act_id"),
        ({"surprise": 1}, "surprise"),
        ({"medium": "PIX"}, "medium"),
        ({"line": 101}, "line"),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(lite: Api, change: dict[str, Any], field: str):
    fare = {"network": "URBAN", "cents": 500, "first_day": "2026-04-01", "act_id": 1, **change}

    problem = lite("city", "POST", "/fares", fare, 422)

    assert [error["field"] for error in problem["errors"]] == [field]
    assert len(lite("city", "GET", "/fares", code=200)) == 2


def test_a_missing_field_is_named_in_portuguese(lite: Api):
    problem = lite("city", "POST", "/acts", {"kind": "LAW"}, 422)

    assert {error["field"]: error["message"] for error in problem["errors"]} == {
        "number": "falta este campo",
        "signed_on": "falta este campo",
    }


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b'"x"', b"", b"\xff\xfe", b'{"kind": NaN}'])
def test_a_body_that_is_no_object_is_refused(lite: Api, body: bytes):
    headers = {"Authorization": f"Bearer {lite.city.tokens['city']}", "Content-Type": "application/json"}

    answer = lite.client.post("/v1/acts", content=body, headers=headers)

    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_that_is_too_large_is_refused(lite: Api):
    problem = lite(
        "city", "POST", "/acts", {"kind": "LAW", "number": "9" * 300_000, "signed_on": "2026-01-01"}, 413
    )

    assert problem["status"] == 413
    headers = {"Authorization": f"Bearer {lite.city.tokens['city']}", "Content-Type": "application/json"}
    chunked = lite.client.post("/v1/acts", content=(b"9" * 65_536 for _ in range(8)), headers=headers)
    assert (chunked.status_code, chunked.json()["code"]) == (413, "HTTP_413")
