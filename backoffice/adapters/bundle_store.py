"""Where the bundle lies for the validator service: signed offers and chunks in Redis, and what they are built from."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from backoffice.adapters.redis_link import RedisLink
from validator.records.bundle import (
    STATE_KEY,
    BundleState,
    SignedOffer,
    chunk_key,
    offer_key,
    pack_state,
    unpack_state,
)
from validator.records.keys import CITY, holder_key, usage_key

CHUNK_SECONDS: Final = 7 * 24 * 3600
"""How long chunks and offers that no newer bundle names are kept: a device with a bad link may be in their middle."""

_AT_ONCE = 2_000
_encode = msgspec.json.Encoder().encode


class BundleStore:
    """The bundle's keys at the other end of one link."""

    def __init__(self, link: RedisLink) -> None:
        self._client = link.client

    def city(self) -> bytes | None:
        """The city's record that the validators have."""
        record: bytes | None = self._client.get(CITY)
        return record

    def holders(self, hot_ids: Sequence[str]) -> list[tuple[bytes | None, bytes | None]]:
        """Snapshot and usage of holders, in their order; None where there is none."""
        pipe = self._client.pipeline(transaction=False)
        for hot_id in hot_ids:
            pipe.mget(holder_key(hot_id), usage_key(hot_id))
        return [(found[0], found[1]) for found in pipe.execute()]

    def state(self) -> BundleState | None:
        """What was built last; None where nothing was, or Redis lost it."""
        data: bytes | None = self._client.get(STATE_KEY)
        return None if data is None else unpack_state(data)

    def chunks(self, digests: Sequence[str]) -> list[bytes | None]:
        """Chunks by their digests; None for one that is gone."""
        pipe = self._client.pipeline(transaction=False)
        for digest in digests:
            pipe.get(chunk_key(digest))
        found: list[bytes | None] = pipe.execute()
        return found

    def keep_chunks(self, chunks: Iterable[tuple[str, bytes]]) -> None:
        """Write chunks. They are there before any offer names them."""
        pipe = self._client.pipeline(transaction=False)
        for number, (digest, piece) in enumerate(chunks, start=1):
            pipe.set(chunk_key(digest), piece)
            if number % _AT_ONCE == 0:
                pipe.execute()
        pipe.execute()

    def offer(self, state: BundleState, offers: Iterable[tuple[int, SignedOffer]]) -> None:
        """Write the signed offers by the version that a device has, then the state that they were made from."""
        pipe = self._client.pipeline(transaction=False)
        for have, signed in offers:
            pipe.set(offer_key(have), _encode(signed))
        pipe.execute()
        self._client.set(STATE_KEY, pack_state(state))

    def let_go(self, versions: Iterable[int], digests: Iterable[str]) -> None:
        """Offers and chunks that no bundle names any more: they go after a while, or at once without it."""
        pipe = self._client.pipeline(transaction=False)
        for have in versions:
            pipe.delete(offer_key(have))
        for digest in digests:
            pipe.expire(chunk_key(digest), CHUNK_SECONDS)
        pipe.execute()
