"""Upload a batch: what a device journalled, in order, with the signed head of its chain.

Offline boardings are facts: nothing here refuses one. Only a batch that cannot be attributed (its signature is not
the device's, its epoch was never issued, its envelope cannot be read) is refused whole and records nothing.
"""

from collections.abc import Sequence
from datetime import datetime

from validator.application.attempt import Desk, Fate
from validator.application.batch_answers import BatchAnswer, batch_answer
from validator.application.batch_items import BatchItem, batch_item
from validator.application.chips import look_up
from validator.application.citing import Row
from validator.application.devices import Device, DeviceGate
from validator.application.errors import DeviceUnknown, HotStateAway, Malformed
from validator.application.ports import HotState
from validator.application.reading import read_batch
from validator.records.codes import EntryKind, Flag
from validator.records.device_messages import MAX_SEQ, BatchMessage, digest_of, head_message
from validator.records.journal import HeadRecord, JournalEntry, pack_head
from validator.records.packing import to_micros

CHUNK = 125
"""Entries that are read, decided and committed together."""


async def upload(
    raw: bytes, authorization: bytes, *, received_at: datetime, hot: HotState, gate: DeviceGate, desk: Desk
) -> BatchAnswer:
    """Record a batch, entry by entry, and its signed head after them.

    Raises:
        Malformed: the batch cannot be read or attributed; nothing was recorded.
        DeviceUnknown: no such device, or another token.
        NotServed: nothing was recorded.
    """
    device = await gate.admit(authorization)  # its key may have changed since it was let in
    message = read_batch(raw)
    _check_batch(message, device, desk)
    received_micros = to_micros(received_at)
    items: list[BatchItem] = []
    for start in range(0, len(message.entries), CHUNK):
        chunk = [
            batch_item(
                device,
                message.epoch,
                message.first_seq + start + place,
                text,
                received_at,
                received_micros,
                desk,
            )
            for place, text in enumerate(message.entries[start : start + CHUNK])
        ]
        items += chunk
        await _settle(chunk, hot, nothing_recorded=start == 0)
    if any(isinstance(item.error, DeviceUnknown) for item in items):
        await gate.admit(authorization)
        raise DeviceUnknown
    head = _head(device, message, received_at)
    if all(item.fate is not Fate.FAILED for item in items):
        # A head over entries that are not recorded would vouch for what is not there yet.
        await _settle([head], hot, nothing_recorded=not items)
    durable = items[-1].durable if items else head.durable
    head_recorded = head.fate is Fate.ANSWERED
    return batch_answer(items, message.epoch, message.first_seq, durable, head_recorded=head_recorded)


def _check_batch(message: BatchMessage, device: Device, desk: Desk) -> None:
    if message.epoch > device.record.epoch:
        raise Malformed(
            "epoch",
            f"A época {message.epoch} não foi emitida para este validador; a vigente é {device.record.epoch}.",
            f"Epoch {message.epoch} was never issued to this device; the current one is {device.record.epoch}.",
        )
    last = message.first_seq + len(message.entries) - 1
    if last > MAX_SEQ:
        raise Malformed(
            "first_seq",
            f"A sequência da última entrada passa de {MAX_SEQ}.",
            f"The sequence of the last entry is above {MAX_SEQ}.",
        )
    if message.epoch < device.record.epoch:
        return  # signed with the key of that installation, which only the register keeps: the ingester judges it
    signed = head_message(
        device.id, message.epoch, last, bytes.fromhex(message.head), closing=message.closing
    )
    if not desk.verify(device.record.public_key, bytes.fromhex(message.signature), signed):
        raise Malformed(
            "signature",
            "A assinatura não confere com a chave do validador. Assine (Ed25519) a cabeça da cadeia após a última "
            "entrada do lote.",
            "The signature does not match the device's key. Sign (Ed25519) the head of the chain after the batch's "
            "last entry.",
        )


async def _settle(items: Sequence[BatchItem], hot: HotState, *, nothing_recorded: bool) -> None:
    try:
        await look_up(items, hot)
        await hot.settle_all([item for item in items if item.error is None])
    except HotStateAway as away:
        if nothing_recorded:
            raise
        for item in items:
            item.failed(away)


def _head(device: Device, message: BatchMessage, received_at: datetime) -> Row:
    """The signed head as a journal entry; it has no sequence of its own."""
    last = message.first_seq + len(message.entries) - 1
    head = bytes.fromhex(message.head)
    signed = head_message(device.id, message.epoch, last, head, closing=message.closing)
    entry = JournalEntry(
        int(EntryKind.HEAD),
        device.id,
        message.epoch,
        0,
        digest_of(device.id, signed),
        to_micros(received_at),
        True,
        flags=int(Flag.REVOKED_DEVICE) if device.revoked else 0,
        raw=pack_head(HeadRecord(last, head, bytes.fromhex(message.signature), message.closing)),
    )
    return Row(device, entry)
