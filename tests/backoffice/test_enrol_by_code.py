"""One-time codes: a device makes its key, shows the code once, and gets its name, token and epoch."""

import contextlib
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import uvicorn
from sqlalchemy import select

from backoffice.api.app import create_api
from backoffice.api.parts import ApiParts
from backoffice.application.enrol_by_code import IssuedCode, enrol_by_code, issue_code
from backoffice.application.errors import Conflict, Forbidden, Invalid, NotFound, RegisterError
from backoffice.application.register_devices import revoke_device
from backoffice.application.staff import as_administrator, hash_token
from backoffice.persistence.devices import DeviceKeyRow
from backoffice.persistence.migrate import is_current
from tests.backoffice.register_city import BOOK, NOW, RegisterCity
from tests.backoffice.register_http import Api
from tests.validator.served import free_port
from validator.onboard.city_store import CityStore
from validator.onboard.enrolment import EnrolmentFailed, enrol
from validator.onboard.journal import Journal
from validator.onboard.keys import new_key, public_half, sign
from validator.records.enrolment import EnrolmentAnswer, EnrolmentMessage, enrolment_message

KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))


def code_for(
    city: RegisterCity, device_id: str = "val-901", operator: str | None = "azul", **fields: object
) -> IssuedCode:
    with city.writing() as session:
        return issue_code(
            session,
            as_administrator(city.staff("admin")),
            NOW,
            city.chance,
            device_id=device_id,
            operator=operator,
            **fields,  # type: ignore[arg-type]
        )


def message(code: str, key: bytes = KEY) -> EnrolmentMessage:
    public_key = public_half(key)
    return EnrolmentMessage(code, public_key.hex(), sign(key, enrolment_message(code, public_key)).hex())


def install(city: RegisterCity, sent: EnrolmentMessage, at: datetime = NOW) -> EnrolmentAnswer:
    with city.writing() as session:
        return enrol_by_code(session, at, city.chance, city.signer, sent)


def test_a_new_device_is_enrolled_under_epoch_one(city: RegisterCity):
    answer = install(city, message(code_for(city).code))

    assert (answer.device_id, answer.epoch, answer.operator) == ("val-901", 1, "azul")
    assert answer.city_keys
    with city.writing() as session:
        key = session.scalars(select(DeviceKeyRow).where(DeviceKeyRow.device_id == "val-901")).one()
        assert (key.token_sha256, key.public_key) == (hash_token(answer.token), public_half(KEY))


def test_a_device_whose_answer_was_lost_gets_the_same_again(city: RegisterCity):
    sent = message(code_for(city).code)

    assert install(city, sent) == install(city, sent, NOW + timedelta(hours=1))


def test_a_code_is_good_for_one_key(city: RegisterCity):
    code = code_for(city).code
    install(city, message(code))

    with pytest.raises(Conflict, match="já foi usado"):
        install(city, message(code, OTHER_KEY))


def test_a_code_may_be_typed_as_people_type(city: RegisterCity):
    code = code_for(city).code
    first = install(city, message(code.lower().replace("-", " ")))

    assert install(city, message(code)) == first


def test_an_installed_device_gets_the_next_epoch_and_another_token(city: RegisterCity):
    first = install(city, message(code_for(city).code))
    old = message(code_for(city, operator=None).code, OTHER_KEY)
    second = install(city, old)
    third = install(city, message(code_for(city, operator=None).code, bytes(32)))

    assert [first.epoch, second.epoch, third.epoch] == [1, 2, 3]
    assert len({first.token, second.token, third.token}) == 3
    with pytest.raises(Conflict, match="já foi usado"):
        install(city, old)


def test_an_installed_device_is_told_the_vehicle_that_it_hangs_in(city: RegisterCity):
    """The code for it names none: only a new device is hung into a vehicle by its code."""
    first = install(city, message(code_for(city, vehicle="1201").code))
    second = install(city, message(code_for(city, operator=None).code, OTHER_KEY))

    assert (first.vehicle, second.vehicle) == ("1201", "1201")


@pytest.mark.parametrize("spoiled", ["key", "signature", "code"])
def test_who_does_not_hold_the_key_is_refused(city: RegisterCity, spoiled: str):
    sent = message(code_for(city).code)
    other = message("AAAA-BBBB", OTHER_KEY)
    changed = {
        "key": EnrolmentMessage(sent.code, other.public_key, sent.signature),
        "signature": EnrolmentMessage(sent.code, sent.public_key, other.signature),
        "code": EnrolmentMessage("AAAA-BBBB", sent.public_key, sent.signature),
    }[spoiled]

    with pytest.raises(Invalid, match="signature"):
        install(city, changed)


