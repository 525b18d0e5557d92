"""The back office's writes into Redis: records of the publisher, fences and generations, what is durable.

Commands go out in pipelines without MULTI; each command or script touches the keys of one shard only.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any
from uuid import UUID

import redis

from backoffice.adapters.redis_link import RedisLink
from validator.records.keys import (
    CITY,
    DURABLE_SECONDS,
    ID_SECONDS,
    SHARDS,
    VERIFIED,
    boarding_shard,
    commit_no_key,
    device_key,
    device_shard,
    durable_key,
    fence_key,
    generation_key,
    holder_key,
    journal_key,
    raw_id_key,
    raw_seen_key,
    shard,
    uid_key,
    usage_key,
)
from validator.records.packing import RecordError, revision_of
from validator.records.snapshot import DurableRecord, pack_durable

_SCRIPT = (resources.files("backoffice.adapters") / "publish.lua").read_text("utf-8")
_CHUNK = 2_000
_EXPIRE = "for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, ARGV[1]) end"
"""One command for the keys of a shard: answers that are let go are most of what an ingester says to Redis."""
_EXPIRE_CHUNK = 500


class EvictingRedis(RuntimeError):
    """The server may drop keys by itself, which would lose counts; the message says what to set."""


@dataclass(frozen=True, slots=True)
class ShardState:
    """What Redis says of a shard: its generation (None for an empty one), commits so far, and whether it is fenced."""

    generation: int | None
    commit_no: int
    fenced: bool


@dataclass(frozen=True, slots=True)
class Publication:
    """A record to publish, led by its revision; for a holder `usage_key` and, the first time, an empty usage."""

    key: bytes
    record: bytes
    usage_key: bytes | None = None
    first_usage: bytes = b""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer to restore: `id` and `seen` of a boarding; `durable` ones are kept for a day, others for 46."""

    boarding_id: str
    home: int
    id_record: bytes
    answer: bytes
    durable: bool


class HotState:
    """The hot state at the other end of one link."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._client = link.client
        self._sha: str = self._client.script_load(_SCRIPT)
        self._unsaid: dict[tuple[str, int], DurableRecord] = {}

    @property
    def link(self) -> RedisLink:
        """The link."""
        return self._link

    def refuse_eviction(self) -> None:
        """Refuse a server that may drop keys.

        Raises:
            EvictingRedis: its policy is another than `noeviction`.
        """
        policy = self._client.info("memory").get("maxmemory_policy", "noeviction")
        if policy != "noeviction":
            raise EvictingRedis(
                f"O servidor Redis descarta chaves sozinho (maxmemory-policy {policy}), o que perderia contagens. "
                "Configure-o com: CONFIG SET maxmemory-policy noeviction"
            )

    def shard_states(self, shards: Sequence[int] = range(SHARDS)) -> list[ShardState]:
        """What Redis says of shards, in their order."""
        pipe = self._pipe()
        for number in shards:
            pipe.mget(generation_key(number), commit_no_key(number), fence_key(number))
        return [
            ShardState(
                None if generation is None else int(generation), int(commit_no or 0), fence is not None
            )
            for generation, commit_no, fence in pipe.execute()
        ]

    def verified(self) -> bool:
        """Whether the process at the other end has been compared with SQL."""
        value: bytes | None = self._client.get(VERIFIED)
        return value is not None and value.decode() == self._link.run_id

    def set_verified(self) -> None:
        """Say that the process at the other end has been compared with SQL: validators may answer from it."""
        self._client.set(VERIFIED, self._link.run_id)

    def raise_fences(self, shards: Iterable[int]) -> None:
        """Fence shards: nothing is committed there until they are opened."""
        pipe = self._pipe()
        for number in shards:
            pipe.set(fence_key(number), "rebuild")
        pipe.execute()

    def open_shard(self, number: int, generation: int, commit_no: int) -> None:
        """Open a rebuilt shard under a new generation; its stream, which is all in SQL, is emptied."""
        pipe = self._client.pipeline(transaction=True)
        pipe.xtrim(journal_key(number), maxlen=0, approximate=False)
        pipe.set(commit_no_key(number), commit_no)
        pipe.set(generation_key(number), generation)
        pipe.delete(fence_key(number))
        pipe.execute()

    def publish(self, publications: Sequence[Publication]) -> int:
        """Write records, none over a newer one; returns how many were written."""
        written = 0
        for start in range(0, len(publications), _CHUNK):
            chunk = publications[start : start + _CHUNK]
            try:
                written += self._publish(chunk)
            except redis.exceptions.NoScriptError:
                self._sha = self._client.script_load(_SCRIPT)
                written += self._publish(chunk)
        return written

    def _publish(self, chunk: Sequence[Publication]) -> int:
        pipe = self._pipe()
        for one in chunk:
            if one.usage_key is None:
                pipe.evalsha(self._sha, 1, one.key, one.record)
            else:
                pipe.evalsha(self._sha, 2, one.key, one.usage_key, one.record, one.first_usage)
        return sum(pipe.execute())

    def write_usage(self, usages: Iterable[tuple[str, bytes]]) -> None:
        """Overwrite the usage of holders of one shard, which must be fenced."""
        written = {usage_key(holder): usage for holder, usage in usages}
        if written:
            self._client.mset(written)

    def restore_answers(self, answers: Iterable[KeptAnswer]) -> None:
        """Write `id` and `seen` of boardings again; for fenced shards only."""
        pipe = self._pipe()
        for one in answers:
            boarding, seconds = UUID(one.boarding_id).bytes, DURABLE_SECONDS if one.durable else ID_SECONDS
            pipe.execute_command("SET", raw_id_key(boarding), one.id_record, "EX", seconds)
            pipe.execute_command("SET", raw_seen_key(one.home, boarding), one.answer, "EX", seconds)
        pipe.execute()

    def write_durable(self, durable: Iterable[tuple[tuple[str, int], DurableRecord]]) -> None:
        """Say what is durable of epochs."""
        pipe = self._pipe()
        _write_durable(pipe, durable)
        pipe.execute()

    def acknowledge(
        self,
        durable: Iterable[tuple[tuple[str, int], DurableRecord]],
        expiring: Iterable[tuple[bytes, int]],
        trims: Iterable[tuple[bytes | str, ...]],
    ) -> None:
        """After the commit in SQL: trim the streams, let go of answers in a day, say what is durable.

        A server without memory refuses the last; it is said again at the next acknowledgement, when the streams that
        were trimmed have made room.
        """
        pipe = self._pipe()
        for command in trims:
            pipe.execute_command(*command)
        for keys in _expiring_keys(expiring):
            pipe.eval(_EXPIRE, len(keys), *keys, DURABLE_SECONDS)
        self._unsaid.update(durable)
        _write_durable(pipe, self._unsaid.items())
        faults = [fault for fault in pipe.execute(raise_on_error=False) if isinstance(fault, Exception)]
        for fault in faults:
            if not isinstance(fault, redis.exceptions.OutOfMemoryError):
                raise fault
        if not faults:
            self._unsaid.clear()

    def city(self) -> bytes | None:
        """The city's record as it stands."""
        record: bytes | None = self._client.get(CITY)
        return record

    def published_revisions(self, keys: Sequence[bytes]) -> list[int]:
        """Revisions of the publisher's records under these keys; 0 where there is none."""
        pipe = self._pipe()
        for key in keys:
            pipe.getrange(key, 0, 9)
        return [_revision(head) for head in pipe.execute()]

    def without_usage(self, holders: Sequence[str]) -> list[str]:
        """Those of these holders who have no usage."""
        pipe = self._pipe()
        for holder in holders:
            pipe.exists(usage_key(holder))
        return [holder for holder, found in zip(holders, pipe.execute(), strict=True) if not found]

    def _pipe(self) -> Any:
        return self._client.pipeline(transaction=False)


