"""Instants and days at the ends of the calendar: refused with what to do, so that no later reading fails on them."""

import pytest

from tests.backoffice.register_http import KEY, Api

ENDS = [
    "0001-01-01T00:00:00+14:00",
    "0001-01-01T00:00:00Z",
    "1899-12-31T23:59:59Z",
    "2201-01-01T00:00:00Z",
    "9999-12-31T23:59:59-14:00",
]


def test_an_instant_outside_every_sensible_year_is_refused(lite: Api):
    """SQLite and PostgreSQL keep such an instant; whoever reads it would fail for ever, the whole city with it."""
    device = {"device_id": "v-77", "operator": "azul", "public_key": KEY}
    lite("admin", "POST", "/devices", device, 201)
    lite("city", "POST", "/city-keys", code=201)

    for instant in ENDS:
        for login, path, body in (
            ("finance", "/breakdowns", {"vehicle": "1201", "from_at": instant}),
            ("admin", "/devices/v-77/revocation", {"revoked_at": instant, "reason": "furto"}),
            ("admin", "/devices/v-77/assignments", {"vehicle": "1201", "from_at": instant}),
            ("admin", "/users/clerk/end", {"valid_until": instant}),
            ("admin", "/users", {"login": "x", "name": "x", "role": "AUDITOR", "valid_until": instant}),
            ("city", "/city-keys/1/retire", {"until": instant}),
        ):
            (wrong,) = lite(login, "POST", path, body, 422)["errors"]
            assert "confira o instante" in wrong["message"]
    for login, path in (("city", "/breakdowns"), ("city", "/devices"), ("admin", "/users")):
        lite(login, "GET", path, code=200)


@pytest.mark.parametrize("day", ["0001-01-01", "1899-12-31", "2201-01-01", "9999-12-31"])
def test_a_day_outside_every_sensible_year_is_refused(lite: Api, day: str):
    fare = {"network": "URBAN", "cents": 500, "first_day": "1991-01-01", "act_id": lite.city.act}
    right = lite.city.right(lite.city.holder(), school=lite.city.public_school)

    lite("city", "POST", "/fares", fare | {"last_day": day}, 422)
    lite("city", "POST", "/fares", fare | {"first_day": day}, 422)
    lite("clerk", "POST", f"/rights/{right}/suspension", {"first_day": day, "reason": "r"}, 422)
    until = {"first_day": "2026-03-02", "until": day, "reason": "r"}
    lite("clerk", "POST", f"/rights/{right}/suspension", until, 422)


LARGEST = 2**53
"""The largest number that an address or a field may hold, far beyond what a small column can."""

Request = tuple[str, str, str, dict[str, object] | None]

NOBODYS: list[Request] = [
    ("clerk", "GET", f"/holders/{LARGEST}", None),
    ("clerk", "POST", f"/holders/{LARGEST}/cards", {}),
    ("clerk", "POST", f"/rights/{LARGEST}/ending", {"ended_on": "2026-03-03", "reason": "r"}),
    ("manager", "POST", f"/right-requests/{LARGEST}/approval", None),
    ("manager", "POST", f"/holders/{LARGEST}/death/withdrawal", None),
    ("clerk", "POST", f"/cards/{2**48 - 1}/block", {"reason": "r"}),
    ("clerk", "POST", "/holders", {"name": "A", "guardian_id": LARGEST}),
    ("city", "POST", "/city-keys/65535/retire", {"until": "2026-03-03T00:00:00Z"}),
    ("city", "POST", f"/city-keys/{LARGEST}/retire", {"until": "2026-03-03T00:00:00Z"}),
    ("city", "POST", f"/schools/{LARGEST}/years", {"year": 2026, "school_days": 200}),
    ("city", "POST", "/operators/azul/end", {"ended_on": "2026-04-01", "act_id": LARGEST}),
    ("admin", "POST", "/users", {"login": "x", "name": "x", "role": "SCHOOL", "school_id": LARGEST}),
    ("admin", "POST", "/users", {"login": "x", "name": "x", "role": "AUDITOR", "holder_id": LARGEST}),
]
ZERO_BYTES: list[Request] = [
    ("city", "GET", "/claims/%00", None),
    ("city", "GET", "/claims?operator=%00", None),
    ("city", "GET", "/claims?month=%00", None),
    ("city", "POST", "/operators/a%00/end", {"ended_on": "2026-04-01", "act_id": 1}),
    ("city", "POST", "/devices/%00/revocation", {"revoked_at": "2026-03-02T00:00:00Z", "reason": "r"}),
    ("city", "POST", "/devices/%00/assignments", {"vehicle": None, "from_at": "2026-03-02T00:00:00Z"}),
    ("city", "POST", "/devices/%00/epochs", {"public_key": KEY}),
    ("admin", "POST", "/users/%00/end", {"valid_until": "2026-03-03T00:00:00Z"}),
    ("admin", "POST", "/users/clerk%00/token", None),
]


def statuses(api: Api, requests: list[Request]) -> dict[str, int]:
    """The status of each request, by its address and body."""
    found = {}
    for login, method, path, body in requests:
        sent = {"Authorization": f"Bearer {api.city.tokens[login]}"}
        answer = api.client.request(method, f"/v1{path}", json=body, headers=sent)
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        found[f"{path} {body}"] = answer.status_code
    return found


def test_a_number_that_is_nobodys_is_refused_and_breaks_nothing(api: Api):
    wrong = {
        asked: status for asked, status in statuses(api, NOBODYS).items() if status not in (404, 409, 422)
    }

    assert wrong == {}


def test_a_zero_byte_in_an_address_reaches_no_database(api: Api):
    """PostgreSQL holds no such text, and says so with an error of ours."""
    assert {asked: status for asked, status in statuses(api, ZERO_BYTES).items() if status != 422} == {}
