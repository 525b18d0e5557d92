"""How the effects of a journal entry stand in a column: bytes, in the order in which they were applied."""

import msgspec

from validator.records.packing import Packed, pack, unpack
from validator.records.usage import EffectRecord


class EffectsRecord(Packed, frozen=True):
    """The effects of one entry."""

    effects: tuple[EffectRecord, ...]


_decoder = msgspec.msgpack.Decoder(EffectsRecord)


def pack_effects(effects: tuple[EffectRecord, ...]) -> bytes | None:
    """Effects as a column's bytes; nothing for no effect."""
    return pack(EffectsRecord(effects)) if effects else None


def unpack_effects(data: bytes | None) -> tuple[EffectRecord, ...]:
    """Effects from a column's bytes.

    Raises:
        RecordError: damaged bytes.
    """
    return () if data is None else unpack(data, _decoder).effects
