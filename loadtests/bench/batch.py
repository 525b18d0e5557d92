"""Uploads of 500 taps: a garage at six o'clock, one worker."""

from collections.abc import Iterator

import msgspec
import redis

from loadtests.bench.audit import WrongAnswer, clear_run, journal
from loadtests.bench.city import DEVICES
from loadtests.bench.generator import Load, closed_loop
from loadtests.bench.stage import Stage, now
from loadtests.bench.table import Measured, Outcome
from loadtests.bench.taps import TapMaker, Taps
from validator.records.codes import EntryKind

BATCH = 500
_CONNECTIONS = 4


class _Item(msgspec.Struct):
    device_seq: int
    recorded: bool
    verdict: str | None = None


class _Answer(msgspec.Struct):
    items: list[_Item]
    head_recorded: bool


_answer = msgspec.json.Decoder(_Answer)


def measure_batch(stage: Stage) -> Iterator[Outcome]:
    """Taps a second of one worker that answers uploads; every tap of every upload is in the journal afterwards."""
    samples = []
    with stage.redis(stage.tier.holders) as (url, city), stage.validator(url) as port:
        maker = TapMaker(city)
        for _ in range(stage.tier.rounds + 1):
            uploads = min(DEVICES, max(8, int(stage.tier.most_per_second * stage.tier.seconds / BATCH)))
            taps = maker.batches(uploads, BATCH, now())
            load = closed_loop(port, taps.requests, connections=_CONNECTIONS, seconds=600, warm_up_s=0.0)
            recorded = audit_batches(url, taps, load)
            clear_run(url, taps)
            samples.append(load.counted * BATCH / load.seconds)
            stage.say(f"batches of {BATCH}: {samples[-1]:,.0f} taps/s, audited {recorded:,}")
            stage.figures.add("batch of 500, p99", "ms", load.quantile_ms(0.99))
    # The first round is the cold one: no device, token or holder was seen before.
    stage.figures.add("batch of 500, cold", "taps/s", samples[0])
    yield Measured(
        "batch_500",
        samples[1:],
        note=f"tokens seen before; cold: {samples[0]:,.0f}. They are compared with the snapshot's hash, not verified",
    )


def audit_batches(url: str, taps: Taps, load: Load) -> int:
    """Compare what was answered with the journal: each recorded item is there once, each head too.

    Raises:
        WrongAnswer: they differ.
    """
    said = heads = 0
    for answer in load.answers:
        if answer.status != 200:
            raise WrongAnswer(f"an upload was answered {answer.status}: {answer.body[:300]!r}")
        told = _answer.decode(answer.body)
        heads += told.head_recorded
        said += sum(item.recorded for item in told.items)
    with redis.Redis.from_url(url) as client:
        kinds = [entry.kind for entry in journal(client)]
    written_heads = kinds.count(EntryKind.HEAD)
    if (said, heads) != (len(kinds) - written_heads, written_heads):
        raise WrongAnswer(f"answered {said} entries and {heads} heads, the journal has {len(kinds)} in all")
    return said
