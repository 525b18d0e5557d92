"""Annul: the turnstile did not turn. A journal entry of its own, on its own route or in a batch."""

from datetime import datetime
from uuid import UUID

from validator.application.attempt import Desk
from validator.application.board import admitted
from validator.application.citing import Citing
from validator.application.devices import Device, DeviceGate
from validator.application.errors import DeviceUnknown, Malformed
from validator.application.follow_up import FollowUp, after_annulment
from validator.application.instants import read_instant
from validator.application.ports import HotState
from validator.application.reading import read_annul, read_boarding_id
from validator.domain.service_time import civil_date
from validator.records.codes import EntryKind
from validator.records.device_messages import AnnulMessage, digest_of
from validator.records.journal import AnswerRecord, JournalEntry
from validator.records.packing import to_micros


async def annul(
    boarding: UUID,
    raw: bytes,
    authorization: bytes,
    *,
    received_at: datetime,
    hot: HotState,
    gate: DeviceGate,
    desk: Desk,
) -> Citing:
    """Annul a boarding of the same device; a late attempt is recorded and refused.

    Raises:
        Malformed: the message breaks its form.
        DeviceUnknown: nobody may post with this token.
        NotServed: nothing was recorded.
    """
    device = gate.known(authorization) or await gate.admit(authorization)
    message = read_annul(raw)
    device = await admitted(device, message.epoch, authorization, gate)
    item = annulment(device, message, digest_of(device.id, raw), received_at, desk, boarding, batch=False)
    await hot.settle(item)
    if isinstance(item.error, DeviceUnknown):
        await gate.admit(authorization)
    if item.error is not None:
        raise item.error
    return item


def annulment(
    device: Device,
    message: AnnulMessage,
    digest: bytes,
    received_at: datetime,
    desk: Desk,
    cited: UUID | None,
    *,
    batch: bool,
) -> Citing:
    """An annulment as an item of the hot state; `cited` is the boarding that the address names, if one did.

    Raises:
        Malformed: it names no boarding, or another one than the address.
    """
    named = None if message.annuls is None else read_boarding_id(message.annuls, "annuls")
    if named is None:
        named = cited
    if named is None or (cited is not None and named != cited):
        raise Malformed(
            "annuls",
            "Envie em `annuls` o boarding_id do embarque anulado, o mesmo do endereço.",
            "Send in `annuls` the boarding_id of the annulled boarding, the same as in the address.",
        )
    occurred_at = read_instant(message.occurred_at, "occurred_at")
    within_s = desk.city.view().city.book.parameter_on("annul_seconds", civil_date(occurred_at))
    entry = JournalEntry(
        int(EntryKind.ANNULMENT),
        device.id,
        message.epoch,
        message.device_seq,
        digest,
        to_micros(received_at),
        batch,
        named.bytes,
        occurred_micros=to_micros(occurred_at),
    )

    def follow(answer: AnswerRecord) -> FollowUp | None:
        return after_annulment(answer, named.bytes, device.id, occurred_at, within_s)

    return Citing(device, entry, follow)
