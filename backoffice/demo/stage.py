"""Where the demonstration plays: a fresh folder, its Redis and database, its clock, and the product's processes."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import redis
from sqlalchemy import select

from backoffice.adapters.embedded_redis import EmbeddedRedis
from backoffice.adapters.journal_stream import waiting
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.errors import RegisterError
from backoffice.bootstrap import Backoffice, build
from backoffice.demo.city_key import SeededChance, write_city_key
from backoffice.demo.clock import DemoClock
from backoffice.demo.interrupts import Interrupts
from backoffice.demo.processes import Processes, free_port
from backoffice.persistence.base import make_engine, reading
from backoffice.persistence.migrate import migrate
from backoffice.persistence.users import UserRow
from backoffice.settings import Settings

HOST = "127.0.0.1"


class NotEmpty(RegisterError):
    """A database or Redis that somebody named holds data; a demonstration plays in an empty one only."""

    code = "NOT_EMPTY"


@dataclass(slots=True)
class Stage:
    """All that the demonstration plays with.

    Attributes:
        folder: Its own folder, fresh at each run.
        office: The back office, for use cases in this process.
        clock: The clock that all processes read.
        processes: The product's processes; none runs yet.
        redis_url: Where Redis is.
        wanted_ports: Where validator and back office listen if nobody else does; 0 for any free port.
        validator_port: Where the validator listens, once it runs.
        backoffice_port: Where the back office listens, once it runs.
    """

    folder: Path
    office: Backoffice
    clock: DemoClock
    processes: Processes
    redis_url: str
    wanted_ports: tuple[int, int]
    validator_port: int = 0
    backoffice_port: int = 0

    @property
    def validator_url(self) -> str:
        """Address of the boarding API."""
        return f"http://{HOST}:{self.validator_port}"

    @property
    def backoffice_url(self) -> str:
        """Address of the back office."""
        return f"http://{HOST}:{self.backoffice_port}"

    def not_ingested(self) -> int:
        """How many journal entries wait for the ingester; signed heads are entries too."""
        with RedisLink(self.redis_url) as link:
            return waiting(link).entries

    def start_processes(self) -> None:
        """Start ingest, publish, validator and back office, and wait until they are ready.

        Raises:
            ProcessFailed: one did not start.
        """
        self.validator_port, self.backoffice_port = (free_port(port) for port in self.wanted_ports)
        self.processes.start("ingest", "ingest")
        self.processes.start("publish", "publish")
        self.processes.start("validator", "validator", "--host", HOST, "--port", str(self.validator_port))
        self.processes.start("backoffice", "backoffice", "--host", HOST, "--port", str(self.backoffice_port))
        self.processes.wait_ready("validator", f"{self.validator_url}/v1/health/live")
        self.processes.wait_ready("backoffice", f"{self.backoffice_url}/v1/health/live")


@contextmanager
def set_stage(
    settings: Settings, seed: int, at: datetime, interrupts: Interrupts, *, known_ports: bool
) -> Iterator[Stage]:
    """Set the stage in a fresh folder of the data folder; everything is ended when the context is left.

    With `known_ports` the processes listen where the settings say, unless somebody else does. Where
    CATRACA_DATABASE_URL or CATRACA_REDIS_URL name servers, those are used; they must be empty.

    Raises:
        NotEmpty: a named server holds data.
        EmbeddedRedisError: our own Redis could not be started.
    """
    folder = _fresh_folder(settings.data_dir / "demo")
    own = settings.model_copy(update={"data_dir": folder, "demo_clock_file": folder / "clock"})
    if own.database_url is not None:
        _prepare_database(own.database_url)
    ports = (own.validator_port, own.backoffice_port) if known_ports else (0, 0)
    clock = DemoClock(folder / "clock", at)
    write_city_key(own.keys_dir, seed)
    with _redis_url(own, interrupts) as redis_url:
        environment = {
            "CATRACA_DATA_DIR": str(folder.absolute()),
            "CATRACA_REDIS_URL": redis_url,
            "CATRACA_DEMO_CLOCK_FILE": str(clock.path.absolute()),
        }
        office = build(own, clock=clock.now, chance=SeededChance(seed))
        try:
            with Processes(environment, folder / "logs", interrupts) as processes:
                yield Stage(folder, office, clock, processes, redis_url, ports)
        finally:
            office.engine.dispose()


def _fresh_folder(parent: Path) -> Path:
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for number in itertools.count(1):
        folder = parent / f"{number:03d}"
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder
    raise AssertionError


@contextmanager
def _redis_url(settings: Settings, interrupts: Interrupts) -> Iterator[str]:
    if settings.redis_url is None:
        server = EmbeddedRedis(settings.data_dir)
        try:
            with interrupts.held():
                server.start()
            yield server.url
        finally:
            with interrupts.held():
                server.stop()
        return
    with redis.Redis.from_url(settings.redis_url) as client:
        if client.dbsize():
            raise NotEmpty(
                "o Redis de CATRACA_REDIS_URL não está vazio; a demonstração só usa um vazio, "
                "ou o seu próprio, sem essa variável"
            )
    yield settings.redis_url


def _prepare_database(url: str) -> None:
    engine = make_engine(url)
    try:
        migrate(engine)
        with reading(engine) as session:
            if session.scalar(select(UserRow.id).limit(1)) is not None:
                raise NotEmpty(
                    "o banco de CATRACA_DATABASE_URL já tem dados; a demonstração só usa um banco vazio, "
                    "ou o seu próprio, sem essa variável"
                )
    finally:
        engine.dispose()
