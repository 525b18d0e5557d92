"""What the service answers, as far as a device reads it; fields that it does not know are left alone."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from validator.onboard.link import HttpAnswer

T = TypeVar("T")


class TapAnswer(msgspec.Struct, frozen=True, gc=False):
    """The answer to a tap; `recorded` where the service no longer keeps what it answered."""

    outcome: str
    display: str
    durable_seq: int
    turnstile: str = "HOLD"
    ride_class: str | None = msgspec.field(default=None, name="class")
    purse: str | None = None
    missing: list[tuple[int, int]] = []
    change_cents: int = 0


class BatchItem(msgspec.Struct, frozen=True, gc=False):
    """What became of one entry of a batch."""

    recorded: bool
    device_seq: int | None = None


class BatchAnswer(msgspec.Struct, frozen=True, gc=False):
    """The answer to a batch: its items in order, and what of the epoch is durable."""

    items: list[BatchItem]
    durable_seq: int
    head_recorded: bool = True
    missing: list[tuple[int, int]] = []


class Contact(msgspec.Struct, frozen=True, gc=False):
    """The part of any device answer that tells what is durable."""

    durable_seq: int
    missing: list[tuple[int, int]] = []


_decoders: dict[type, msgspec.json.Decoder[object]] = {}


def read(kind: type[T], answer: HttpAnswer) -> T | None:
    """The body of an answer as one of these messages; None where it is another."""
    decoder = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    try:
        message = decoder.decode(answer.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    assert isinstance(message, kind)
    return message


def first_missing(missing: Sequence[tuple[int, int]]) -> int | None:
    """The lowest sequence that the service lacks."""
    return min((first for first, _ in missing), default=None)
