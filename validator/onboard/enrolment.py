"""Installation: the device makes its key, shows a one-time code, and is given its name, its token and its epoch."""

from collections.abc import Callable
from datetime import datetime

import msgspec

from validator.onboard.city_store import CityStore
from validator.onboard.journal import Installation, Journal
from validator.onboard.keys import public_half, sign
from validator.onboard.link import HttpAnswer, Link, LinkDown
from validator.records.enrolment import EnrolmentAnswer, enrolment_message

ENROLMENTS = "/v1/device-enrolments"
_TIMEOUT_S = 30.0

_answer = msgspec.json.Decoder(EnrolmentAnswer)
_encode = msgspec.json.Encoder().encode


class EnrolmentFailed(RuntimeError):
    """The back office did not enrol the device; the message says why and what to do."""


def enrol(
    code: str,
    address: str,
    journal: Journal,
    store: CityStore,
    new_key: Callable[[], bytes],
    at: datetime,
) -> Installation:
    """Enrol with a one-time code; the new epoch begins in the journal, whose earlier ones stay.

    If no answer comes, the same code and key may be sent again: whoever holds the key gets the same epoch.

    Args:
        code: As the back office gave it.
        address: Of the back office.
        journal: The device's journal.
        store: Is told the city's keys.
        new_key: Makes the private key of this installation.
        at: The instant.

    Raises:
        EnrolmentFailed: see there.
    """
    private_key = journal.pending_key(new_key)
    public_key = public_half(private_key)
    body = {
        "code": code,
        "public_key": public_key.hex(),
        "signature": sign(private_key, enrolment_message(code, public_key)).hex(),
    }
    answer = _post(address, _encode(body))
    if answer.status != 200:
        raise EnrolmentFailed(_reason(answer))
    try:
        given = _answer.decode(answer.body)
        keys = [(key.key_id, bytes.fromhex(key.public_key)) for key in given.city_keys]
    except (msgspec.MsgspecError, ValueError) as error:
        raise EnrolmentFailed(f"a resposta da retaguarda é ilegível: {error}") from error
    installation = Installation(given.device_id, given.epoch, private_key, given.token)
    store.trust(keys)
    journal.install(installation, at)
    return installation


def _post(address: str, body: bytes) -> HttpAnswer:
    link = Link(address)
    try:
        return link.exchange("POST", ENROLMENTS, {"Content-Type": "application/json"}, body, _TIMEOUT_S)
    except LinkDown as error:
        raise EnrolmentFailed(
            f"a retaguarda não respondeu ({error}); repita com o mesmo código: nada se perdeu"
        ) from error
    finally:
        link.close()


def _reason(answer: HttpAnswer) -> str:
    try:
        problem = msgspec.json.decode(answer.body)
        detail = problem.get("detail") if isinstance(problem, dict) else None
    except msgspec.MsgspecError:
        detail = None
    return f"a retaguarda respondeu {answer.status}: {detail or 'sem explicação'}"
