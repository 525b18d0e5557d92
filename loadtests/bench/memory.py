"""What a holder and a tap that is not durable yet cost in Redis."""

from collections.abc import Iterator
from typing import Any

import redis

from loadtests.bench.generator import closed_loop
from loadtests.bench.stage import Stage, now
from loadtests.bench.table import Measured, Outcome
from loadtests.bench.taps import TapMaker


def measure_memory(stage: Stage) -> Iterator[Outcome]:
    """Bytes of Redis by holder, and by tap."""
    with (
        stage.redis(0) as (empty_url, _),
        stage.redis(stage.tier.holders) as (url, city),
        redis.Redis.from_url(empty_url) as empty,
        redis.Redis.from_url(url) as client,
    ):
        holders = (_used(client) - _used(empty)) / stage.tier.holders
        with stage.validator(url) as port:
            # Every holder taps once first, so that usage has its final size.
            maker = TapMaker(city)
            _tap_all(port, maker, len(city.riders))
            before = _used(client)
            taps = maker.singles(len(city.riders), now())
            load = closed_loop(port, taps.requests, seconds=600, warm_up_s=0)
            after = _used(client)
        assert load.with_status(200) == len(taps)
        server = client.info("server")
        name = server.get("valkey_version") or server["redis_version"]
    kind = "Valkey" if "valkey_version" in server else "Redis"
    stage.notes.append(f"memory was measured on {kind} {name}")
    yield Measured("holder_bytes", [holders], note=f"{kind} {name}; three lots a purse, one card")
    yield Measured(
        "tap_bytes",
        [(after - before) / len(taps)],
        note=f"{kind} {name}; seen + id + journal, with the tap's digest and not its bytes",
    )


def _tap_all(port: int, maker: TapMaker, count: int) -> None:
    taps = maker.singles(count, now())
    load = closed_loop(port, taps.requests, seconds=600, warm_up_s=0)
    assert load.with_status(200) == count


def _used(client: "redis.Redis") -> int:
    """Bytes that Redis holds, key table included, without the buffers of its clients."""
    info: dict[str, Any] = client.info("memory")
    buffers = info["mem_clients_normal"] + info["mem_aof_buffer"]
    return int(info["used_memory"]) - int(buffers)