def test_an_unknown_and_an_expired_code_are_refused(city: RegisterCity):
    code = code_for(city, valid_for=timedelta(hours=1)).code

    with pytest.raises(Forbidden):
        install(city, message("AAAA-BBBB-CCCC-DDDD"))
    with pytest.raises(Forbidden):
        install(city, message(code), NOW + timedelta(hours=1))


def test_a_revoked_device_is_not_installed_again(city: RegisterCity):
    install(city, message(code_for(city).code))
    waiting = code_for(city, operator=None).code
    with city.writing() as session:
        revoke_device(
            session,
            as_administrator(city.staff("admin")),
            NOW,
            device_id="val-901",
            revoked_at=NOW,
            reason="furtado",
        )

    with pytest.raises(Conflict):
        install(city, message(waiting, OTHER_KEY))
    with pytest.raises(Conflict):
        code_for(city)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"operator": None}, Invalid),
        ({"operator": "nobody"}, NotFound),
        ({"vehicle": "nowhere"}, NotFound),
        ({"device_id": "NÃO SERVE"}, Invalid),
        ({"valid_for": timedelta(0)}, Invalid),
        ({"valid_for": timedelta(days=31)}, Invalid),
    ],
)
def test_a_code_that_could_install_nothing_is_not_issued(
    city: RegisterCity, fields: dict[str, object], error: type[RegisterError]
):
    with pytest.raises(error):
        code_for(city, **fields)  # type: ignore[arg-type]


def test_only_the_hash_of_a_code_is_stored(city: RegisterCity):
    code = code_for(city).code
    with city.writing() as session:
        rows = session.connection().exec_driver_sql("SELECT * FROM device_codes").all()

    assert code not in str(rows)
    assert code.replace("-", "") not in str(rows)


def test_over_http_an_administrator_issues_and_the_device_redeems(lite: Api):
    asked = {"device_id": "val-902", "operator": "azul", "hours": 24}
    issued = lite("admin", "POST", "/device-codes", asked, 201)
    lite("clerk", "POST", "/device-codes", asked, 403)
    sent = message(issued["code"])
    body = {"code": sent.code, "public_key": sent.public_key, "signature": sent.signature}

    answer = lite.client.post("/v1/device-enrolments", json=body)
    again = lite.client.post("/v1/device-enrolments", json=body)
    unknown = lite.client.post("/v1/device-enrolments", json=body | {"code": "X"})

    assert answer.status_code == 200, answer.text
    assert answer.json()["token"].startswith("val-902.")
    assert again.json() == answer.json()
    assert unknown.status_code == 422
    assert unknown.headers["content-type"] == "application/problem+json"


@contextlib.contextmanager
def office(city: RegisterCity) -> Iterator[str]:
    """The back office on a real socket."""
    app = create_api(ApiParts(city.engine, BOOK, city.signer, city.chance, lambda: NOW, is_current))
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", lifespan="off")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


def test_the_device_installs_itself_and_again_after_its_disk_was_lost(
    sqlite_city: RegisterCity, tmp_path: Path
):
    def new_device(folder: Path) -> tuple[Journal, CityStore]:
        return Journal(folder / "journal.sqlite"), CityStore(folder / "city.sqlite")

    with office(sqlite_city) as address:
        journal, store = new_device(tmp_path / "first")
        first = enrol(code_for(sqlite_city).code, address, journal, store, new_key, NOW)
        with pytest.raises(EnrolmentFailed, match="403"):
            enrol("AAAA-BBBB-CCCC-DDDD", address, journal, store, new_key, NOW)
        other_journal, other_store = new_device(tmp_path / "second")
        code = code_for(sqlite_city, operator=None).code
        second = enrol(code, address, other_journal, other_store, new_key, NOW)
        trusted = other_store.trusted(1, NOW)

    assert (first.epoch, second.epoch) == (1, 2)
    assert journal.installation() == first
    assert other_journal.installation() == second
    assert trusted is not None
    for one in (journal, store, other_journal, other_store):
        one.close()


def test_an_enrolment_without_an_answer_keeps_its_key(tmp_path: Path):
    journal, store = Journal(tmp_path / "journal.sqlite"), CityStore(tmp_path / "city.sqlite")
    made: list[bytes] = []

    def make() -> bytes:
        made.append(new_key())
        return made[-1]

    for _ in range(2):
        with pytest.raises(EnrolmentFailed, match="mesmo código"):
            enrol("AAAA", "http://127.0.0.1:1", journal, store, make, NOW)

    assert len(made) == 1
    journal.close()
    store.close()
