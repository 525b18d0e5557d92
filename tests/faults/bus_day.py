"""Taps of a small city through the real application, with faults in the middle, until every device is at rest.

The devices keep the protocol of the design's section 6: each tap is journalled before it is posted, whatever the
answer, and every entry is uploaded again until the service says that it is durable. What they journal does not depend
on the answers, so that two runs can be compared byte by byte.
"""

import asyncio
import contextlib
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import httpx2
import redis
from sqlalchemy import Engine

from backoffice.adapters.embedded_redis import EmbeddedRedis
from backoffice.adapters.hot_state import HotState
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.close_month import close_month
from backoffice.application.ingest import Ingester, run_ingest
from backoffice.application.publish import Publisher
from backoffice.application.publish_records import all_holders
from backoffice.application.register_devices import enrol_device
from backoffice.application.staff import as_administrator, as_city
from backoffice.persistence.base import reading
from tests.backoffice.journal_play import packaged, rows
from tests.backoffice.register_city import BOOK, NOW, RegisterCity, make_city
from tests.servers import redis_binary
from tests.validator.conftest import Service, running_service
from tests.validator.seeded_city import SeededDevice, iso
from validator.domain.service_time import Month
from validator.records.keys import id_key, usage_key

FIRST_TAP = NOW + timedelta(hours=1)
STEP = timedelta(minutes=7)
TICKS = 24
CLOSING = datetime(2026, 4, 3, 12, tzinfo=UTC)
_DEVICES = 3
_PASSES = 10
_PATIENCE_S = 30.0
_COMPARED = ("tap_keys", "boardings", "releases", "annulments", "rejected", "forks", "device_epochs")


@dataclass(frozen=True)
class Outcome:
    """What must not depend on faults: usage by holder, rows, and the month's claims."""

    usage: dict[str, bytes | None]
    rows: dict[str, list[tuple[object, ...]]]
    claims: list[tuple[str, int, str]]


@dataclass
class Bus:
    """A device, its journal on disk, and what it knows to be durable."""

    device: SeededDevice
    cards: list[str]
    durable_seq: int = 0
    acknowledged: list[UUID] = field(default_factory=list)

    def tap(self, tick: int, at: datetime) -> tuple[UUID, bytes]:
        """Journal a tap, and for some ticks a release or an annulment of it after that."""
        number = (int(self.device.id[-1]) << 32) + tick
        medium: dict[str, object] = {"kind": "card", "token": self.cards[tick % len(self.cards)]}
        if tick % 5 == 4:
            medium = {"kind": "cash", "tendered_cents": 500}
        elif tick % 8 == 6:
            medium = {"kind": "document", "category": "ELDER", "document": "RG"}
        elif tick % 11 == 10:
            medium = {"kind": "key", "category": "STUDENT_50"}
        raw = self.device.tap(number, medium, occurred_at=iso(at), line="101", vehicle="1201")
        return UUID(int=number), raw

    def after(self, tick: int, boarding: UUID, at: datetime) -> None:
        """What the device did about the tap: nobody is let through with a key that the driver does not have."""
        if tick % 11 == 10:
            self.device.release(boarding.int, released=False, mode="offline")
        elif tick % 7 == 3:
            self.device.annul(boarding.int, occurred_at=iso(at + timedelta(seconds=20)))
        elif tick % 7 == 5:
            self.device.release(boarding.int, released=False, mode="offline")
        else:
            self.device.release(boarding.int, released=True, mode="offline")

    def learn(self, answer: httpx2.Response) -> bool:
        """Take what is durable from an answer; False for one that recorded nothing."""
        if answer.status_code != 200:
            return False
        self.durable_seq = max(self.durable_seq, answer.json()["durable_seq"])
        return True


class IngestThread:
    """The ingester in a thread of this process."""

    def __init__(self, engine: Engine, url: str) -> None:
        self._arguments = (engine, url)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        engine, url = self._arguments
        self._stop = threading.Event()
        target = lambda: run_ingest(engine, url, packaged(), lambda: NOW, self._stop, poll_s=0.01)  # noqa: E731
        self._thread = threading.Thread(target=target)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)
            self._thread = None


@dataclass
class Stage:
    """All that plays."""

    city: RegisterCity
    server: EmbeddedRedis
    service: Service
    buses: list[Bus]
    ingest: IngestThread
    folder: Path

    async def tick(self, number: int) -> None:
        """Every bus taps once; what is not answered stays in its journal."""
        at = FIRST_TAP + number * STEP
        for bus in self.buses:
            self.service.clock.now = at + timedelta(seconds=1)
            boarding, raw = bus.tap(number, at)
            answer = await self.service.board(bus.device, raw)
            if bus.learn(answer):
                bus.acknowledged.append(boarding)
            bus.after(number, boarding, at)
            if number % 6 == 5:
                await self.upload_while_redis_runs(bus)

    async def upload_while_redis_runs(self, bus: Bus) -> None:
        """Upload until every entry is recorded; a shard that is being rebuilt makes a device wait."""
        deadline = time.monotonic() + _PATIENCE_S
        while self.server.owned:
            answer = await self.upload(bus)
            if bus.learn(answer) and all(item["recorded"] for item in answer.json()["items"]):
                return
            assert time.monotonic() < deadline, f"{bus.device.id} cannot upload"
            await asyncio.sleep(0.02)

    async def upload(self, bus: Bus) -> httpx2.Response:
        """Everything that is not durable, in one batch."""
        first = bus.durable_seq + 1
        body = bus.device.batch(bus.device.entries[bus.durable_seq :], first_seq=first, closing=False)
        return await self.service.batch(bus.device, body)

    async def come_to_rest(self) -> None:
        """Upload until everything is durable, then close each chain."""
        deadline = time.monotonic() + _PATIENCE_S
        self.service.clock.now = FIRST_TAP + TICKS * STEP + timedelta(hours=1)
        for bus in self.buses:
            while bus.durable_seq < bus.device.seq:
                assert time.monotonic() < deadline, f"{bus.device.id} is stuck at {bus.durable_seq}"
                bus.learn(await self.upload(bus))
                await asyncio.sleep(0.02)
            while True:
                assert time.monotonic() < deadline
                last = bus.device.seq
                body = bus.device.batch(bus.device.entries[-1:], first_seq=last, closing=True)
                answer = await self.service.batch(bus.device, body)
                if answer.status_code == 200 and answer.json()["head_recorded"]:
                    break
                await asyncio.sleep(0.02)

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.server.url)

    def absent(self, boarding: UUID) -> bool:
        """Whether Redis knows nothing of a boarding."""
        with self.client() as client:
            return not client.exists(id_key(boarding)) and not client.keys(b"*seen:" + boarding.bytes)


