"""More than it can answer: riders who do not wait for each other, and devices that honour Retry-After."""

from collections.abc import Iterator

from loadtests.bench.audit import audit_singles, clear_run
from loadtests.bench.generator import Load, open_loop
from loadtests.bench.single import SingleRoute
from loadtests.bench.stage import Stage, now
from loadtests.bench.table import Measured, NotMeasured, Outcome
from loadtests.bench.taps import TapMaker, arrivals

_CONNECTIONS = 1_200
"""Enough that what comes reaches the server at once, and it is the server that decides what waits."""


def measure_overload(stage: Stage) -> Iterator[Outcome]:
    """Goodput under 1.2 x and 2 x the capacity, open loop; capacity is measured before and after."""
    goodput, refusal, honoured = [], [], []
    with stage.redis(stage.tier.holders) as (url, city), stage.validator(url) as port:
        route = SingleRoute(stage, url, port, city, TapMaker(city))
        route.run()
        for _ in range(max(1, stage.tier.rounds // 2)):
            before, _ = route.run()
            hurried = _offer(route, 1.2 * before.per_second, honour=False)
            patient = _offer(route, 2.0 * before.per_second, honour=True)
            after, _ = route.run()
            capacity = (before.per_second + after.per_second) / 2
            goodput.append(hurried.per_second / capacity)
            honoured.append(patient.per_second / capacity)
            if hurried.with_status(503):
                refusal.append(hurried.quantile_ms(0.99, status=503))
            stage.figures.add("1.2 x offered, p99 of answers", "ms", hurried.quantile_ms(0.99))
            stage.figures.add("2 x with Retry-After, p99 of answers", "ms", patient.quantile_ms(0.99))
    yield Measured("overload_goodput", goodput)
    if refusal:
        yield Measured("overload_refusal", refusal, note="from the instant at which the rider came")
    else:
        yield NotMeasured("overload_refusal", "nothing was refused at 1.2 x capacity in this run")
    yield Measured(
        "overload_retry_after", honoured, note="a device that was told to wait sends nothing meanwhile"
    )


def _offer(route: SingleRoute, per_second: float, *, honour: bool) -> Load:
    seconds = route.stage.tier.overload_seconds
    starts = list(arrivals(per_second, seconds))
    taps = route.maker.singles(len(starts), now())
    load = open_loop(
        route.port,
        taps.requests,
        starts,
        connections=_CONNECTIONS,
        devices=taps.devices if honour else None,
        warm_up_s=min(2.0, seconds / 4),
    )
    audit = audit_singles(route.redis_url, taps, load)
    route.stage.say(
        f"offered {per_second:,.0f}/s for {seconds:.0f} s: {load.per_second:,.0f}/s answered, "
        f"{load.with_status(503):,} refused, {load.withheld:,} withheld, {load.unsent:,} unsent; "
        f"audited {audit.entries:,}"
    )
    clear_run(route.redis_url, taps)
    return load
