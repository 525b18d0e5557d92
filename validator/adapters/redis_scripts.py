"""The two scripts of the hot path, and how they are called: by hash, loaded once for each connection."""

import hashlib
from collections.abc import Sequence
from importlib.resources import files

from validator.adapters.redis_link import RedisLink, ReplyError, packed
from validator.application.ports import Commit
from validator.records.keys import (
    ID_SECONDS,
    SHARDS,
    commit_no_key,
    fence_key,
    generation_key,
    journal_key,
)


def _source(name: str) -> bytes:
    return files("validator.adapters").joinpath(name).read_bytes()


_CLAIM = _source("claim.lua")
_COMMIT = _source("commit.lua")
_CLAIM_SHA = hashlib.sha1(_CLAIM, usedforsecurity=False).hexdigest().encode()
_COMMIT_SHA = hashlib.sha1(_COMMIT, usedforsecurity=False).hexdigest().encode()
_SECONDS = b"%d" % ID_SECONDS
_SHARD_KEYS = [(generation_key(n), fence_key(n), commit_no_key(n), journal_key(n)) for n in range(SHARDS)]


async def load_scripts(link: RedisLink) -> None:
    """Load both scripts.

    Raises:
        RedisLinkError: the connection is gone.
    """
    await link.trip(packed(b"SCRIPT", b"LOAD", _CLAIM) + packed(b"SCRIPT", b"LOAD", _COMMIT), 2)


def is_noscript(reply: object) -> bool:
    """Whether a reply says that the server has forgotten the script."""
    return isinstance(reply, ReplyError) and str(reply).startswith("NOSCRIPT")


def claim_command(claims: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The call that puts ids where none stand."""
    keys = [key for key, _ in claims]
    return packed(b"EVALSHA", _CLAIM_SHA, len(keys), *keys, _SECONDS, *[value for _, value in claims])


def commit_command(
    commits: Sequence[Commit], shards: Sequence[int], generations: Sequence[bytes], floors: Sequence[int]
) -> bytes:
    """The call that writes commits; `shards` are those that they name, in the order of the answer."""
    keys: list[bytes] = []
    arguments: list[bytes | int] = [len(shards), _SECONDS]
    position: dict[int, int] = {}
    for index, shard in enumerate(shards, start=1):
        position[shard] = index
        keys += _SHARD_KEYS[shard]
        arguments += (generations[shard], floors[shard])
    for c in commits:
        shard = c.shard
        spare = _SHARD_KEYS[shard][3]
        keys += (c.seen_key or spare, c.usage_key or spare)
        arguments += (position[shard], c.usage_was, c.usage_now, c.seen_was, c.seen_now, c.entry)
    return packed(b"EVALSHA", _COMMIT_SHA, len(keys), *keys, *arguments)
