"""How long a worker takes from nothing until it answers."""

import time
from collections.abc import Iterator

from loadtests.bench.stage import Stage
from loadtests.bench.table import Measured, Outcome


def measure_cold_start(stage: Stage) -> Iterator[Outcome]:
    """Seconds from starting the process until it says that it is ready."""
    samples = []
    with stage.redis(stage.tier.holders) as (url, _):
        for _ in range(stage.tier.rounds):
            began = time.perf_counter()
            with stage.validator(url):
                samples.append(time.perf_counter() - began)
    yield Measured("cold_start", samples)
