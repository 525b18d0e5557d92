"""What a reader says: JSON lines of a validator's other programs, or the plain text of a keyboard-wedge reader."""

import re
from typing import Final

import msgspec
from msgspec import structs

from validator.records.chip_uid import is_uid, plain_uid
from validator.records.device_messages import CardMedium, MediumMessage, UidMedium

LONGEST_LINE: Final = 4_096
LONGEST_TOKEN: Final = 512

_SYMBOLOGY = re.compile(r"^\][A-Za-z][0-9A-Za-z]")
"""AIM identifier that many readers put in front, such as `]Q3`."""
_ECI = re.compile(r"^\\[0-9]{6}")
"""Extended channel interpretation, such as `\\000026` for UTF-8."""


class LineUnreadable(ValueError):
    """A line that is no message of a reader; the message says what to send."""


class TripMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where the vehicle runs from now on; a field that is left out stays as it was."""

    line: str | None = None
    vehicle: str | None = None
    trip: str | None = None


class ReaderMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One JSON line; exactly one of its first four fields.

    Attributes:
        tap: What the rider showed, as on the wire.
        trip: A trip begins.
        trip_ended: A trip has ended: the journal is signed and uploaded.
        not_turned: The turnstile did not turn for the last rider.
        continues: With `tap`: the boarding that a breakdown cut short.
    """

    tap: MediumMessage | None = None
    trip: TripMessage | None = None
    trip_ended: bool = False
    not_turned: bool = False
    continues: str | None = None


_decoder = msgspec.json.Decoder(ReaderMessage)


def read_line(line: str) -> ReaderMessage | None:
    """The message of a line; None for an empty one. What does not begin with `{` is a card's text, or a chip's uid.

    Raises:
        LineUnreadable: JSON that is no message, or a line that is too long.
    """
    text = line.strip()
    if not text:
        return None
    if len(text) > LONGEST_LINE:
        raise LineUnreadable(f"linha de {len(text)} caracteres; o limite é {LONGEST_LINE}")
    if not text.startswith("{"):
        chip = uid_text(text)
        return ReaderMessage(tap=CardMedium(card_text(text)) if chip is None else UidMedium(chip))
    try:
        message = _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError) as error:
        raise LineUnreadable(str(error)) from error
    said = [message.tap is not None, message.trip is not None, message.trip_ended, message.not_turned]
    if sum(said) != 1:
        raise LineUnreadable("uma linha tem um só de tap, trip, trip_ended, not_turned")
    if isinstance(message.tap, UidMedium):
        chip = uid_text(message.tap.uid)
        if chip is None:
            raise LineUnreadable("um uid tem 4, 7 ou 10 bytes em hexadecimal, como 04A2B3C4D5E680")
        return structs.replace(message, tap=UidMedium(chip))
    return message


def uid_text(text: str) -> str | None:
    """A chip's uid as the wire has it, from what a reader of contactless chips writes; None for anything else."""
    plain = plain_uid(text)
    return plain if is_uid(plain) else None


def card_text(text: str) -> str:
    """The card's text without what a reader adds: identifiers in front, control characters, lower case."""
    kept = "".join(sign for sign in text if sign.isprintable()).strip()
    kept = _ECI.sub("", _SYMBOLOGY.sub("", kept))
    return (kept.upper() or "?")[:LONGEST_TOKEN]
