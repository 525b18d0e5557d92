"""The entries of a batch as items of the hot state: taps, releases, annulments, and bytes that are none of them."""

from datetime import datetime

from validator.application.annul import annulment
from validator.application.attempt import Attempt, Desk
from validator.application.board import facts_of
from validator.application.chips import attempt_of
from validator.application.citing import Citing, Row
from validator.application.devices import Device
from validator.application.errors import Malformed
from validator.application.follow_up import FollowUp, after_release
from validator.application.instants import read_instant
from validator.application.reading import read_boarding_id, read_entry
from validator.records.codes import EntryKind, Flag
from validator.records.device_messages import AnnulMessage, ReleaseMessage, TapMessage, digest_of
from validator.records.journal import AnswerRecord, JournalEntry

_NOTE_MAX = 400

BatchItem = Attempt | Row


def batch_item(
    device: Device, epoch: int, seq: int, text: str, received_at: datetime, received_micros: int, desk: Desk
) -> BatchItem:
    """The entry of one sequence; bytes that break the form become a rejected row, with the reason."""
    raw = text.encode()
    digest = digest_of(device.id, raw)
    try:
        message = read_entry(text, raw)
        _check_place(message, epoch, seq)
        if isinstance(message, TapMessage):
            return _tap(device, message, digest, received_at, received_micros, desk)
        if isinstance(message, ReleaseMessage):
            return _release(device, epoch, message, digest, received_micros, desk)
        return annulment(device, message, digest, received_at, desk, None, batch=True)
    except Malformed as error:
        return Row(
            device,
            JournalEntry(
                int(EntryKind.REJECTED),
                device.id,
                epoch,
                seq,
                digest,
                received_micros,
                True,
                flags=int(Flag.REVOKED_DEVICE) if device.revoked else 0,
                raw=raw,
                note=_printable(error.en),
            ),
        )


def _check_place(message: TapMessage | ReleaseMessage | AnnulMessage, epoch: int, seq: int) -> None:
    if message.device_seq != seq:
        raise Malformed(
            "device_seq",
            f"A entrada está na posição {seq} e diz {message.device_seq}.",
            f"The entry stands at position {seq} and says {message.device_seq}.",
        )
    if message.epoch is not None and message.epoch != epoch:
        raise Malformed(
            "epoch",
            f"A entrada é da época {message.epoch} e o lote da {epoch}.",
            f"The entry is of epoch {message.epoch} and the batch of {epoch}.",
        )


def _tap(
    device: Device,
    message: TapMessage,
    digest: bytes,
    received_at: datetime,
    received_micros: int,
    desk: Desk,
) -> Attempt:
    occurred_at = read_instant(message.occurred_at, "occurred_at")
    dated = desk.city.limits(received_at).date_offline(occurred_at, received_at)
    facts = facts_of(device, message, digest, occurred_at, received_micros, dated.at, desk, batch=True)
    return attempt_of(device, facts, dated.flags, desk)


def _release(
    device: Device, epoch: int, message: ReleaseMessage, digest: bytes, received_micros: int, desk: Desk
) -> Citing:
    boarding = read_boarding_id(message.boarding_id)
    entry = JournalEntry(
        int(EntryKind.RELEASE),
        device.id,
        epoch,
        message.device_seq,
        digest,
        received_micros,
        True,
        boarding.bytes,
        released=message.released,
        ride_class=message.ride_class,
        purse=message.purse,
        list_version=message.list_version,
        online=message.mode == "online",
    )

    def follow(answer: AnswerRecord) -> FollowUp:
        return after_release(answer, message, desk.city.view().city)

    return Citing(device, entry, follow)


def _printable(text: str) -> str:
    """A note that every database can hold, whatever the bytes were that it is about."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_NOTE_MAX])
