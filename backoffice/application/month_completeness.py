"""How complete the journals of the devices are whose rides a claim sums: gaps, tails, losses and broken chains."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backoffice.persistence.journal import DeviceEpochRow, ForkRow, RejectedRow, TapKeyRow

MISSING_SHOWN = 50
"""Ranges of missing sequences that a claim prints for one journal; more are only counted."""


@dataclass(frozen=True, slots=True)
class JournalState:
    """One device's journal in one epoch, as it stood at the closing.

    Attributes:
        device: Device.
        epoch: Epoch.
        rides: Boardings of the month in it.
        top_seq: Highest sequence that has come.
        covered_seq: Highest sequence that a valid signed head vouches for.
        missing: Ranges of sequences below `top_seq` that have not come, both ends included.
        missing_count: How many sequences they are.
        lost: Sequences that were declared lost.
        forks: Second entries under a used sequence.
        tail_known: Whether a signed closing head says that nothing follows.
        chain_broken: Whether the rows contradict a signed head.
    """

    device: str
    epoch: int
    rides: int
    top_seq: int
    covered_seq: int
    missing: tuple[tuple[int, int], ...]
    missing_count: int
    lost: int
    forks: int
    tail_known: bool
    chain_broken: bool

    def warnings(self) -> list[str]:
        """What a clerk should know of it, in Portuguese."""
        name = f"validador {self.device}, época {self.epoch}"
        found = []
        if self.missing:
            ranges = ", ".join(str(a) if a == b else f"{a} a {b}" for a, b in self.missing)
            lacks = "falta" if self.missing_count == 1 else "faltam"
            found.append(f"{name}: {lacks} {_sequences(self.missing_count)} ({ranges})")
        if self.lost:
            declared = "declarada perdida" if self.lost == 1 else "declaradas perdidas"
            found.append(f"{name}: {_sequences(self.lost)} {declared}")
        if self.forks:
            found.append(f"{name}: {_sequences(self.forks)} com dois registros diferentes")
        if self.chain_broken:
            found.append(f"{name}: os registros contradizem um fecho assinado")
        if not self.tail_known:
            found.append(f"{name}: fim do diário desconhecido (sem fecho final assinado)")
        return found


def _sequences(count: int) -> str:
    return "1 sequência" if count == 1 else f"{count} sequências"


def journal_states(
    session: Session,
    rides: Mapping[tuple[str, int], int],
    covered: Mapping[tuple[str, int], int],
    closed_at: datetime,
) -> list[JournalState]:
    """The journals of some (device, epoch) pairs, in their order.

    Losses and forks are those that had come at the closing. Gaps, tail and chain are told as they stand when it runs:
    of those no row says when they were otherwise.

    Args:
        session: The transaction of the closing.
        rides: Boardings of the month by journal.
        covered: Highest sequence that a signed head covered at the closing, by journal.
        closed_at: Its instant.
    """
    wanted = sorted(rides)
    epochs = {
        (row.device, row.epoch): row
        for row in session.scalars(
            select(DeviceEpochRow).where(DeviceEpochRow.device.in_({device for device, _ in wanted}))
        )
    }
    lost, forks = _lost(session, closed_at), _forks(session, closed_at)
    states = []
    for device, epoch in wanted:
        row = epochs.get((device, epoch))
        missing = _missing(session, row)
        states.append(
            JournalState(
                device=device,
                epoch=epoch,
                rides=rides[device, epoch],
                top_seq=0 if row is None else row.top_seq,
                covered_seq=covered.get((device, epoch), 0),
                missing=tuple(missing[:MISSING_SHOWN]),
                missing_count=sum(last - first + 1 for first, last in missing),
                lost=lost.get((device, epoch), 0),
                forks=forks.get((device, epoch), 0),
                tail_known=row is not None and row.closed,
                chain_broken=row is not None and row.broken,
            )
        )
    return states


def _lost(session: Session, until: datetime) -> dict[tuple[str, int], int]:
    rows = session.execute(
        select(RejectedRow.device, RejectedRow.epoch, func.count())
        .where(RejectedRow.kind == "DECLARED_LOST", RejectedRow.received_at <= until)
        .group_by(RejectedRow.device, RejectedRow.epoch)
    )
    return {(device or "", epoch or 0): count for device, epoch, count in rows}


def _forks(session: Session, until: datetime) -> dict[tuple[str, int], int]:
    rows = session.execute(
        select(ForkRow.device, ForkRow.epoch, func.count())
        .where(ForkRow.received_at <= until)
        .group_by(ForkRow.device, ForkRow.epoch)
    )
    return {(device, epoch): count for device, epoch, count in rows}


def _missing(session: Session, row: DeviceEpochRow | None) -> list[tuple[int, int]]:
    """Ranges between the sequences that have come; all up to `durable_seq` have."""
    if row is None or row.durable_seq >= row.top_seq:
        return []
    come = session.scalars(
        select(TapKeyRow.seq)
        .where(
            TapKeyRow.device == row.device,
            TapKeyRow.epoch == row.epoch,
            TapKeyRow.seq > row.durable_seq,
            TapKeyRow.seq <= row.top_seq,
        )
        .order_by(TapKeyRow.seq)
    )
    return list(_gaps(row.durable_seq, come))


def _gaps(after: int, come: Iterable[int]) -> Iterable[tuple[int, int]]:
    for seq in come:
        if seq > after + 1:
            yield (after + 1, seq - 1)
        after = seq
