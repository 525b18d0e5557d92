"""What the use cases ask of the outside, and how one unit of work meets the hot state.

The hot state knows nothing of boardings: an item names keys, decides on what was read, and hands back one commit
that is written only if nothing moved.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from validator.application.errors import BoardingError

Clock = Callable[[], datetime]
"""The service's own time, with offset."""

Verify = Callable[[bytes, bytes, bytes], bool]
"""Whether an Ed25519 signature is true: public key, signature, signed bytes."""


class Values(dict[bytes, bytes | None]):
    """What was read in one cycle, by key; commits decided earlier in the same cycle have already changed it.

    Attributes:
        pending: Keys of answers that such a commit wants written: not true before it is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pending: set[bytes] = set()


class Undecided(Exception):
    """The item depends on a commit of this cycle that is not written yet; it is read and decided again."""


class Commit(msgspec.Struct, gc=False):
    """What one item wants written, all or nothing, if what it was decided on still stands.

    Attributes:
        shard: Number of the shard that all keys belong to.
        entry: Journal entry.
        seen_key: Key of the kept answer, None for an entry that keeps none.
        seen_was: Its bytes as read; empty where there must be none.
        seen_now: Its new bytes.
        usage_key: Key of the usage that the decision saw, None for none.
        usage_was: Its bytes as read.
        usage_now: Its new bytes; empty where it stays as it is.
    """

    shard: int
    entry: bytes
    seen_key: bytes | None = None
    seen_was: bytes = b""
    seen_now: bytes = b""
    usage_key: bytes | None = None
    usage_was: bytes = b""
    usage_now: bytes = b""


class Item(Protocol):
    """One unit of work of the hot state. The same item may be read and decided several times."""

    claim: tuple[bytes, bytes] | None
    """Key and value that this item puts where nothing stands yet."""

    reads_on: bool
    """Whether there may be more to read than `first_keys`."""

    def first_keys(self) -> Sequence[bytes]:
        """Keys to read at once."""
        ...

    def more_keys(self, values: Values) -> Sequence[bytes]:
        """Keys that follow from what was read; none when enough is known."""
        ...

    def decide(self, values: Values) -> Commit | None:
        """The commit; None when the item is settled without one.

        Raises:
            Undecided: it must wait for the next cycle.
            BoardingError: no decision is possible.
        """
        ...

    def committed(self) -> None:
        """The commit was written."""
        ...

    def replayed(self, seen: bytes) -> None:
        """Another process wrote the same boarding first; this is the answer that it kept."""
        ...

    def failed(self, error: BoardingError) -> None:
        """The item was not recorded, or nobody knows whether it was."""
        ...


class HotState(Protocol):
    """Redis, as the use cases see it."""

    def settle(self, item: Item) -> Awaitable[None]:
        """Read, decide and commit one item; it is told how it went. Never raises for the item.

        Raises:
            HotStateAway: Redis is away; it was not touched.
        """
        ...

    def settle_all(self, items: Sequence[Item]) -> Awaitable[None]:
        """Read, decide and commit items of a batch in order, behind all that was posted by itself.

        Raises:
            HotStateAway: Redis is away; no item was touched.
        """
        ...

    async def read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Plain values of keys.

        Raises:
            HotStateAway: Redis is away.
        """
        ...
