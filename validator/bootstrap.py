"""Puts the validator service together: the only place that chooses concrete classes and reads the clock."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from time import monotonic

from fastapi import FastAPI

from validator.adapters.city_watch import CityWatch
from validator.adapters.ed25519_keys import verify
from validator.adapters.line_log import LineLog
from validator.adapters.redis_lane import Limits
from validator.adapters.redis_state import RedisState
from validator.adapters.system_clock import file_clock, shifted_clock, system_clock
from validator.api.app import Lifespan, create_api
from validator.api.hot_path import HotPath
from validator.application.attempt import Desk
from validator.application.cards import CardReader
from validator.application.current_city import CurrentCity
from validator.application.devices import DeviceGate
from validator.application.errors import HotStateAway
from validator.application.holders import HolderReader
from validator.application.ports import Clock
from validator.application.service import Readiness, Service
from validator.settings import Settings

_WARM_POLL_S = 0.02


def clock_of(settings: Settings) -> Clock:
    """The machine's clock, unless a demonstration set another."""
    if settings.demo_clock_file is not None:
        return file_clock(settings.demo_clock_file)
    return (
        shifted_clock(settings.demo_clock_offset_seconds)
        if settings.demo_clock_offset_seconds
        else system_clock
    )


def create_app(
    settings: Settings | None = None,
    clock: Clock | None = None,
    *,
    numbers: Callable[[], Mapping[str, float]] = dict,
    warm_s: float = 0.0,
) -> HotPath:
    """The application of one process; also the factory for `uvicorn --factory validator.bootstrap:create_app`.

    Args:
        settings: Left out, they come from the environment.
        clock: Left out, it is the machine's clock, or the one that the settings give a demonstration.
        numbers: More numbers for the metrics page, by name.
        warm_s: How long the start may wait until boardings can be answered; afterwards they are answered 503.
    """
    settings = settings or Settings()
    city = CurrentCity()
    state = RedisState(settings.redis_url, limits_of(settings))
    watch = CityWatch(state, city, settings.city_poll_ms / 1000)
    log = LineLog(sys.stdout.buffer) if settings.boarding_log else None

    def readiness() -> Readiness:
        lacks = [] if state.ready else ["hot-state"]
        lacks += [] if city.revision is not None else ["city"]
        return Readiness(not lacks, tuple(lacks))

    def gauges() -> Mapping[str, float]:
        return {
            **state.numbers(),
            **numbers(),
            "city_revision": city.revision or 0,
            "city_broken": watch.broken,
            "log_lines_dropped_total": 0 if log is None else log.dropped,
        }

    service = Service(
        hot=state,
        gate=DeviceGate(state),
        desk=Desk(city, CardReader(), HolderReader(), verify),
        clock=clock or clock_of(settings),
        readiness=readiness,
        gauges=gauges,
        log=log,
        max_taps=settings.max_taps_in_flight,
        max_wait_s=settings.max_wait_ms / 1000,
        max_batches=settings.max_batches_in_flight,
        body_timeout_s=settings.body_timeout_ms / 1000,
    )

    return create_api(service, _lifespan(state, watch, readiness, log, warm_s))


def _lifespan(
    state: RedisState,
    watch: CityWatch,
    readiness: Callable[[], Readiness],
    log: LineLog | None,
    warm_s: float,
) -> Lifespan:
    """What begins before the first request and ends after the last."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await state.start()
        await _warm_up(watch, readiness, warm_s)
        watching = asyncio.create_task(watch.run())
        _settle_garbage()
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await state.stop()
            if log is not None:
                log.flush()

    return lifespan


async def _warm_up(watch: CityWatch, readiness: Callable[[], Readiness], warm_s: float) -> None:
    """Look for the city until boardings can be answered or the time is up; the watch goes on looking then."""
    deadline = monotonic() + warm_s
    while True:
        try:
            await watch.look()
        except HotStateAway:
            pass  # until Redis is there nothing is answered but 503
        if readiness().ready or monotonic() >= deadline:
            return
        await asyncio.sleep(_WARM_POLL_S)


def limits_of(settings: Settings) -> Limits:
    """How Redis is used."""
    return Limits(
        timeout_s=settings.redis_timeout_ms / 1000,
        reconnect_s=settings.redis_reconnect_ms / 1000,
        lanes=settings.redis_lanes,
        cycle_items=settings.redis_cycle_taps,
        attempts=settings.redis_attempts,
    )


def _settle_garbage() -> None:
    """What lives as long as the process is never looked at again by the collector, and what is new often.

    A pause is as long as there are new objects, so that rare looks are long ones: half a millisecond instead of seven.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(3_000, 100, 160)
