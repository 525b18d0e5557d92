"""The single route against doing nothing, against peers, under one hot holder, and with every write on disk."""

import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import redis

from loadtests.bench.audit import audit_singles, clear_run
from loadtests.bench.city import BenchCity, Rider
from loadtests.bench.generator import Load, closed_loop
from loadtests.bench.peer_city import count_of_peer, write_peer_city
from loadtests.bench.stage import Stage, now
from loadtests.bench.table import Measured, Outcome
from loadtests.bench.taps import TapMaker, Taps
from validator.domain.vocabulary import Category


@dataclass(slots=True)
class SingleRoute:
    """A validator with its city, and taps for it; every run is audited and then taken out again."""

    stage: Stage
    redis_url: str
    port: int
    city: BenchCity
    maker: TapMaker

    def taps(self, *, riders: Sequence[Rider] | None = None, seconds: float | None = None) -> Taps:
        """Enough taps for one measurement."""
        length = (seconds or self.stage.tier.seconds) + 1
        return self.maker.singles(int(self.stage.tier.most_per_second * length), now(), riders=riders)

    def run(self, *, riders: Sequence[Rider] | None = None) -> tuple[Load, Taps]:
        """One audited measurement of its capacity."""
        taps = self.taps(riders=riders)
        load = closed_loop(self.port, taps.requests, seconds=self.stage.tier.seconds)
        audit = audit_singles(self.redis_url, taps, load)
        self.stage.say(f"single {load.per_second:,.0f}/s, audited {audit.entries:,}: {audit.told()}")
        clear_run(self.redis_url, taps)
        return load, taps


def measure_single(stage: Stage) -> Iterator[Outcome]:
    """The single route vs nulls and peers, in turns."""
    with ExitStack() as stack:
        url, city = stack.enter_context(stage.redis(stage.tier.holders))
        route = SingleRoute(stage, url, stack.enter_context(stage.validator(url)), city, TapMaker(city))
        first, _ = route.run()
        size = round(statistics.median(len(a.body) for a in first.answers if a.status == 200))
        raw = stack.enter_context(stage.null("raw", answer_bytes=size))
        shim = stack.enter_context(stage.null("shim", answer_bytes=size))
        postgres = stack.enter_context(stage.postgres())
        peers = {name: stack.enter_context(stage.peer(name, postgres)) for name in ("row_lock", "one_call")}
        ratios: dict[str, list[float]] = {"null": [], "p99": [], "row_lock": []}
        for _ in range(stage.tier.rounds):
            _round(route, raw, shim, postgres, peers, ratios)
    yield Measured("single_vs_null", ratios["null"])
    yield Measured("single_p99_vs_null", ratios["p99"])
    yield Measured("single_vs_row_lock", ratios["row_lock"])


def _round(
    route: SingleRoute,
    raw: int,
    shim: int,
    postgres: str,
    peers: dict[str, int],
    ratios: dict[str, list[float]],
) -> None:
    """Each side once. The null runs on both sides of the boarding, so that a drift of the machine cancels out."""
    figures, seconds = route.stage.figures, route.stage.tier.seconds
    taps = route.taps()
    bare = closed_loop(raw, taps.requests * 2, seconds=seconds)
    figures.add("null, raw ASGI", "req/s", bare.per_second)
    before = closed_loop(shim, taps.requests * 2, seconds=seconds)
    ours, _ = route.run()
    after = closed_loop(shim, taps.requests * 2, seconds=seconds)
    null = (before.per_second + after.per_second) / 2
    null_p99 = (before.quantile_ms(0.99) + after.quantile_ms(0.99)) / 2
    figures.add("null, same shim", "req/s", null)
    figures.add("null, same shim, p99", "ms", null_p99)
    figures.add("single boarding", "req/s", ours.per_second)
    figures.add("single boarding, p50", "ms", ours.quantile_ms(0.5))
    figures.add("single boarding, p99", "ms", ours.quantile_ms(0.99))
    if bare.per_second > 0:
        figures.add("single boarding vs the raw ASGI null", "ratio", ours.per_second / bare.per_second)
    ratios["null"].append(ours.per_second / null)
    ratios["p99"].append(ours.quantile_ms(0.99) / null_p99)
    for name, port in peers.items():
        write_peer_city(postgres, route.city)
        load = closed_loop(port, taps.requests, seconds=seconds)
        rows, _ = count_of_peer(postgres)
        assert load.with_status(200) == len(load.answers) == rows, f"peer {name} failed: {load.answers[:1]}"
        figures.add(f"peer {name}", "req/s", load.per_second)
        figures.add(f"peer {name}, p99", "ms", load.quantile_ms(0.99))
        ratios.setdefault(name, []).append(ours.per_second / load.per_second)


def measure_hot_holder(stage: Stage) -> Iterator[Outcome]:
    """64 connections on one holder vs the same load over all holders."""
    ratios = []
    with stage.redis(stage.tier.holders) as (url, city), stage.validator(url) as port:
        route = SingleRoute(stage, url, port, city, TapMaker(city))
        hot = next(rider for rider in city.riders if rider.category is Category.VT)
        for _ in range(stage.tier.rounds):
            spread, _ = route.run()
            one, _ = route.run(riders=[hot])
            ratios.append(one.per_second / spread.per_second)
    yield Measured("hot_holder", ratios, note="every pass counted once")


def measure_fsync(stage: Stage) -> Iterator[Outcome]:
    """Every commit on disk before the answer vs once a second."""
    ratios = []
    with (
        stage.redis(stage.tier.holders) as (url, city),
        stage.validator(url) as port,
        redis.Redis.from_url(url) as client,
    ):
        route = SingleRoute(stage, url, port, city, TapMaker(city))
        for _ in range(stage.tier.rounds):
            client.config_set("appendfsync", "always")
            always, _ = route.run()
            client.config_set("appendfsync", "everysec")
            everysec, _ = route.run()
            stage.figures.add("single boarding, appendfsync always", "req/s", always.per_second)
            ratios.append(always.per_second / everysec.per_second)
    yield Measured("fsync_always", ratios, note="on the disk of the temporary folder")


def measure_many_holders(stage: Stage) -> Iterator[Outcome]:
    """A large city vs one of 1,000 holders, two servers side by side, in turns."""
    ratios = []
    tapping = min(stage.tier.many_holders, int(stage.tier.most_per_second * (stage.tier.seconds + 1)))
    with ExitStack() as stack:
        sides = []
        for holders in (stage.tier.many_holders, min(1_000, stage.tier.many_holders)):
            url, city = stack.enter_context(stage.redis(holders, tokens=tapping))
            port = stack.enter_context(stage.validator(url))
            sides.append(SingleRoute(stage, url, port, city, TapMaker(city)))
        for _ in range(stage.tier.rounds):
            many, few = (side.run()[0] for side in sides)
            ratios.append(many.per_second / few.per_second)
    yield Measured("many_holders", ratios, note=f"{stage.tier.many_holders:,} holders vs 1,000")
