"""The canonical line of log of each boarding, batch and annulment: keys, no prose, no token, nobody's data.

What a rider travels as stays out, as do holder and card: the journal has them.
"""

from functools import lru_cache

import msgspec

from validator.application.attempt import Attempt
from validator.domain.reasons import Reason
from validator.records.packing import from_micros

_REASONS = {reason.value: reason.name for reason in Reason}


class BoardingLine(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag="boarding"):
    """One tap and its answer."""

    boarding_id: str
    device: str
    epoch: int
    seq: int
    line: str
    vehicle: str
    fate: str
    reason: str | None
    flags: int
    received_at: str
    ms: float


class BatchLine(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag="batch"):
    """One batch."""

    device: str
    epoch: int
    items: int
    retries: int
    head_recorded: bool
    ms: float


class AnnulLine(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag="annulment"):
    """One annulment."""

    boarding_id: str
    device: str
    epoch: int
    seq: int
    outcome: str
    ms: float


@lru_cache(maxsize=1_000)
def _received(millis: int) -> str:
    """An instant in UTC; under load many taps share their millisecond."""
    return from_micros(millis * 1_000).isoformat(timespec="milliseconds")


def boarding_line(attempt: Attempt, seconds: float) -> BoardingLine:
    """The line of a settled attempt."""
    facts, answer = attempt.facts, attempt.answer
    message = facts.message
    return BoardingLine(
        message.boarding_id,
        facts.device,
        message.epoch,
        message.device_seq,
        message.line,
        message.vehicle,
        attempt.fate,
        None if answer is None else _REASONS[answer.reason],
        0 if answer is None else answer.flags,
        _received(facts.received_micros // 1_000),
        round(seconds * 1000, 2),
    )
