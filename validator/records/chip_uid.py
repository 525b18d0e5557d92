"""The uid of a contactless chip: its form, and the name under which the list of a bundle knows it."""

import hashlib
import re
from typing import Final

UID_FORM: Final = r"^([0-9A-F]{8}|[0-9A-F]{14}|[0-9A-F]{20})$"
"""4, 7 or 10 bytes (ISO/IEC 14443-3) in upper-case hexadecimal, first byte first."""

LISTED_BYTES: Final = 6
"""Length of a chip's name in a list: among 100,000 chips two share one in a city of fifty thousand."""

_FORM = re.compile(UID_FORM)
_LISTED_DOMAIN = b"catraca-uid-1\x00"


def is_uid(text: str) -> bool:
    """Whether a text is a uid as it stands on the wire."""
    return _FORM.fullmatch(text) is not None


def plain_uid(text: str) -> str:
    """A text as a uid stands on the wire: readers and people part its bytes with `:`, `-` or blanks."""
    return re.sub(r"[ :-]", "", text).upper()


def uid_bytes(uid: str) -> bytes:
    """The bytes of a uid."""
    return bytes.fromhex(uid)


def listed_uid(uid: bytes) -> bytes:
    """The name of a chip in a list. Not the uid itself, so that a stolen validator hands nobody the chips to copy."""
    return hashlib.sha256(_LISTED_DOMAIN + uid).digest()[:LISTED_BYTES]
