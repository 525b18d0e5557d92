"""`python -m loadtests.bench`: measure the target table, print it, and keep what was measured.

--quick (some minutes) is the default; --full takes up to an hour; --only names rows or measurements. A full run is
recorded in docs/performance.md and the README, another one with --record.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import redis
import structlog

from loadtests.bench import machine, report
from loadtests.bench.batch import measure_batch
from loadtests.bench.closing import measure_closing
from loadtests.bench.decisions import measure_decide
from loadtests.bench.flame import measure_profile
from loadtests.bench.ingest import measure_ingest
from loadtests.bench.memory import measure_memory
from loadtests.bench.onboard import measure_onboard
from loadtests.bench.overload import measure_overload
from loadtests.bench.servers import end_cleanly
from loadtests.bench.single import measure_fsync, measure_hot_holder, measure_many_holders, measure_single
from loadtests.bench.stage import FULL, QUICK, TINY, Stage, Tier, open_stage
from loadtests.bench.starts import measure_cold_start
from loadtests.bench.steps import measure_steps
from loadtests.bench.table import TARGETS, Outcome

Measurement = Callable[[Stage], Iterator[Outcome]]

MEASUREMENTS: dict[str, tuple[Measurement, tuple[str, ...]]] = {
    "decide": (measure_decide, ("decide",)),
    "steps": (measure_steps, ()),
    "profile": (measure_profile, ()),
    "single": (measure_single, ("single_vs_null", "single_p99_vs_null", "single_vs_row_lock")),
    "hot_holder": (measure_hot_holder, ("hot_holder",)),
    "many_holders": (measure_many_holders, ("many_holders",)),
    "fsync": (measure_fsync, ("fsync_always",)),
    "batch": (measure_batch, ("batch_500",)),
    "memory": (measure_memory, ("holder_bytes", "tap_bytes")),
    "overload": (measure_overload, ("overload_goodput", "overload_refusal", "overload_retry_after")),
    "cold_start": (measure_cold_start, ("cold_start",)),
    "onboard": (measure_onboard, ()),
    "ingest": (measure_ingest, ("ingest_vs_peak", "ingest_vs_copy", "ingest_sqlite")),
    "closing": (measure_closing, ("closing_vs_stream", "closing_memory", "rebuild")),
}
"""By name: what measures, and which rows of the table it fills."""


def main(arguments: list[str] | None = None) -> int:
    """Run the bench; 1 where an answer was wrong or a server failed (that ends it at once), else 0."""
    options = _options(arguments)
    end_cleanly()
    tier: Tier = options.tier
    began = time.monotonic()
    structlog.configure(logger_factory=structlog.WriteLoggerFactory(file=sys.stderr))
    about = machine.description()
    with open_stage(tier) as stage:
        about["redis"] = _redis_name(stage)
        print(report.machine_line(about), file=sys.stderr)
        outcomes = [outcome for name in _chosen(options.only) for outcome in _measure(stage, name)]
        ordered = sorted(outcomes, key=_place)
        minutes = (time.monotonic() - began) / 60
        stage.notes.append(f"{tier.name} tier, {minutes:.0f} minutes")
        commit, day = machine.commit(), datetime.now(UTC).date()
        results = report.as_mapping(
            ordered, stage.figures, tier=tier.name, day=day, commit=commit, machine=about, notes=stage.notes
        )
        run = _told(ordered, stage, about, commit)
    print(run)
    report.write(results, ordered, options.results, flame=stage.flame)
    if options.record:
        report.record(report.PAGE, run, ordered, day=day, commit=commit, tier=tier.name)
        report.record_headline(report.README, ordered, day=day, commit=commit, tier=tier.name)
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m loadtests.bench", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="tier", action="store_const", const=QUICK, default=QUICK)
    size.add_argument("--full", dest="tier", action="store_const", const=FULL)
    size.add_argument(
        "--tiny", dest="tier", action="store_const", const=TINY, help="a trial of the bench itself"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="ROW", default=[], help=f"of: {', '.join(MEASUREMENTS)}, or rows"
    )
    parser.add_argument(
        "--record", action="store_true", help="put this run into docs/performance.md and README.md"
    )
    parser.add_argument(
        "--results", type=type(report.RESULTS), default=report.RESULTS, help="folder of latest.json"
    )
    options = parser.parse_args(arguments)
    options.record = options.record or (options.tier is FULL and not options.only)
    return options


def _chosen(only: list[str]) -> list[str]:
    wanted = set(only)
    known = {*MEASUREMENTS, *(row for _, rows in MEASUREMENTS.values() for row in rows)}
    if wanted - known:
        raise SystemExit(
            f"no such row: {', '.join(sorted(wanted - known))}; known: {', '.join(sorted(known))}"
        )
    return [name for name, (_, rows) in MEASUREMENTS.items() if not wanted or wanted & {name, *rows}]


def _measure(stage: Stage, name: str) -> list[Outcome]:
    began = time.monotonic()
    print(f"{name} ...", file=sys.stderr)
    outcomes = list(MEASUREMENTS[name][0](stage))
    stage.say(f"{name}: {time.monotonic() - began:.0f} s")
    return outcomes


def _place(outcome: Outcome) -> int:
    return [target.key for target in TARGETS].index(outcome.key)


def _redis_name(stage: Stage) -> str:
    with stage.redis(0) as (url, _), redis.Redis.from_url(url) as client:
        server = client.info("server")
    if "valkey_version" in server:
        return f"Valkey {server['valkey_version']}"
    return f"Redis {server['redis_version']}"


def _told(outcomes: list[Outcome], stage: Stage, about: dict[str, object], commit: str) -> str:
    parts = [
        f"Commit {commit or 'unknown'}, {'; '.join(stage.notes)}.",
        f"Machine: {report.machine_line(about)}.",
        report.table(outcomes),
        "Absolute figures of the same run; they drift with the machine:",
        report.figure_table(stage.figures),
    ]
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
