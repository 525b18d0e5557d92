"""One cycle: a read for all its items, their decisions in order, one commit for all of them.

The lane carries the bytes: `ask` and `learn` are the read, `decide` comes between, `write` and `tell` are the commit.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import structlog

from validator.adapters.redis_link import RedisLink, ReplyError, packed, refuse_error
from validator.adapters.redis_scripts import claim_command, commit_command, is_noscript, load_scripts
from validator.application.errors import BoardingError, Damaged, HotStateFull, ShardFenced, UsageLost
from validator.application.ports import Commit, Item, Undecided, Values
from validator.records.keys import SHARDS, fence_key

_log = structlog.get_logger("catraca.hot_state")

_MOVED, _FENCED, _FULL = 0, -1, -3


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

    def learn(self, shard: int, generation: bytes | None) -> None:
        """Take note of a shard's generation."""
        generation = generation or b""
        if generation != self.generations[shard]:
            self.generations[shard] = generation
            self.floors[shard] = 0

    @property
    def any_open(self) -> bool:
        """Whether at least one shard has a generation and no fence."""
        return any(g and not f for g, f in zip(self.generations, self.fenced, strict=True))


class Cycle:
    """One read, one pass of decisions, one commit.

    Attributes:
        items: Its items, in order.
        again: Those (`id()`) that must be read and decided again.
    """

    def __init__(self, items: list[Item], shards: Shards) -> None:
        self.items = items
        self.again: set[int] = set()
        self._shards = shards
        # Those under which the values are read: a shard that is rebuilt meanwhile refuses the commit.
        self._generations = shards.generations.copy()
        self._values = Values()
        self._lost: set[int] = set()
        self._full: set[bytes] = set()
        self._pairs: list[tuple[Item, Commit]] = []
        self._claims = [item.claim for item in items if item.claim is not None]
        self._keys = list(dict.fromkeys(chain.from_iterable([item.first_keys() for item in items])))
        shards.cycles += 1
        shards.items += len(items)

    # Reading

    def ask(self) -> tuple[bytes, int]:
        """The commands that read all items, and how many replies they have."""
        read = packed(b"MGET", *self._keys)
        return (claim_command(self._claims) + read, 2) if self._claims else (read, 1)

    async def learn(self, replies: Sequence[Any], link: RedisLink) -> None:
        """Take the replies, and read on where some item must know more.

        Raises:
            RedisLinkError: the connection is gone, or Redis does not answer a read.
        """
        self._note(self._keys, replies[-1])
        if self._claims:
            await self._note_claims(replies[0], link)
        curious = [item for item in self.items if item.reads_on]
        while curious:
            known = self._values
            wanted = dict.fromkeys(
                key for item in curious for key in self._more_keys(item) if key not in known
            )
            if not wanted:
                return
            more = list(wanted)
            (reply,) = await link.trip(packed(b"MGET", *more), 1)
            self._note(more, reply)

    def _more_keys(self, item: Item) -> Sequence[bytes]:
        try:
            return item.more_keys(self._values)
        except Exception:  # noqa: BLE001 - one poisoned record never fails its neighbours
            return ()  # it says so itself when it decides

    def _note(self, keys: list[bytes], reply: Any) -> None:
        refuse_error(reply)
        self._values.update(zip(keys, reply, strict=True))

    async def _note_claims(self, reply: Any, link: RedisLink) -> None:
        if is_noscript(reply):
            self._shards.reloaded += 1
            await load_scripts(link)
            (reply,) = await link.trip(claim_command(self._claims), 1)
        if isinstance(reply, ReplyError):
            _log.error("ids_not_written", why=str(reply))
            reply = [0] * len(self._claims)
        values = self._values
        for (key, value), stood in zip(self._claims, reply, strict=True):
            if stood == _FULL:
                self._full.add(key)
            elif key not in values:
                # What stands under the id now; None where Redis would not write.
                values[key] = value if stood is None else None if stood == 0 else stood

    # Deciding

    def decide(self) -> bool:
        """Decide all items in order; whether something must be written."""
        values = self._values
        for item in self.items:
            try:
                if self._full and item.claim is not None and item.claim[0] in self._full:
                    raise HotStateFull
                commit = item.decide(values)
            except Undecided:
                self.again.add(id(item))
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
            self._pairs.append((item, commit))
            if commit.seen_key is not None:
                values[commit.seen_key] = commit.seen_now
                values.pending.add(commit.seen_key)
            if commit.usage_key is not None and commit.usage_now:
                values[commit.usage_key] = commit.usage_now
        return bool(self._pairs)

    async def fence(self, link: RedisLink) -> None:
        """Put a fence before each shard of which a count is lost.

        Raises:
            RedisLinkError: the connection is gone.
        """
        if self._lost:
            commands = [packed(b"SET", fence_key(shard), b"usage", b"NX") for shard in self._lost]
            _log.error("usage_lost", shards=sorted(self._lost))
            await link.trip(b"".join(commands), len(commands))

    # Committing

    def write(self) -> bytes:
        """The one command that writes all that was decided."""
        return _command(self._pairs, self._generations, self._shards)

    async def tell(self, reply: Any, link: RedisLink) -> None:
        """Tell each item what became of its commit.

        Raises:
            RedisLinkError: the connection is gone; items that were not told yet may have been committed.
        """
        await self._tell_pairs(self._pairs, reply, link)

    async def _tell_pairs(self, pairs: list[tuple[Item, Commit]], reply: Any, link: RedisLink) -> None:
        if is_noscript(reply):
            self._shards.reloaded += 1
            await load_scripts(link)
            (reply,) = await link.trip(_command(pairs, self._generations, self._shards), 1)
        if isinstance(reply, ReplyError):
            await self._isolate(pairs, reply, link)
            return
        for shard, generation in zip(_shards_of(pairs), reply[len(pairs) :], strict=True):
            self._shards.learn(shard, generation)
        floors = self._shards.floors
        for (item, commit), result in zip(pairs, reply, strict=False):
            if type(result) is int and result > 0:
                if result > floors[commit.shard]:
                    floors[commit.shard] = result
                item.committed()
            else:
                self._tell_unwritten(item, commit, result)

    async def _isolate(self, pairs: list[tuple[Item, Commit]], error: ReplyError, link: RedisLink) -> None:
        """A call that failed as a whole: each item alone, so that the one that broke it fails alone."""
        _log.error("commit_failed", items=len(pairs), why=str(error))
        self._shards.isolated += 1
        if len(pairs) == 1:
            pairs[0][0].failed(Damaged())
            return
        for pair in pairs:
            (reply,) = await link.trip(_command([pair], self._generations, self._shards), 1)
            await self._tell_pairs([pair], reply, link)

    def _tell_unwritten(self, item: Item, commit: Commit, result: int | bytes) -> None:
        if isinstance(result, bytes):
            try:
                item.replayed(result)
            except Exception:  # noqa: BLE001 - one poisoned record never fails its neighbours
                _log.exception("answer_not_read")
                item.failed(Damaged())
            return
        known = self._shards.generations[commit.shard]
        rebuilt = known != b"" and known != self._generations[commit.shard]
        if result == _MOVED or (result == _FENCED and rebuilt):
            self._shards.moved += 1
            self.again.add(id(item))
        elif result == _FENCED:
            self._shards.refused += 1
            item.failed(ShardFenced())
        else:
            item.failed(HotStateFull() if result == _FULL else Damaged())


def _command(pairs: list[tuple[Item, Commit]], generations: Sequence[bytes], shards: Shards) -> bytes:
    return commit_command([commit for _, commit in pairs], _shards_of(pairs), generations, shards.floors)


def _shards_of(pairs: list[tuple[Item, Commit]]) -> list[int]:
    """The shards that commits name, in the order of the command's keys and of its answer."""
    return list(dict.fromkeys([commit.shard for _, commit in pairs]))
