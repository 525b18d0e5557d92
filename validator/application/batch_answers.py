"""What a device is told of a batch: each entry in order, and what is durable."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from validator.application.answers import REASONS, Range, ReasonAnswer
from validator.application.attempt import Attempt, Fate
from validator.application.batch_items import BatchItem
from validator.application.citing import Citing
from validator.domain.reasons import Reason
from validator.records.codes import EntryKind, Flag
from validator.records.journal import AnswerRecord
from validator.records.snapshot import DurableRecord

Verdict = Literal["billable", "statistical", "excluded"]

_NOT_BILLABLE = int(
    Flag.LINE_UNKNOWN | Flag.LINE_FOREIGN | Flag.VEHICLE_FOREIGN | Flag.CLOCK_QUARANTINE | Flag.REVOKED_DEVICE
)
# By name, since a batch has hundreds of items and asking an enum for a member is a call.
_FAILED, _CONFLICT = Fate.FAILED, Fate.CONFLICT
_ID_USED = REASONS[int(Reason.BOARDING_ID_CONFLICT)]
_REJECTED = int(EntryKind.REJECTED)
_OF_A_BOARDING = (Attempt, Citing)


class BatchItemAnswer(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One entry. `verdict` and `reason` speak of the boarding that it is or cites, as far as is known now.

    `flags` names what a person must settle first; `note` says why an entry is kept as it came. `retry`: not recorded,
    send it again.
    """

    device_seq: int
    recorded: bool
    retry: bool = False
    verdict: Verdict | None = None
    reason: ReasonAnswer | None = None
    flags: tuple[str, ...] = ()
    note: str | None = None


class BatchAnswer(msgspec.Struct, frozen=True, gc=False):
    """The entries of a batch in order; whether its signed head was recorded; what of the epoch is durable."""

    epoch: int
    items: list[BatchItemAnswer]
    head_recorded: bool
    durable_seq: int
    missing: tuple[Range, ...]


def batch_answer(
    items: Sequence[BatchItem], epoch: int, first_seq: int, durable: DurableRecord, *, head_recorded: bool
) -> BatchAnswer:
    """The answer to a settled batch."""
    latest: dict[bytes, AnswerRecord] = {}
    for item in items:
        if isinstance(item, _OF_A_BOARDING) and item.answer is not None:
            latest[item.boarding] = item.answer
    answers = [_item_answer(item, seq, latest) for seq, item in enumerate(items, start=first_seq)]
    return BatchAnswer(epoch, answers, head_recorded, durable.durable_seq, durable.missing)


def _item_answer(item: BatchItem, seq: int, latest: dict[bytes, AnswerRecord]) -> BatchItemAnswer:
    if item.fate is _FAILED:
        return BatchItemAnswer(seq, False, retry=True)
    if item.fate is _CONFLICT:
        return BatchItemAnswer(seq, True, verdict="excluded", reason=_ID_USED)
    if not isinstance(item, _OF_A_BOARDING):
        if item.entry.kind == _REJECTED:
            return BatchItemAnswer(seq, True, verdict="excluded", note=item.entry.note)
        return BatchItemAnswer(seq, True)
    answer = latest.get(item.boarding) if item.answer is not None else None
    if answer is None:
        return BatchItemAnswer(seq, True)
    return BatchItemAnswer(
        seq,
        True,
        verdict=verdict_of(answer),
        reason=REASONS[answer.reason],
        flags=tuple(str(flag.name) for flag in Flag(answer.flags)) if answer.flags else (),
    )


def verdict_of(answer: AnswerRecord) -> Verdict:
    """What a boarding is worth to the claim as far as is known; the rating of the month decides.

    Excluded: refused, held or annulled, or waiting for a person. Billable: the city repays a part of it.
    """
    if answer.reason != 0 or answer.undone or answer.flags & _NOT_BILLABLE:
        return "excluded"
    return "billable" if answer.city_cents > 0 else "statistical"
