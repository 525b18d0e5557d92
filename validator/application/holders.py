"""Holders as read from their snapshots; one that has not changed is not read again."""

import msgspec

from validator.domain.holder import Holder
from validator.records.packing import revision_of
from validator.records.snapshot import CardRecord, UidRecord, holder_of, unpack_holder

_MOST_KNOWN = 50_000


class ReadHolder(msgspec.Struct, frozen=True, gc=False):
    """A snapshot: its bytes, its revision, the domain's holder, the cards, and the chips."""

    packed: bytes
    revision: int
    holder: Holder
    cards: tuple[CardRecord, ...]
    uids: tuple[UidRecord, ...]


class HolderReader:
    """Reads snapshots and remembers them by their key and bytes."""

    def __init__(self) -> None:
        self._known: dict[bytes, ReadHolder] = {}

    def read(self, key: bytes, packed: bytes) -> ReadHolder:
        """The holder of a snapshot.

        Raises:
            RecordError: damaged bytes.
        """
        known = self._known.get(key)
        if known is not None and known.packed == packed:
            return known
        record = unpack_holder(packed)
        read = ReadHolder(packed, revision_of(packed), holder_of(record), record.cards, record.uids)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key] = read
        return read
