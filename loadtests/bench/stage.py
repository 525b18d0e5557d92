"""What every measurement of a run shares: its size, its folder, the servers that it starts, its absolute figures."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from loadtests.bench.city import BenchCity, make_city, write_city
from loadtests.bench.machine import pin, processors
from loadtests.bench.servers import (
    free_port,
    http_server,
    postgres_server,
    redis_server,
    uvicorn_command,
    validator_command,
    worker_of,
)
from loadtests.bench.taps import Taps, civil_now


@dataclass(frozen=True, slots=True)
class Tier:
    """How much a run measures.

    Attributes:
        name: `quick` or `full`; `tiny` is for tests of the bench itself.
        holders: Card holders of the city under load.
        many_holders: Holders of the large city in the row that compares two sizes.
        rounds: How often each side of a comparison is measured, in turns.
        seconds: Length of one such measurement.
        overload_seconds: Length of an overload.
        most_per_second: Taps made for one second of load; more than any server here answers.
        rows: Journal entries that ingest, rating and rebuild are measured with; 0 leaves those rows out.
        closing_rows: Boardings of the month that is closed; 0 leaves those rows out.
        rebuild_holders: Registered holders when Redis is rebuilt, idle ones included; 0 for those who ride.
    """

    name: str
    holders: int
    many_holders: int
    rounds: int
    seconds: float
    overload_seconds: float
    most_per_second: int
    rows: int
    closing_rows: int
    rebuild_holders: int = 0


TINY = Tier("tiny", 200, 400, 1, 0.3, 0.5, 8_000, 500, 500, 100)
QUICK = Tier("quick", 20_000, 100_000, 3, 2.0, 8.0, 30_000, 100_000, 200_000)
FULL = Tier("full", 100_000, 1_000_000, 5, 4.0, 60.0, 30_000, 1_000_000, 10_000_000, 1_000_000)


@dataclass(slots=True)
class Figures:
    """Absolute figures of a run, by name: they drift with the machine, the ratios of the table hold."""

    samples: dict[str, list[float]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, unit: str, value: float) -> float:
        """Note one sample and hand it back."""
        self.samples.setdefault(name, []).append(value)
        self.units[name] = unit
        return value


class Stage:
    """The place where a run happens; everything that it starts is stopped with it."""

    def __init__(self, tier: Tier, folder: Path) -> None:
        self.tier = tier
        self.folder = folder
        self.figures = Figures()
        self.notes: list[str] = []
        self.pids: dict[int, int] = {}
        self.flame = ""
        self._numbers = 0

    def say(self, text: str) -> None:
        """Tell whoever waits at the terminal what goes on."""
        print(f"  {text}", file=sys.stderr, flush=True)

    def new_folder(self, name: str) -> Path:
        """A folder for one server."""
        self._numbers += 1
        folder = self.folder / f"{name}-{self._numbers}"
        folder.mkdir(mode=0o755)
        return folder

    @contextlib.contextmanager
    def redis(self, city_holders: int, *, tokens: int | None = None) -> Iterator[tuple[str, BenchCity]]:
        """A Redis with a city of so many holders; yields its address and the city."""
        with redis_server(self.new_folder("redis")) as server:
            city, pairs = make_city(city_holders, tokens=tokens)
            write_city(server.url, pairs)
            yield server.url, city

    @contextlib.contextmanager
    def validator(self, redis_url: str) -> Iterator[int]:
        """The validator as it runs in service, one worker; yields its port."""
        command = validator_command(port := free_port())
        environment = {"CATRACA_REDIS_URL": redis_url, "CATRACA_BOARDING_LOG": boarding_log()}
        log = self.new_folder("validator") / "log"
        with http_server(command, port, log, environment=environment, path="/v1/health/ready") as process:
            self.pids[port] = worker_of(process.pid)
            yield port

    @contextlib.contextmanager
    def sampled_validator(self, redis_url: str) -> Iterator[int]:
        """The validator with a sampler in it (`loadtests.bench.sampled`); yields its port."""
        command = uvicorn_command("loadtests.bench.sampled:create_app", port := free_port())
        environment = {"CATRACA_REDIS_URL": redis_url, "CATRACA_BOARDING_LOG": boarding_log()}
        log = self.new_folder("sampled") / "log"
        with http_server(
            [*command, "--factory"], port, log, environment=environment, path="/v1/health/ready"
        ) as process:
            self.pids[port] = process.pid
            yield port

    @contextlib.contextmanager
    def null(self, name: str, *, answer_bytes: int = 420) -> Iterator[int]:
        """A null endpoint of `loadtests.bench.nulls`; yields its port."""
        command = uvicorn_command(f"loadtests.bench.nulls:{name}", port := free_port())
        environment = {"CATRACA_BENCH_ANSWER_BYTES": f"{answer_bytes}"}
        with http_server(command, port, self.new_folder(name) / "log", environment=environment) as process:
            self.pids[port] = process.pid
            yield port

    @contextlib.contextmanager
    def postgres(self) -> Iterator[str]:
        """A PostgreSQL; yields its address."""
        with postgres_server(self.new_folder("postgres")) as url:
            yield url

    @contextlib.contextmanager
    def peer(self, name: str, postgres_url: str) -> Iterator[int]:
        """A peer of `loadtests.peers`; yields its port."""
        command = uvicorn_command(f"loadtests.peers.{name}:app", port := free_port())
        environment = {"CATRACA_PEER_URL": postgres_url}
        log = self.new_folder(name) / "log"
        with http_server(command, port, log, environment=environment, path="/live"):
            yield port


def boarding_log() -> str:
    """Whether the validator writes its line for each boarding, as in service; CATRACA_BENCH_LOG=false leaves it out."""
    return os.environ.get("CATRACA_BENCH_LOG", "true")


@contextlib.contextmanager
def open_stage(tier: Tier) -> Iterator[Stage]:
    """A stage in a folder of its own, with this process away from the server's processor."""
    pin(os.getpid(), processors().rest)
    with tempfile.TemporaryDirectory(prefix="catraca-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may have to run as another user
        yield Stage(tier, folder)


def now() -> datetime:
    """The instant that taps are dated with."""
    return civil_now(datetime.now(UTC))


def total(taps: Taps) -> str:
    """How many taps, for the terminal."""
    return f"{len(taps):,} taps"
