"""A false head of a device's chain, settled by a person once a true one covers the same entries."""

from datetime import datetime

from sqlalchemy import func, select, update

from backoffice.application.changes import log
from backoffice.application.errors import Conflict, Invalid
from backoffice.application.sequence_gaps import lock_epoch
from backoffice.application.staff import CityOffice
from backoffice.persistence.base import WriteSession
from backoffice.persistence.journal import DeviceEpochRow, SignedHeadRow

_MOST_WORDS = 300


def settle_chain(
    session: WriteSession, by: CityOffice, at: datetime, *, device: str, epoch: int, reason: str
) -> int:
    """Settle an epoch's false heads: it is no longer shown as broken. The heads stay as evidence.

    A false head covers nothing and bills nothing; it only warns, in every claim. It may be settled once a valid head
    covers every entry that it spoke of, for then the rows are what the device has signed. Another false head breaks
    the chain again.

    Returns the number of heads settled.

    Raises:
        Invalid: no reason, or one too long.
        Conflict: the chain is not broken, or no valid head covers it yet.
    """
    if not reason.strip() or len(reason) > _MOST_WORDS:
        raise Invalid(
            f"motivo: escreva por que o fecho é falso, em até {_MOST_WORDS} letras, sem dados pessoais",
            f"reason: say why the head is false, in up to {_MOST_WORDS} characters, without personal data",
        )
    lock_epoch(session, device, epoch)
    state = session.get_one(DeviceEpochRow, (device, epoch), populate_existing=True)
    if not state.broken:
        raise Conflict(
            f"a cadeia do validador {device}, época {epoch}, não está quebrada",
            f"the chain of device {device}, epoch {epoch}, is not broken",
        )
    false = (
        (SignedHeadRow.device == device)
        & (SignedHeadRow.epoch == epoch)
        & (SignedHeadRow.verdict == "BROKEN")
    )
    last = session.scalar(select(func.max(SignedHeadRow.seq)).where(false)) or 0
    if state.covered_seq < last:
        raise Conflict(
            f"o fecho falso vai até a sequência {last}, e o último verdadeiro só até {state.covered_seq}: "
            "faça o validador enviar o diário e o fecho de novo",
            f"the false head goes up to sequence {last}, the last true one only up to {state.covered_seq}: "
            "have the device upload its journal and its head again",
        )
    seqs = session.scalars(select(SignedHeadRow.seq).where(false).order_by(SignedHeadRow.seq)).all()
    session.execute(update(SignedHeadRow).where(false).values(verdict="SETTLED"))
    state.broken = False
    log(
        session,
        by,
        "journal.settle",
        ("device", device),
        at,
        f"epoch={epoch} heads={','.join(map(str, seqs))} {reason.strip()}",
    )
    return len(seqs)