def _write_durable(pipe: Any, durable: Iterable[tuple[tuple[str, int], DurableRecord]]) -> None:
    """One command for each shard."""
    by_shard: dict[int, list[bytes]] = {}
    for (device, epoch), record in durable:
        command = by_shard.setdefault(device_shard(device), [])
        command += (durable_key(device, epoch), pack_durable(record))
    for command in by_shard.values():
        pipe.execute_command("MSET", *command)


def _expiring_keys(expiring: Iterable[tuple[bytes, int]]) -> Iterator[list[bytes]]:
    """The `id` and `seen` of boardings, in portions of one shard each."""
    by_shard: list[list[bytes]] = [[] for _ in range(SHARDS)]
    for boarding, home in expiring:
        by_shard[shard(boarding)].append(raw_id_key(boarding))
        by_shard[home].append(raw_seen_key(home, boarding))
    for keys in by_shard:
        for start in range(0, len(keys), _EXPIRE_CHUNK):
            yield keys[start : start + _EXPIRE_CHUNK]


def holder_publication(holder: str, record: bytes, *, first_usage: bytes = b"") -> Publication:
    """A holder's snapshot to publish."""
    return Publication(holder_key(holder), record, usage_key(holder), first_usage)


def uid_publication(uid: bytes, record: bytes) -> Publication:
    """The holder of a chip to publish."""
    return Publication(uid_key(uid), record)


def device_publication(device: str, record: bytes) -> Publication:
    """A device's record to publish."""
    return Publication(device_key(device), record)


def city_publication(record: bytes) -> Publication:
    """The city's record to publish."""
    return Publication(CITY, record)


def shards_of_boarding(boarding_id: str, home: int) -> tuple[int, int]:
    """The two shards that hold a boarding: its home, and the one of its id."""
    return home, boarding_shard(UUID(boarding_id))


def _revision(head: bytes) -> int:
    try:
        return revision_of(head)
    except RecordError:
        return 0