Fault = Callable[[Stage, int], Awaitable[None]]
"""Called before each tick with its number; does its harm at the ticks that it chooses."""


async def no_fault(_stage: Stage, _tick: int) -> None:
    """Nothing goes wrong."""


async def play(database_url: str, folder: Path, fault: Fault, keys: Path) -> Outcome:
    """One day with a fault, to its claims.

    Args:
        database_url: An empty database.
        folder: An empty folder for Redis.
        fault: What goes wrong.
        keys: Folder of the city's keys, the same for all runs that are compared.
    """
    city = make_city(database_url, keys)
    server = EmbeddedRedis(folder / "hot", binary=redis_binary())
    server.start()
    ingest = IngestThread(city.engine, server.url)
    try:
        _publish(city, server.url)
        async with _stage(city, server, ingest, folder) as stage:
            for tick in range(TICKS):
                await fault(stage, tick)
                await stage.tick(tick)
            await stage.come_to_rest()
            ingest.stop()
            _ingest_rest(city.engine, server.url)
            return _outcome(stage)
    finally:
        ingest.stop()
        server.kill()
        city.engine.dispose()


@contextlib.asynccontextmanager
async def _stage(
    city: RegisterCity, server: EmbeddedRedis, ingest: IngestThread, folder: Path
) -> AsyncIterator[Stage]:
    cards = [city.card(_student(city)).token for _ in range(_DEVICES * 2)]
    buses = [_bus(city, number, cards[number * 2 : number * 2 + 2]) for number in range(_DEVICES)]
    _publish(city, server.url)
    ingest.start()
    async with running_service(server.url) as service:
        stage = Stage(city, server, service, buses, ingest, folder)
        await wait_until_ready(stage)
        yield stage


def _student(city: RegisterCity) -> int:
    holder_id = city.student()
    city.sell(holder_id, _PASSES)
    return holder_id


def _bus(city: RegisterCity, number: int, cards: list[str]) -> Bus:
    device = SeededDevice(f"v-{number}")
    with city.writing() as session:
        admin = as_administrator(city.staff("admin"))
        key = device.key.public_key().public_bytes_raw()
        enrolled = enrol_device(
            session,
            admin,
            NOW,
            city.chance,
            device_id=device.id,
            operator="azul",
            public_key=key,
            vehicle="1201",
        )
    device.token = enrolled.token
    return Bus(device, cards)


def _publish(city: RegisterCity, url: str) -> None:
    with RedisLink(url) as link:
        publisher = Publisher(city.engine, packaged(), lambda: NOW)
        while publisher.publish_waiting(HotState(link)):
            pass


async def wait_until_ready(stage: Stage) -> None:
    """Until the service answers boardings."""
    deadline = time.monotonic() + _PATIENCE_S
    while (await stage.service.client.get("/v1/health/ready")).status_code != 200:
        assert time.monotonic() < deadline, "the service is never ready"
        await asyncio.sleep(0.02)


def _ingest_rest(engine: Engine, url: str) -> None:
    with RedisLink(url) as link:
        ingester = Ingester(engine, HotState(link), packaged(), lambda: NOW)
        ingester.begin()
        while ingester.step():
            pass


def _outcome(stage: Stage) -> Outcome:
    engine = stage.city.engine
    with reading(engine) as session:
        holders = [hot_id for _, hot_id, _, _ in all_holders(session)]
    with stage.client() as client:
        usage: dict[str, bytes | None] = {holder: client.get(usage_key(holder)) for holder in holders}
    found = rows(engine, *_COMPARED, without=("batch", "month_boardings", "passes"))
    closed = close_month(engine, BOOK, Month("2026-03"), at=CLOSING, by=as_city(stage.city.staff("city")))
    return Outcome(usage, found, [(c.operator, c.total_cents, c.document) for c in closed.claims])


def older_file(server: EmbeddedRedis, kept: Path) -> None:
    """Keep a copy of the server's file as it is now."""
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(server.folder / "appendonlydir", kept)


def put_back(server: EmbeddedRedis, kept: Path) -> None:
    """Give the stopped server the copy instead of its own file."""
    shutil.rmtree(server.folder / "appendonlydir")
    shutil.copytree(kept, server.folder / "appendonlydir")


@contextlib.contextmanager
def dying_ingester(database_url: str, redis_url: str) -> Iterator[subprocess.Popen[bytes]]:
    """An ingester in a process of its own that kills itself between a commit and its acknowledgement."""
    command = [sys.executable, "-m", "tests.faults.dying_ingester", database_url, redis_url]
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
