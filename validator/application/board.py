"""Board: one tap, one answer."""

from datetime import datetime

from validator.application.answers import BoardingAnswer, RecordedAnswer, boarding_answer, recorded_answer
from validator.application.attempt import Attempt, Desk, Fate
from validator.application.chips import ChipAttempt, attempt_of
from validator.application.devices import Device, DeviceGate
from validator.application.errors import DeviceUnknown, Malformed
from validator.application.instants import read_instant
from validator.application.ports import HotState
from validator.application.reading import read_boarding_bytes, read_boarding_id, read_tap
from validator.application.tap_records import TapFacts
from validator.records.device_messages import CardMedium, TapMessage, digest_of
from validator.records.packing import to_micros

_REPLAYED = Fate.REPLAYED


async def board(
    raw: bytes,
    authorization: bytes,
    sent_at: datetime,
    received_at: datetime,
    hot: HotState,
    gate: DeviceGate,
    desk: Desk,
) -> Attempt:
    """Answer one tap that was posted by itself.

    Args:
        raw: The exact bytes of the tap.
        authorization: The Authorization header.
        sent_at: The device's clock when it sent the request.
        received_at: The service's clock.
        hot: The hot state.
        gate: Knows the devices.
        desk: City, cards, holders and keys.

    Raises:
        Malformed: the tap breaks its form.
        DeviceUnknown: nobody may post with this token.
        BoardingIdConflict: the id belongs to another tap.
        NotServed: there is no answer now.
    """
    device = gate.known(authorization) or await gate.admit(authorization)
    message = read_tap(raw)
    occurred_at = read_instant(message.occurred_at, "occurred_at")
    if device.record.epoch != message.epoch or device.revoked:
        device = await admitted(device, message.epoch, authorization, gate)
    dated = desk.city.limits(received_at).date_online(occurred_at, sent_at, received_at)
    facts = facts_of(
        device,
        message,
        digest_of(device.id, raw),
        occurred_at,
        to_micros(received_at),
        dated.at,
        desk,
        batch=False,
    )
    attempt = attempt_of(device, facts, dated.flags, desk)
    if type(attempt) is ChipAttempt:
        await hot.settle(attempt)  # once only to look its holder up
        attempt.raise_failure()
    await hot.settle(attempt)
    if isinstance(attempt.error, DeviceUnknown):
        await gate.admit(authorization)  # an empty or fenced shard is not an unknown device
    attempt.raise_failure()
    return attempt


def facts_of(
    device: Device,
    message: TapMessage,
    digest: bytes,
    occurred_at: datetime,
    received_micros: int,
    dated_at: datetime,
    desk: Desk,
    *,
    batch: bool,
) -> TapFacts:
    """What is known of a tap before anything is decided.

    Raises:
        Malformed: an id that is no UUID.
    """
    medium = message.medium
    occurred = to_micros(occurred_at)
    return TapFacts(
        device.id,
        message,
        digest,
        read_boarding_bytes(message.boarding_id),
        dated_at,
        occurred,
        received_micros,
        occurred if dated_at is occurred_at else to_micros(dated_at),
        batch,
        desk.cards.read(medium.token) if type(medium) is CardMedium else None,
        None if message.continues is None else read_boarding_id(message.continues, "continues"),
    )


async def admitted(device: Device, epoch: int, authorization: bytes, gate: DeviceGate) -> Device:
    """The device, looked up again where it was revoked or its epoch was another.

    Raises:
        DeviceUnknown: revoked.
        Malformed: the epoch is not the current one.
    """
    if device.revoked or epoch != device.record.epoch:
        device = await gate.admit(authorization)
        if device.revoked:
            raise DeviceUnknown
        _check_epoch(epoch, device)
    return device


def _check_epoch(epoch: int, device: Device) -> None:
    current = device.record.epoch
    if epoch > current:
        raise Malformed(
            "epoch",
            f"A época {epoch} não foi emitida para este validador; a vigente é {current}.",
            f"Epoch {epoch} was never issued to this device; the current one is {current}.",
        )
    if epoch < current:
        raise Malformed(
            "epoch",
            f"A época vigente é {current}; envie toques de épocas anteriores em lote (POST /v1/boardings/batch).",
            f"The current epoch is {current}; send taps of earlier epochs in a batch (POST /v1/boardings/batch).",
        )


def answer_to(attempt: Attempt, language: str) -> BoardingAnswer | RecordedAnswer:
    """The answer of a settled attempt, in `pt-BR` or `en`."""
    boarding_id = attempt.facts.message.boarding_id
    if attempt.answer is None:
        return recorded_answer(boarding_id, attempt.durable, language)
    return boarding_answer(
        boarding_id,
        attempt.answer,
        attempt.durable,
        replayed=attempt.fate is _REPLAYED,
        language=language,
    )
