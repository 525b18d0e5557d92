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


@pytest.mark.parametrize("instant", ENDS)
def test_an_instant_outside_every_sensible_year_is_refused(lite: Api, instant: str):
    """SQLite and PostgreSQL keep such an instant; whoever reads it would fail for ever, the whole city with it."""
    device = {"device_id": "v-77", "operator": "azul", "public_key": KEY}
    lite("admin", "POST", "/devices", device, 201)
    lite("city", "POST", "/city-keys", code=201)

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
