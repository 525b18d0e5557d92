"""Signed heads: whether the rows give the chain that the device signed."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from backoffice.application.ingest_plan import Epoch
from backoffice.application.ingest_progress import is_among
from backoffice.application.ingest_rows import Row
from backoffice.persistence.base import WriteSession
from backoffice.persistence.devices import DeviceKeyRow
from backoffice.persistence.journal import SignedHeadRow, TapKeyRow
from validator.records.device_messages import chain_next, chain_start, head_message

VALID = ("VALID", "RESTARTED")
"""Verdicts of heads on which the chain goes on."""


@dataclass(frozen=True, slots=True)
class ChainState:
    """What heads say of an epoch; see `DeviceEpochRow`."""

    covered_seq: int = 0
    chain_head: bytes | None = None
    broken: bool = False
    closed: bool = False


def keep_heads(session: WriteSession, heads: Collection[Row]) -> None:
    """Write heads that have not come before."""
    if not heads:
        return
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    session.execute(dialect.insert(SignedHeadRow).on_conflict_do_nothing(), list(heads))


def waiting_heads(session: WriteSession, epochs: Collection[Epoch]) -> list[SignedHeadRow]:
    """Heads of these epochs that are not judged yet, in the order of their sequences."""
    if not epochs:
        return []
    named = is_among(session, SignedHeadRow.device, SignedHeadRow.epoch, sorted(epochs))
    found = select(SignedHeadRow).where(named, SignedHeadRow.verdict == "WAITING")
    return list(session.scalars(found.order_by(SignedHeadRow.seq, SignedHeadRow.id)))


def judge_head(
    session: WriteSession, head: SignedHeadRow, durable_seq: int, state: ChainState
) -> tuple[str, ChainState]:
    """Judge one head whose entries may all be rows, and note the verdict on its row.

    Returns the verdict (`WAITING` while entries are missing) and what the epoch's chain is after it.
    """
    verdict = _verdict(session, head, durable_seq)
    if verdict == "WAITING":
        return verdict, state
    session.execute(update(SignedHeadRow).where(SignedHeadRow.id == head.id).values(verdict=verdict))
    if verdict == "BAD_SIGNATURE":
        return verdict, state  # nobody has signed it: it says nothing of the rows
    if verdict not in VALID:
        return verdict, replace(state, broken=True)
    closed = state.closed or head.closing
    if head.seq < state.covered_seq:
        return verdict, replace(state, closed=closed)
    return verdict, replace(state, covered_seq=head.seq, chain_head=head.head, closed=closed)


def _verdict(session: WriteSession, head: SignedHeadRow, durable_seq: int) -> str:
    key = session.scalar(
        select(DeviceKeyRow.public_key).where(
            DeviceKeyRow.device_id == head.device, DeviceKeyRow.epoch == head.epoch
        )
    )
    message = head_message(head.device, head.epoch, head.seq, head.head, closing=head.closing)
    if key is None or not _signed(key, head.signature, message):
        return "BAD_SIGNATURE"
    if head.seq > durable_seq:
        return "WAITING"
    value, after = _start(session, head)
    digests = session.execute(
        select(TapKeyRow.digest)
        .where(TapKeyRow.device == head.device, TapKeyRow.epoch == head.epoch)
        .where(TapKeyRow.seq > after, TapKeyRow.seq <= head.seq)
        .order_by(TapKeyRow.seq)
    )
    for (digest,) in digests:
        if digest is None:
            return "RESTARTED"
        value = chain_next(value, digest)
    return "VALID" if value == head.head else "BROKEN"


def _start(session: WriteSession, head: SignedHeadRow) -> tuple[bytes, int]:
    """The nearest point before a head at which the chain's value is known."""
    nearest = (
        select(func.max(SignedHeadRow.seq))
        .where(SignedHeadRow.device == head.device, SignedHeadRow.epoch == head.epoch)
        .where(SignedHeadRow.seq < head.seq, SignedHeadRow.verdict.in_(VALID))
        .scalar_subquery()
    )
    known = session.execute(
        select(SignedHeadRow.head, SignedHeadRow.seq)
        .where(SignedHeadRow.device == head.device, SignedHeadRow.epoch == head.epoch)
        .where(SignedHeadRow.seq == nearest, SignedHeadRow.verdict.in_(VALID))
        .limit(1)
    ).first()
    return (chain_start(head.device, head.epoch), 0) if known is None else (known[0], known[1])


def _signed(key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
