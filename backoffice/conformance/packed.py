"""MessagePack as far as the bundle of section 12 uses it: what a device needs that has no library for it."""

import struct
from typing import Any


class NotPacked(ValueError):
    """The bytes are no MessagePack, or go on after its end."""


_SIZED = {
    0xC4: ("B", "bytes"), 0xC5: (">H", "bytes"), 0xC6: (">I", "bytes"),
    0xD9: ("B", "text"), 0xDA: (">H", "text"), 0xDB: (">I", "text"),
    0xDC: (">H", "array"), 0xDD: (">I", "array"), 0xDE: (">H", "map"), 0xDF: (">I", "map"),
}  # fmt: skip
_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: "B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: "b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def unpack(data: bytes) -> Any:
    """The one value that the bytes hold.

    Raises:
        NotPacked: they hold none, or more.
    """
    try:
        value, end = _value(data, 0)
    except (IndexError, struct.error, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise NotPacked(str(error)) from error
    if end != len(data):
        raise NotPacked(f"{len(data) - end} bytes after the end")
    return value


def _value(data: bytes, at: int) -> tuple[Any, int]:
    first = data[at]
    at += 1
    if first < 0x80:
        return first, at
    if first >= 0xE0:
        return first - 0x100, at
    if first < 0x90:
        return _many(data, at, first & 0x0F, "map")
    if first < 0xA0:
        return _many(data, at, first & 0x0F, "array")
    if first < 0xC0:
        return _many(data, at, first & 0x1F, "text")
    if first in _CONSTANTS:
        return _CONSTANTS[first], at
    form, kind = _SIZED.get(first, (_NUMBERS.get(first, ""), "number"))
    if not form:
        raise NotPacked(f"a value of kind {first:#04x}")
    (number,) = struct.unpack_from(form, data, at)
    at += struct.calcsize(form)
    return (number, at) if kind == "number" else _many(data, at, number, kind)


def _many(data: bytes, at: int, count: int, kind: str) -> tuple[Any, int]:
    if kind in ("text", "bytes"):
        piece = data[at : at + count]
        if len(piece) != count:
            raise NotPacked("cut off")
        return (piece.decode() if kind == "text" else piece), at + count
    values = []
    for _ in range(count * 2 if kind == "map" else count):
        value, at = _value(data, at)
        values.append(value)
    return (dict(zip(values[::2], values[1::2], strict=True)) if kind == "map" else values), at
