"""Rating and closing a month, against streaming the same rows and deciding each of them bare; and rebuilding Redis."""

import json
import subprocess
import sys
from collections.abc import Iterator

import psycopg

from loadtests.bench.machine import processors
from loadtests.bench.month import CityMonth, add_idle_holders, month_of_size, remove_idle_holders, write_month
from loadtests.bench.servers import redis_server
from loadtests.bench.stage import Stage
from loadtests.bench.table import Measured, NotMeasured, Outcome

_NAMES = ("closing_vs_stream", "closing_memory", "rebuild")


def measure_closing(stage: Stage) -> Iterator[Outcome]:
    """Seconds and memory of the closing of one month, and seconds of a rebuild from the same database."""
    if stage.tier.closing_rows == 0:
        yield from (NotMeasured(name, f"not measured in the {stage.tier.name} tier") for name in _NAMES)
        return
    month = month_of_size(stage.tier.closing_rows)
    with stage.postgres() as server:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("CREATE DATABASE closing TEMPLATE template0")
        database = server.rsplit("/", 1)[0] + "/closing"
        write_month(database, month)
        stage.say(f"a month of {month.boardings:,} boardings of {month.holders:,} holders is written")
        streams = [_child(stage, "stream", database) for _ in range(2)]
        add_idle_holders(database, month, stage.tier.rebuild_holders)
        rebuild = _rebuild(stage, database)
        remove_idle_holders(database, month)
        closing = _child(stage, "close", database)
    if closing["rated"] != month.boardings:
        raise AssertionError(f"{month.boardings:,} boardings were written, {closing['rated']:,} were rated")
    yield from _outcomes(stage, month, streams, closing, rebuild)


def _outcomes(
    stage: Stage,
    month: CityMonth,
    streams: list[dict[str, float]],
    closing: dict[str, float],
    rebuild: dict[str, float],
) -> Iterator[Outcome]:
    seconds = closing["seconds"]
    stage.figures.add("closing", "boardings/s", month.boardings / seconds)
    for stream in streams:
        stage.figures.add("streaming and bare decide", "boardings/s", month.boardings / stream["seconds"])
    stage.figures.add("rebuild of Redis", "s", rebuild["seconds"])
    size = f"{month.boardings:,} boardings of {month.holders:,} holders"
    yield Measured("closing_vs_stream", [seconds / stream["seconds"] for stream in streams], note=size)
    yield Measured("closing_memory", [closing["peak_mb"]], note=size)
    registered = max(month.holders, stage.tier.rebuild_holders)
    rebuilt = f"{registered:,} holders, {month.boardings:,} boardings in the open month"
    if stage.tier.name == "full":
        yield Measured("rebuild", [rebuild["seconds"]], note=rebuilt)
    else:
        why = (
            f"not measured at full size in the {stage.tier.name} tier; {rebuilt}: {rebuild['seconds']:.1f} s"
        )
        yield NotMeasured("rebuild", why)


def _rebuild(stage: Stage, database: str) -> dict[str, float]:
    with redis_server(stage.new_folder("redis")) as server:
        return _child(stage, "rebuild", database, server.url)


def _child(stage: Stage, what: str, *arguments: str) -> dict[str, float]:
    """Run a part in a process of its own, on the server's processor; its memory is then its own too."""
    cpus = ",".join(map(str, sorted(processors().server)))
    command = [sys.executable, "-m", "loadtests.bench.closing_parts", what, cpus, *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{what} failed:\n{done.stderr[-3_000:]}")
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    stage.say(f"{what}: " + ", ".join(f"{name} {value:,.1f}" for name, value in told.items()))
    return told
