"""The product's services in this process, each made to do one thing at a time: validators, publisher, ingester, Redis.

Redis (Valkey) is real. Validators have a thread with an event loop of their own, so that one may be stopped in the
middle of a decision while another commits.
"""

import asyncio
import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import redis
from sqlalchemy import Engine

from backoffice.adapters.embedded_redis import EmbeddedRedis
from backoffice.adapters.hot_state import HotState
from backoffice.adapters.law_file import law_from, law_mapping_from
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.ingest import Ingester
from backoffice.application.publish import Law, Publisher
from tests.servers import redis_binary
from validator.adapters.city_watch import CityWatch
from validator.adapters.ed25519_keys import verify
from validator.adapters.redis_lane import Limits
from validator.adapters.redis_state import RedisState
from validator.application.annul import annul
from validator.application.attempt import Attempt, Desk
from validator.application.batch import upload
from validator.application.batch_answers import BatchAnswer
from validator.application.board import board
from validator.application.cards import CardReader
from validator.application.citing import Citing
from validator.application.current_city import CurrentCity
from validator.application.devices import DeviceGate
from validator.application.errors import HotStateAway
from validator.application.holders import HolderReader, ReadHolder
from validator.records.keys import DURABLE_SECONDS

T = TypeVar("T")

PATIENCE_S = 60.0
LAW = Law(law_from(None), law_mapping_from(None))


