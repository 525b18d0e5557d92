"""The journal streams of all shards: read in bounded portions, trimmed when SQL has what was read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from backoffice.adapters.redis_link import RedisLink
from validator.records.journal import STREAM_FIELD_COMMIT, STREAM_FIELD_ENTRY, STREAM_FIELD_GENERATION
from validator.records.keys import SHARDS, journal_key

START = "0-0"
"""The position before the first entry of a stream."""

_SHARD_OF = {journal_key(number): number for number in range(SHARDS)}


class StreamItem(NamedTuple):
    """One entry of a stream, undecoded.

    Attributes:
        shard: Number of the shard.
        stream_id: `milliseconds-number`, increasing within a stream; milliseconds of the server's clock.
        entry: Packed journal entry.
        commit_no: Number of the shard's commit; 0 where it cannot be read.
        generation: Generation of the shard; 0 where it cannot be read.
    """

    shard: int
    stream_id: str
    entry: bytes
    commit_no: int
    generation: int

    @property
    def place(self) -> tuple[int, int, int]:
        """Where it stands among the items of all shards: by the server's clock, then by shard."""
        return (*stream_place(self.stream_id), self.shard)


def stream_place(stream_id: str) -> tuple[int, int]:
    """A stream id as numbers, which compare as the stream orders them."""
    millis, _, number = stream_id.partition("-")
    return int(millis), int(number or 0)


def read_streams(link: RedisLink, positions: Mapping[int, str], *, count: int) -> list[StreamItem]:
    """Entries after a position of each stream, ordered by place; at most `count` of each stream.

    Args:
        link: The connection.
        positions: Position by shard.
        count: Bound on the entries of one stream, so that memory stays bounded after a long pause.

    Raises:
        redis.RedisError: the server is gone.
    """
    keys = map(journal_key, positions)
    answer = link.client.execute_command("XREAD", "COUNT", count, "STREAMS", *keys, *positions.values())
    placed = []
    for key, entries in answer or ():
        shard = _SHARD_OF[key]
        for stream_id, fields in entries:
            millis, _, number = stream_id.partition(b"-")
            item = StreamItem(shard, stream_id.decode(), *_values(fields))
            placed.append((int(millis), int(number), shard, item))
    placed.sort()  # no two stand at one place, so that items are never compared
    return [place[3] for place in placed]


def _values(fields: Sequence[bytes] | None) -> tuple[bytes, int, int]:
    """Entry, commit and generation; `fields` are names and values by turns, mostly in the order of validators."""
    if fields is not None and len(fields) == 6:
        entry_name, entry, commit_name, commit_no, generation_name, generation = fields
        if (entry_name, commit_name, generation_name) == _IN_ORDER:
            return entry, _number(commit_no), _number(generation)
    named = dict(zip(fields[::2], fields[1::2], strict=False)) if fields else {}
    entry, commit_no, generation = (named.get(name, b"") for name in _IN_ORDER)
    return entry, _number(commit_no), _number(generation)


_IN_ORDER = (STREAM_FIELD_ENTRY, STREAM_FIELD_COMMIT, STREAM_FIELD_GENERATION)


def _number(text: bytes) -> int:
    return int(text) if len(text) < 19 and text.isdigit() else 0


def trim_commands(positions: Iterable[tuple[int, str]]) -> list[tuple[bytes | str, ...]]:
    """Commands that drop all entries up to a position (inclusive) from each stream."""
    commands: list[tuple[bytes | str, ...]] = []
    for number, position in positions:
        millis, place = stream_place(position)
        commands.append(("XTRIM", journal_key(number), "MINID", f"{millis}-{place + 1}"))
    return commands


@dataclass(frozen=True, slots=True)
class Waiting:
    """What is not in SQL yet.

    Attributes:
        entries: Number of entries in all streams.
        seconds: Age of the oldest of them by the server's clock, 0 where there is none.
    """

    entries: int
    seconds: float


def waiting(link: RedisLink) -> Waiting:
    """How many entries wait, and since when."""
    pipe = link.client.pipeline(transaction=False)
    pipe.time()
    for number in range(SHARDS):
        pipe.xlen(journal_key(number))
        pipe.xrange(journal_key(number), count=1)
    (seconds, micros), *answers = pipe.execute()
    now = seconds * 1_000 + micros // 1_000
    firsts = [stream_place(rows[0][0].decode())[0] for rows in answers[1::2] if rows]
    return Waiting(sum(answers[0::2]), max(0, now - min(firsts, default=now)) / 1_000)


def stream_ends(link: RedisLink) -> dict[int, str]:
    """The last entry of each stream that holds any."""
    pipe = link.client.pipeline(transaction=False)
    for number in range(SHARDS):
        pipe.xrevrange(journal_key(number), count=1)
    return {number: rows[0][0].decode() for number, rows in enumerate(pipe.execute()) if rows}


def entries_until(link: RedisLink, ends: Mapping[int, str]) -> int:
    """How many entries wait in the streams that still hold one at or before its end."""
    pipe = link.client.pipeline(transaction=False)
    for number, end in ends.items():
        pipe.xlen(journal_key(number))
        pipe.xrange(journal_key(number), max=end, count=1)
    answers = pipe.execute()
    return sum(length for length, first in zip(answers[0::2], answers[1::2], strict=True) if first)
