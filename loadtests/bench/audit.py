"""The count of a run that does not trust the service: every answer against the journal and the usage in Redis.

WrongAnswer    an answer, its journal entry and the holder's usage do not say the same
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

import msgspec
import redis

from loadtests.bench.city import USED, Rider, device_id, reset_usage
from loadtests.bench.generator import Load
from loadtests.bench.taps import Taps
from validator.domain.vocabulary import Category
from validator.records.codes import EntryKind
from validator.records.journal import STREAM_FIELD_ENTRY, JournalEntry, unpack_entry
from validator.records.keys import (
    SHARDS,
    device_shard,
    holder_shard,
    id_key,
    journal_key,
    seen_key,
    usage_key,
)
from validator.records.usage import unpack_usage

Stretch = list[tuple[bytes, dict[bytes, bytes]]]

_UNIT = 2_000


class WrongAnswer(AssertionError):
    """An answer, its journal entry and the holder's usage do not say the same."""


class _Reason(msgspec.Struct):
    code: int
    name: str


class _Single(msgspec.Struct):
    boarding_id: str
    outcome: str
    reason: _Reason
    fare_cents: int
    rider_cents: int
    replayed: bool


_single = msgspec.json.Decoder(_Single)


@dataclass(slots=True)
class Audit:
    """What the count found.

    Attributes:
        outcomes: Answers by `status outcome reason`.
        entries: Journal entries of the run.
        unanswered: Taps that are in the journal though their client got no 200: recorded, and the answer lost.
        purse_rides: Accepted rides that spent a pass.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    entries: int = 0
    unanswered: int = 0
    purse_rides: int = 0

    def told(self) -> str:
        """The outcomes in one line."""
        return ", ".join(f"{name} {count:,}" for name, count in self.outcomes.most_common())


def audit_singles(url: str, taps: Taps, load: Load) -> Audit:
    """Compare every answer of a run on the single route with the journal and with the holders' usage.

    The journal must have been empty, and the holders' usage as seeded, before the run.

    Raises:
        WrongAnswer: the first difference.
    """
    audit = Audit()
    with redis.Redis.from_url(url) as client:
        entries = _entries_by_id(client)
        audit.entries = len(entries)
        spent: Counter[str] = Counter()
        answered = set()
        for answer in load.answers:
            if answer.status != 200:
                audit.outcomes[f"{answer.status}"] += 1
                continue
            said = _single.decode(answer.body)
            audit.outcomes[f"200 {said.outcome} {said.reason.name}"] += 1
            _compare(said, entries, taps, answer.index)
            answered.add(UUID(said.boarding_id).bytes)
        unanswered = [entry for raw, entry in entries.items() if raw not in answered]
        audit.unanswered = len(unanswered)
        _refuse_strangers(unanswered, taps)
        for entry in entries.values():
            if entry.holder_id is not None and any(effect.uses is not None for effect in entry.effects):
                spent[entry.holder_id] += 1
        audit.purse_rides = spent.total()
        _compare_usage(client, taps.riders, spent)
    return audit


def _entries_by_id(client: "redis.Redis") -> dict[bytes, JournalEntry]:
    entries: dict[bytes, JournalEntry] = {}
    for entry in journal(client):
        if entry.boarding is None:
            continue
        if entry.boarding in entries:
            raise WrongAnswer(f"two journal entries for boarding {UUID(bytes=entry.boarding)}")
        entries[entry.boarding] = entry
    return entries


def journal(client: "redis.Redis") -> Iterator[JournalEntry]:
    """All entries of all streams."""
    for number in range(SHARDS):
        after = "-"
        while chunk := cast(Stretch, client.xrange(journal_key(number), min=after, count=_UNIT)):
            yield from (unpack_entry(fields[STREAM_FIELD_ENTRY]) for _, fields in chunk)
            after = "(" + chunk[-1][0].decode()


def _compare(said: _Single, entries: dict[bytes, JournalEntry], taps: Taps, index: int) -> None:
    expected = taps.boarding_ids[index]
    entry = entries.get(UUID(said.boarding_id).bytes)
    if said.boarding_id != expected or entry is None:
        raise WrongAnswer(f"tap {expected} was answered {said.outcome} and is not in the journal")
    kind = EntryKind.BOARDING if said.outcome == "accepted" else EntryKind.REFUSAL
    holder = taps.riders[index].holder_id or None
    facts = (kind, said.reason.code, said.fare_cents, said.rider_cents, holder, False)
    written = (entry.kind, entry.reason, entry.fare_cents, entry.rider_cents, entry.holder_id, said.replayed)
    if facts != written:
        raise WrongAnswer(f"tap {expected}: answered {facts}, journal says {written}")
    if entry.rider_cents + entry.city_cents + entry.operator_cents != entry.fare_cents:
        raise WrongAnswer(f"tap {expected}: the parts of the fare do not add up")


def _refuse_strangers(unanswered: Sequence[JournalEntry], taps: Taps) -> None:
    known = {UUID(text).bytes for text in taps.boarding_ids} if unanswered else set()
    for entry in unanswered:
        if entry.boarding not in known:
            raise WrongAnswer(f"the journal has a boarding that nobody sent: {entry}")


def _compare_usage(client: "redis.Redis", riders: Sequence[Rider], spent: Counter[str]) -> None:
    holders = {rider.holder_id: rider.category for rider in riders if rider.holder_id}
    names = list(holders)
    for start in range(0, len(names), _UNIT):
        chunk = names[start : start + _UNIT]
        values = cast(list[bytes], client.mget([usage_key(name) for name in chunk]))
        for name, packed in zip(chunk, values, strict=True):
            used = sum(count for _, count in unpack_usage(packed).used.items())
            if used - _used_before(holders[name]) != spent[name]:
                raise WrongAnswer(
                    f"holder {name}: usage counts {used} passes, the journal {spent[name]} more"
                )


def _used_before(category: Category) -> int:
    return USED if category in (Category.VT, Category.PREPAID, Category.STUDENT_50) else 0


def clear_run(url: str, taps: Taps) -> None:
    """Take a run's journal, ids and answers out of Redis and set its holders back, for the next run."""
    with redis.Redis.from_url(url) as client:
        pipe = client.pipeline(transaction=False)
        for number in range(SHARDS):
            pipe.xtrim(journal_key(number), maxlen=0, approximate=False)
        pipe.execute()
        keys = []
        for text, rider, device in zip(taps.boarding_ids, taps.riders, taps.devices, strict=True):
            boarding_id = UUID(text)
            keys.append(id_key(boarding_id))
            home = holder_shard(rider.holder_id) if rider.holder_id else device_shard(device_id(device))
            keys.append(seen_key(home, boarding_id))
        for start in range(0, len(keys), _UNIT):
            client.unlink(*keys[start : start + _UNIT])
    reset_usage(url, taps.riders)