class SlowReader(HolderReader):
    """Reads snapshots; once, when asked to, lets something else happen between a read and its commit."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] | None = None

    def read(self, key: bytes, packed: bytes) -> ReadHolder:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return super().read(key, packed)


class Validator:
    """One process of the boarding service."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.reader = SlowReader()
        self._run(self._start())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)

    async def _start(self) -> None:
        # Time-outs are long, so that a slow machine changes nothing; connections are tried again at once.
        self.state = RedisState(self._url, Limits(timeout_s=30.0, reconnect_s=0.005))
        await self.state.start()
        self._city = CurrentCity()
        self._watch = CityWatch(self.state, self._city, 1.0)
        self._gate = DeviceGate(self.state)
        self._desk = Desk(self._city, CardReader(), self.reader, verify)
        with contextlib.suppress(HotStateAway):
            await self._watch.look()

    def look(self) -> None:
        """Take the published city, as the service does every second; an absent Redis is left for later."""

        async def looking() -> None:
            await self._watch.look()
            await self.state.refresh()

        self._run(looking())

    @property
    def ready(self) -> bool:
        return self.state.ready and self._city.revision is not None

    def wait_until_ready(self) -> None:
        """Until the lanes have connected to the Redis process that was verified."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(Exception):
                self.look()
            if self.ready:
                return
            assert time.monotonic() < deadline, "a validator is never ready"
            time.sleep(0.002)

    def board(self, raw: bytes, authorization: bytes, sent: datetime, received: datetime) -> Attempt:
        return self._run(board(raw, authorization, sent, received, self.state, self._gate, self._desk))

    def board_together(
        self, taps: list[tuple[bytes, bytes, datetime, datetime]]
    ) -> list[Attempt | BaseException]:
        """Taps of one event-loop tick: they share a read and a commit."""

        async def all_of_them() -> list[Attempt | BaseException]:
            calls = [board(*tap, self.state, self._gate, self._desk) for tap in taps]
            return await asyncio.gather(*calls, return_exceptions=True)

        return self._run(all_of_them())

    def batch(self, raw: bytes, authorization: bytes, received: datetime) -> BatchAnswer:
        return self._run(
            upload(
                raw,
                authorization,
                received_at=received,
                hot=self.state,
                gate=self._gate,
                desk=self._desk,
            )
        )

    def annul(self, boarding: UUID, raw: bytes, authorization: bytes, received: datetime) -> Citing:
        return self._run(
            annul(
                boarding,
                raw,
                authorization,
                received_at=received,
                hot=self.state,
                gate=self._gate,
                desk=self._desk,
            )
        )

    def stop(self) -> None:
        self._run(self.state.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()


class Killed(BaseException):
    """The process of the ingester is killed here."""


class MortalHotState(HotState):
    """Dies at a chosen write, before it is done."""

    def __init__(self, link: RedisLink, dies_at: str) -> None:
        super().__init__(link)
        self._dies_at = dies_at

    def acknowledge(self, *arguments: Any) -> None:
        trims = list(arguments[2])
        if self._dies_at == "acknowledge" and trims:
            raise Killed
        super().acknowledge(arguments[0], arguments[1], trims)

    def restore_answers(self, answers: Any) -> None:
        if self._dies_at == "restore_answers":
            raise Killed
        super().restore_answers(answers)

    def open_shard(self, number: int, generation: int, commit_no: int) -> None:
        if self._dies_at == "open_shard":
            raise Killed
        super().open_shard(number, generation, commit_no)


class Services:
    """Everything that runs for one city."""

    def __init__(self, engine: Engine, folder: Path, clock: Callable[[], datetime]) -> None:
        self.engine = engine
        self.clock = clock
        self.server = EmbeddedRedis(folder, binary=redis_binary())
        self._link: RedisLink | None = None
        self._ingester: Ingester | None = None
        self._publisher = Publisher(engine, LAW, clock)
        self.validators: list[Validator] = []
        self.running = False

    def start(self, validators: int = 2) -> None:
        self.server.start()
        self.running = True
        self.ingest()
        self.publish()
        self.validators = [Validator(self.server.url) for _ in range(validators)]
        self.wait_until_ready()

    def stop(self) -> None:
        for validator in self.validators:
            validator.stop()
        self._drop_link()
        self.server.kill()

    def wait_until_ready(self) -> None:
        for validator in self.validators:
            validator.wait_until_ready()

    @contextlib.contextmanager
    def client(self) -> Iterator[redis.Redis]:
        with redis.Redis.from_url(self.server.url) as client:
            yield client

    # Publisher

    def publish(self) -> bool:
        """Publish all that waits; False while Redis is away."""
        if not self.running:
            return False
        with RedisLink(self.server.url) as link:
            hot = HotState(link)
            while self._publisher.publish_waiting(hot):
                pass
        for validator in self.validators:
            if validator.ready:
                validator.look()
        return True

    # Ingester

    def ingest(self, dies_at: str | None = None) -> bool:
        """Drain the streams, and look after Redis first where its process is another one.

        Args:
            dies_at: The write at which the ingester is killed; it is started anew at the next call.

        Returns whether all was drained.
        """
        if not self.running:
            return False
        try:
            if self._ingester is None or dies_at is not None:
                self._begin(dies_at)
            assert self._ingester is not None
            deadline = time.monotonic() + PATIENCE_S
            while self._ingester.step() or self._must_look():
                assert time.monotonic() < deadline, "the ingester never comes to rest"
        except Killed:
            self._drop_link()
            return False
        except (redis.ConnectionError, redis.TimeoutError):
            self._drop_link()
            return self.ingest()
        if dies_at is not None:
            self._drop_link()
        return True

    def _begin(self, dies_at: str | None) -> None:
        self._drop_link()
        self._link = RedisLink(self.server.url, timeout_s=PATIENCE_S)
        hot = HotState(self._link) if dies_at is None else MortalHotState(self._link, dies_at)
        self._ingester = Ingester(self.engine, hot, LAW, self.clock)
        self._ingester.begin()

    def _must_look(self) -> bool:
        """Whether something waits for the ingester's next look, which it takes ten times a second."""
        assert self._link is not None
        hot = HotState(self._link)
        if hot.verified() and all(s.generation is not None and not s.fenced for s in hot.shard_states()):
            return False
        time.sleep(0.02)
        return True

    def _drop_link(self) -> None:
        self._ingester = None
        if self._link is not None:
            self._link.close()
            self._link = None

    # Redis

    def kill_redis(self) -> None:
        self.server.kill()
        self.running = False
        self._drop_link()

    def start_redis(self) -> None:
        self.server.start()
        self.running = True

    def keep_file(self, kept: Path) -> None:
        """Keep a copy of what is on disk now."""
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.server.folder / "appendonlydir", kept)

    def give_file(self, kept: Path | None) -> None:
        """Give the server that is down a copy instead of its own file, or nothing."""
        shutil.rmtree(self.server.folder / "appendonlydir", ignore_errors=True)
        if kept is not None:
            shutil.copytree(kept, self.server.folder / "appendonlydir")

    def restart_validator(self, place: int) -> None:
        """A process of the API dies and another takes its place."""
        self.validators[place].stop()
        self.validators[place] = Validator(self.server.url)
        if self.running and self._is_verified():
            self.validators[place].wait_until_ready()

    def _is_verified(self) -> bool:
        with RedisLink(self.server.url) as link:
            return HotState(link).verified()

    def pass_a_day(self, known: dict[bytes, datetime], now: datetime) -> None:
        """Let go of answers that were durable a virtual day ago, as their time to live would.

        Args:
            known: When each key was first seen to be durable; kept by the caller.
            now: The virtual instant.
        """
        gone: list[bytes] = []
        with self.client() as client:
            keys = [*client.scan_iter(b"*:seen:*", count=5_000), *client.scan_iter(b"*:id:*", count=5_000)]
            pipe = client.pipeline(transaction=False)
            for key in keys:
                pipe.ttl(key)
            for key, left in zip(keys, pipe.execute(), strict=True):
                if 0 <= left <= DURABLE_SECONDS:
                    since = known.setdefault(key, now)
                    if (now - since).total_seconds() >= DURABLE_SECONDS:
                        gone.append(key)
            if gone:
                client.delete(*gone)
