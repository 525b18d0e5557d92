"""What is refused before anything is decided, and what it says to send instead."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.validator.conftest import Service
from tests.validator.seeded_city import SeededCity, SeededDevice
from validator.records.codes import DeviceState

pytestmark = pytest.mark.hot_state

Change = Callable[[dict[str, Any]], Any]


def tap_of(city: SeededCity) -> tuple[SeededDevice, dict[str, Any]]:
    device, card = city.device(), city.student()
    return device, json.loads(device.tap(1, card.medium))


def put(**fields: object) -> Change:
    return lambda tap: tap.update(fields)


def drop(name: str) -> Change:
    return lambda tap: tap.pop(name)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (put(occurred_at=1772446502), "occurred_at"),
        (put(occurred_at=1772446502123), "occurred_at"),
        (put(occurred_at="1772446502"), "occurred_at"),
        (put(occurred_at="2026-03-02T07:15:02"), "occurred_at"),
        (put(occurred_at="2026-03-02 07:15:02-03:00"), "occurred_at"),
        (put(occurred_at="2026-03-02T07:15-03:00"), "occurred_at"),
        (put(occurred_at="20260302T071502Z"), "occurred_at"),
        (put(occurred_at="2026-W10-1T07:15:02Z"), "occurred_at"),
        (put(occurred_at="2026-03-02T07:15:60-03:00"), "occurred_at"),
        (put(occurred_at="2026-03-02T24:00:00-03:00"), "occurred_at"),
        (put(occurred_at="2026-02-30T07:15:02-03:00"), "occurred_at"),
        (put(occurred_at="2026-03-02T07:15:02,5-03:00"), "occurred_at"),
        (put(occurred_at="2026-03-02T07:15:02-0300"), "occurred_at"),
        (put(occurred_at="2026-03-02T07:15:02-15:00"), "occurred_at"),
        (put(occurred_at="1969-12-31T23:59:59Z"), "occurred_at"),
        (put(occurred_at="2101-01-01T00:00:00Z"), "occurred_at"),
        (put(occurred_at="２026-03-02T07:15:02Z"), "occurred_at"),
        (put(occurred_at=None), "occurred_at"),
        (put(boarding_id="1"), "boarding_id"),
        (put(boarding_id="00000000000000000000000000000001"), "boarding_id"),
        (put(boarding_id="{00000000-0000-0000-0000-000000000001}"), "boarding_id"),
        (put(boarding_id="urn:uuid:00000000-0000-0000-0000-000000000001"), "boarding_id"),
        (put(boarding_id="0000000g-0000-0000-0000-000000000001"), "boarding_id"),
        (put(continues="yesterday"), "continues"),
        (put(device_seq=0), "device_seq"),
        (put(device_seq=-1), "device_seq"),
        (put(device_seq="1"), "device_seq"),
        (put(device_seq=1.0), "device_seq"),
        (put(device_seq=True), "device_seq"),
        (put(device_seq=2**63), "device_seq"),
        (put(epoch=0), "epoch"),
        (put(epoch=2), "epoch"),
        (put(line=102), "line"),
        (put(line=""), "line"),
        (put(line="x" * 65), "line"),
        (put(line="1\u0000"), "line"),
        (put(vehicle="12\n07"), "vehicle"),
        (put(trip="\u2028"), "trip"),
        (put(extra=1), "$"),
        (drop("line"), "$"),
        (drop("medium"), "$"),
        (put(medium={}), "medium"),
        (put(medium={"kind": "face"}), "medium.kind"),
        (put(medium={"kind": "cash", "tendered_cents": "1000"}), "medium.tendered_cents"),
        (put(medium={"kind": "cash", "tendered_cents": 10.5}), "medium.tendered_cents"),
        (put(medium={"kind": "cash", "tendered_cents": -1}), "medium.tendered_cents"),
        (put(medium={"kind": "cash", "tendered_cents": 1, "token": "x"}), "medium"),
        (put(medium={"kind": "key", "category": "child"}), "medium.category"),
        (put(medium={"kind": "document", "category": "ELDER", "document": "123456789"}), "medium.document"),
        (put(medium={"kind": "document", "category": "ELDER", "document": "RG 12.345"}), "medium.document"),
        (put(medium={"kind": "uid", "uid": "04a1b2c3"}), "medium.uid"),
        (put(medium={"kind": "uid", "uid": "04A1B2C3D4"}), "medium.uid"),
        (put(medium={"kind": "uid", "uid": "04A1"}), "medium.uid"),
        (put(medium={"kind": "uid", "token": "04A1B2C3"}), "medium"),
    ],
)
async def test_a_tap_that_breaks_the_form_is_422_names_the_field_and_leaves_no_trace(
    city: SeededCity, service: Service, change: Change, field: str
):
    device, tap = tap_of(city)
    change(tap)

    answer = await service.board(device, json.dumps(tap).encode())

    assert answer.status_code == 422, answer.text
    problem = answer.json()
    assert problem["type"] == "urn:catraca:problem:malformed"
    assert (problem["field"], problem["status"]) == (field, 422)
    assert city.journal() == []
    assert not [key for key in city.redis.keys("*") if b"id:" in key or b"seen:" in key]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"tap"',
        b"{",
        b"\xef\xbb\xbf{}",
        b"\xff\xfe",
        b'{"a":' * 2000 + b"1" + b"}" * 2000,
        b'{"line":"\\ud800"}',
    ],
    ids=["empty", "null", "array", "text", "open", "byte order mark", "not utf-8", "deep", "half a letter"],
)
async def test_a_body_that_is_no_object_is_refused(city: SeededCity, service: Service, body: bytes):
    answer = await service.board(city.device(), body)

    assert answer.status_code in (413, 422)


@pytest.mark.parametrize(
    "twice",
    [
        '"line": "205", "line": "102"',
        '"line": "102", "lin\\u0065": "102"',
        '"trip": null, "trip": "1"',
        '"medium": {"kind": "cash", "tendered_cents": 1, "tendered_cents": 1000}',
        '"medium": {"kind": "cash", "kind": "cash", "tendered_cents": 1000}',
    ],
)
async def test_a_key_that_stands_twice_is_refused(city: SeededCity, service: Service, twice: str):
    """Readers differ in which of the two they believe; the digest covers both."""
    device, tap = tap_of(city)
    tap["medium"] = {"kind": "cash", "tendered_cents": 1000}
    name = twice.split('"')[1]
    tap.pop(name, None)
    body = json.dumps(tap)[:-1] + f", {twice}}}"

    answer = await service.board(device, body.encode())

    assert answer.status_code == 422
    assert "twice" in (await service.board(device, body.encode(), accept_language="en")).json()["detail"]


@pytest.mark.parametrize("name", ["entries", "entri\\u0065s", "epoch", "signature"])
async def test_a_key_that_stands_twice_in_a_batch_is_refused(city: SeededCity, service: Service, name: str):
    """Also the one whose texts are not looked through for keys, with the same value or written otherwise."""
    device = city.device()
    device.tap(1, city.student().medium)
    batch = device.batch()
    value = json.dumps(json.loads(batch)[name.replace("\\u0065", "e")])
    body = batch[:-1] + f', "{name}": {value}}}'.encode()

    answer = await service.batch(device, body, accept_language="en")

    assert answer.status_code == 422
    assert "twice" in answer.json()["detail"]
    assert (await service.batch(device)).status_code == 200


@pytest.mark.parametrize(
    "spelling", ['"trip":null', '"line":"1:02"', '"vehicle":"\\u0031207"', '"trip":"a:b:c"']
)
async def test_a_strange_but_valid_spelling_is_accepted(city: SeededCity, service: Service, spelling: str):
    device, tap = tap_of(city)
    tap.pop(spelling.split('"')[1], None)
    body = json.dumps(tap)[:-1] + f",{spelling}}}"

    answer = await service.board(device, body.encode())

    assert answer.status_code == 200, answer.text


# The request around the message


@pytest.mark.parametrize("path", ["/v1/boardings", "/v1/boardings/batch", "/v1/boardings/x/annul"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_another_method_is_405(service: Service, path: str, method: str):
    answer = await service.client.request(method, path)

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.headers["content-type"] == "application/problem+json"


async def test_an_unknown_address_is_a_problem_document(service: Service):
    answer = await service.client.get("/v1/boarding")

    assert (answer.status_code, answer.json()["type"]) == (404, "urn:catraca:problem:not-found")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/json; charset=latin-1"}, 415),
        ({"Content-Type": ""}, 415),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Content-Type": "Application/JSON"}, 200),
        ({"Catraca-Sent-At": "now"}, 422),
        ({"Catraca-Sent-At": "1772446502"}, 422),
        ({"Catraca-Sent-At": "2026-03-02T07:15:02"}, 422),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer val-1"}, 401),
        ({"Authorization": "Bearer val-1.wrong"}, 401),
        ({"Authorization": "Bearer nobody.a-secret-of-tests"}, 401),
        ({"Authorization": "Basic dmFsLTE6eA=="}, 401),
        ({"Authorization": "Bearer val-1{s0}.x"}, 401),
    ],
)
async def test_headers_are_judged(city: SeededCity, service: Service, headers: dict[str, str], status: int):
    device, tap = tap_of(city)

    answer = await service.board(device, json.dumps(tap).encode(), **headers)

    assert answer.status_code == status, answer.text
    assert (status == 401) is ("www-authenticate" in answer.headers)


@pytest.mark.parametrize("path", ["/v1/boardings", "/v1/boardings/batch"])
async def test_sent_at_is_mandatory(city: SeededCity, service: Service, path: str):
    device, tap = tap_of(city)

    answer = await service.client.post(
        path,
        content=json.dumps(tap).encode(),
        headers={"Authorization": device.authorization, "Content-Type": "application/json"},
    )

    assert (answer.status_code, answer.json()["field"]) == (422, "Catraca-Sent-At")


async def test_an_oversized_body_is_413_announced_or_not(city: SeededCity, service: Service):
    device, tap = tap_of(city)
    body = json.dumps(tap | {"trip": " " * 5000}).encode()

    async def pieces() -> Any:
        for start in range(0, len(body), 1000):
            yield body[start : start + 1000]

    announced = await service.board(device, body)
    streamed = await service.client.post(
        "/v1/boardings",
        content=pieces(),
        headers={
            "Authorization": device.authorization,
            "Content-Type": "application/json",
            "Catraca-Sent-At": "2026-03-02T07:15:02Z",
        },
    )

    assert (announced.status_code, streamed.status_code) == (413, 413)


# Devices


async def test_a_revoked_device_is_401_at_once(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    assert (await service.board(device, device.tap(1, card.medium))).status_code == 200
    city.device(state=int(DeviceState.REVOKED))

    answer = await service.board(device, device.tap(2, card.medium, vehicle="1208"))

    assert answer.status_code == 401
    assert len(city.journal()) == 1


async def test_a_new_token_replaces_the_old_one_at_once(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    assert (await service.board(device, device.tap(1, card.medium))).status_code == 200
    old = SeededDevice(device.id)
    device.token = f"{device.id}.another-secret"
    city.device()

    refused = await service.board(old, device.tap(2, card.medium, vehicle="1208"))
    again = await service.board(old, device.tap(3, card.medium, vehicle="1208"))
    answered = await service.board(device, device.tap(4, card.medium, vehicle="1208"))

    assert [refused.status_code, again.status_code, answered.status_code] == [401, 401, 200]


async def test_an_unknown_device_leaves_no_id_behind(city: SeededCity, service: Service):
    city.device()
    card = city.student()
    nobody = SeededDevice("nobody")

    answer = await service.board(nobody, nobody.tap(1, card.medium))

    assert answer.status_code == 401
    assert not [key for key in city.redis.keys("*") if b"id:" in key]


async def test_an_epoch_is_the_devices_own(city: SeededCity, service: Service):
    """An earlier epoch goes into a batch; a later one was never issued. Neither claims the boarding id."""
    device, card = city.device(epoch=2), city.student()
    late = json.loads(device.tap(1, card.medium))

    early = await service.board(device, json.dumps(late | {"epoch": 1}).encode(), accept_language="en")
    never = await service.board(device, json.dumps(late | {"epoch": 3}).encode(), accept_language="en")
    now = await service.board(device, json.dumps(late).encode())

    assert (early.status_code, never.status_code, now.status_code) == (422, 422, 200)
    assert "batch" in early.json()["detail"]
    assert "never issued" in never.json()["detail"]


async def test_a_newly_issued_epoch_counts_at_once(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))
    device.epoch = 2
    city.device()

    answer = await service.board(device, device.tap(2, card.medium, vehicle="1208"))

    assert answer.status_code == 200


# Languages


@pytest.mark.parametrize(
    ("accept", "message"),
    [
        (None, "Embarque liberado."),
        ("en", "Boarding accepted."),
        ("en-GB,en;q=0.9", "Boarding accepted."),
        ("pt-BR,pt;q=0.9,en;q=0.8", "Embarque liberado."),
        ("en;q=0.5, pt;q=0.4", "Boarding accepted."),
        ("en;q=zero", "Embarque liberado."),
        ("fr", "Embarque liberado."),
    ],
)
async def test_messages_are_in_portuguese_or_english(
    city: SeededCity, service: Service, accept: str | None, message: str
):
    device, tap = tap_of(city)
    headers = {} if accept is None else {"Accept-Language": accept}

    answer = await service.board(device, json.dumps(tap).encode(), **headers)

    assert answer.json()["message"] == message
    assert answer.json()["display"] == "MEIA 49 RESTAM"


async def test_a_problem_says_in_the_language_asked_what_to_send(city: SeededCity, service: Service):
    device, tap = tap_of(city)
    body = json.dumps(tap | {"device_seq": "1"}).encode()

    portuguese = (await service.board(device, body)).json()
    english = (await service.board(device, body, accept_language="en")).json()

    assert portuguese["title"] == "Mensagem inválida"
    assert portuguese["detail"] == "Em `device_seq`: esperado `int`, recebido `str`."
    assert english["detail"] == "At `device_seq`: Expected `int`, got `str`."


async def test_a_number_as_time_is_told_to_be_an_iso_text(city: SeededCity, service: Service):
    """H31: nobody guesses whether seconds or milliseconds were meant."""
    device, tap = tap_of(city)
    body = json.dumps(tap | {"occurred_at": 1772446502123}).encode()

    problem = (await service.board(device, body, accept_language="en")).json()

    assert "ISO 8601" in problem["detail"]


async def test_an_escaped_slash_parts_no_address(city: SeededCity, service: Service):
    """`/v1/boardings%2Fbatch` is no address of ours: a proxy that reads it otherwise must not be fooled."""
    device = city.device()

    answer = await service.post(device, "/v1/boardings%2Fbatch", device.batch())

    assert answer.status_code == 404
    assert city.redis.keys("*journal") == []
