"""One cycle of a lane: a read for all items, their decisions in order, one commit for all of them."""

from collections.abc import Sequence
from typing import Any

import structlog

from validator.adapters.redis_link import RedisLink, RedisLinkError, ReplyError, packed
from validator.adapters.redis_scripts import claim_command, commit_command, is_noscript, load_scripts
from validator.application.errors import BoardingError, Damaged, ShardFenced, UsageLost
from validator.application.ports import Commit, Item, Undecided, Values
from validator.records.keys import SHARDS, fence_key

_log = structlog.get_logger("catraca.hot_state")

_MOVED, _FENCED, _NOT_WRITTEN = 0, -1, -2


class Shards:
    """What this process knows of each shard.

    Attributes:
        generations: Generation, empty where there is none.
        floors: Highest commit number seen under that generation; a lower one means that Redis lost commits.
        fenced: Whether a fence stood when last seen.
    """

    def __init__(self) -> None:
        self.generations: list[bytes] = [b""] * SHARDS
        self.floors: list[int] = [0] * SHARDS
        self.fenced: list[bool] = [False] * SHARDS
        self.moved = self.refused = self.isolated = self.reloaded = self.cycles = self.items = 0

    def learn(self, shard: int, generation: bytes | None) -> bool:
        """Take note of a shard's generation; whether it is a new one."""
        generation = generation or b""
        if generation == self.generations[shard]:
            return False
        self.generations[shard] = generation
        self.floors[shard] = 0
        return True

    @property
    def any_open(self) -> bool:
        """Whether at least one shard has a generation and no fence."""
        return any(g and not f for g, f in zip(self.generations, self.fenced, strict=True))


class Cycle:
    """One read, one pass of decisions, one commit."""

    def __init__(self, link: RedisLink, shards: Shards) -> None:
        self._link = link
        self._shards = shards
        # Those under which the values are read: a shard that is rebuilt meanwhile refuses the commit.
        self._generations = list(shards.generations)
        self._values = Values()
        self._again: set[int] = set()
        self._lost: set[int] = set()
        self._poisoned: set[int] = set()

    async def run(self, items: Sequence[Item]) -> set[int]:
        """Settle items; the ids (`id()`) of those that must be read and decided again.

        Raises:
            RedisLinkError: the connection is gone; items that were not told yet may have been committed.
        """
        self._shards.cycles += 1
        self._shards.items += len(items)
        await self._read(items)
        pairs = self._decide(items)
        if pairs:
            await self._commit(pairs)
        if self._lost:
            await self._fence()
        return self._again

    # Reading

    async def _read(self, items: Sequence[Item]) -> None:
        claims = [item.claim for item in items if item.claim is not None]
        keys = list(dict.fromkeys(key for item in items for key in item.first_keys()))
        commands = (claim_command(claims) if claims else b"") + (packed(b"MGET", *keys) if keys else b"")
        replies = await self._link.trip(commands, bool(claims) + bool(keys)) if commands else []
        if claims:
            await self._note_claims(claims, replies[0])
        if keys:
            self._note(keys, replies[-1])
        while True:
            known = self._values
            more = list(
                dict.fromkeys(key for item in items for key in self._more_keys(item) if key not in known)
            )
            if not more:
                return
            (reply,) = await self._link.trip(packed(b"MGET", *more), 1)
            self._note(more, reply)

    def _more_keys(self, item: Item) -> Sequence[bytes]:
        if id(item) in self._poisoned:
            return ()
        try:
            return item.more_keys(self._values)
        except Exception:  # noqa: BLE001 - one poisoned record never fails its neighbours
            _log.exception("item_not_read")
            self._poisoned.add(id(item))
            item.failed(Damaged())
            return ()

    def _note(self, keys: list[bytes], reply: Any) -> None:
        if isinstance(reply, ReplyError):
            raise RedisLinkError(f"Redis answers with an error: {reply}")
        self._values.update(zip(keys, reply, strict=True))

    async def _note_claims(self, claims: list[tuple[bytes, bytes]], reply: Any) -> None:
        if is_noscript(reply):
            self._shards.reloaded += 1
            await load_scripts(self._link)
            (reply,) = await self._link.trip(claim_command(claims), 1)
        if isinstance(reply, ReplyError):
            _log.error("ids_not_written", why=str(reply))
            reply = [0] * len(claims)
        for (key, value), stood in zip(claims, reply, strict=True):
            # What stands under the id now; None where Redis would not write.
            if key not in self._values:
                self._values[key] = value if stood is None else None if stood == 0 else stood

    # Deciding

    def _decide(self, items: Sequence[Item]) -> list[tuple[Item, Commit]]:
        pairs = []
        values = self._values
        for item in items:
            if id(item) in self._poisoned:
                continue
            try:
                commit = item.decide(values)
            except Undecided:
                self._again.add(id(item))
                continue
            except BoardingError as error:
                if isinstance(error, UsageLost):
                    self._lost.add(error.shard)
                item.failed(error)
                continue
            except Exception:  # noqa: BLE001 - one poisoned record never fails its neighbours
                _log.exception("item_not_decided")
                item.failed(Damaged())
                continue
            if commit is None:
                continue
            pairs.append((item, commit))
            if commit.seen_key is not None:
                values[commit.seen_key] = commit.seen_now
                values.pending.add(commit.seen_key)
            if commit.usage_key is not None and commit.usage_now:
                values[commit.usage_key] = commit.usage_now
        return pairs

    # Committing

    async def _commit(self, pairs: list[tuple[Item, Commit]]) -> None:
        shards = list(dict.fromkeys(commit.shard for _, commit in pairs))
        command = commit_command(
            [commit for _, commit in pairs], shards, self._generations, self._shards.floors
        )
        (reply,) = await self._link.trip(command, 1)
        if is_noscript(reply):
            self._shards.reloaded += 1
            await load_scripts(self._link)
            (reply,) = await self._link.trip(command, 1)
        if isinstance(reply, ReplyError):
            await self._isolate(pairs, reply)
            return
        changed = {
            shard
            for shard, generation in zip(shards, reply[len(pairs) :], strict=True)
            if self._shards.learn(shard, generation) and generation
        }
        for (item, commit), result in zip(pairs, reply, strict=False):
            self._tell(item, commit, result, commit.shard in changed)

    async def _isolate(self, pairs: list[tuple[Item, Commit]], error: ReplyError) -> None:
        """A call that failed as a whole: each item alone, so that the one that broke it fails alone."""
        _log.error("commit_failed", items=len(pairs), why=str(error))
        self._shards.isolated += 1
        if len(pairs) == 1:
            pairs[0][0].failed(Damaged())
            return
        for pair in pairs:
            await self._commit([pair])

    def _tell(self, item: Item, commit: Commit, result: int | bytes, generation_changed: bool) -> None:
        if isinstance(result, bytes):
            try:
                item.replayed(result)
            except Exception:  # noqa: BLE001 - one poisoned record never fails its neighbours
                _log.exception("answer_not_read")
                item.failed(Damaged())
        elif result > 0:
            self._shards.floors[commit.shard] = max(self._shards.floors[commit.shard], result)
            item.committed()
        elif result == _MOVED or (result == _FENCED and generation_changed):
            self._shards.moved += 1
            self._again.add(id(item))
        elif result == _FENCED:
            self._shards.refused += 1
            item.failed(ShardFenced())
        else:
            item.failed(Damaged())

    async def _fence(self) -> None:
        commands = [packed(b"SET", fence_key(shard), b"usage", b"NX") for shard in self._lost]
        _log.error("usage_lost", shards=sorted(self._lost))
        await self._link.trip(b"".join(commands), len(commands))
