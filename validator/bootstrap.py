"""Puts the validator service together: the only place that chooses concrete classes and reads the clock."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import structlog
from fastapi import FastAPI

from validator.adapters.city_watch import CityWatch
from validator.adapters.ed25519_keys import verify
from validator.adapters.line_log import LineLog
from validator.adapters.redis_state import Limits, RedisState
from validator.adapters.system_clock import file_clock, shifted_clock, system_clock
from validator.api.app import create_api
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


def clock_of(settings: Settings) -> Clock:
    """The machine's clock, unless a demonstration set another."""
    if settings.demo_clock_file is not None:
        return file_clock(settings.demo_clock_file)
    return (
        shifted_clock(settings.demo_clock_offset_seconds)
        if settings.demo_clock_offset_seconds
        else system_clock
    )


def create_app(settings: Settings | None = None, clock: Clock | None = None) -> HotPath:
    """The application of one process; also the factory for `uvicorn --factory validator.bootstrap:create_app`.

    Args:
        settings: Left out, they come from the environment.
        clock: Left out, it is the machine's clock, or the one that the settings give a demonstration.
    """
    settings = settings or Settings()
    if not structlog.is_configured():
        _configure_logs()
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
        max_batches=settings.max_batches_in_flight,
        body_timeout_s=settings.body_timeout_ms / 1000,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await state.start()
        try:
            await watch.look()
        except HotStateAway:
            pass  # the watch goes on looking; until then nothing is answered
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

    return create_api(service, lifespan)


def limits_of(settings: Settings) -> Limits:
    """How Redis is used."""
    return Limits(
        timeout_s=settings.redis_timeout_ms / 1000,
        reconnect_s=settings.redis_reconnect_ms / 1000,
        lanes=settings.redis_lanes,
        cycle_items=settings.redis_cycle_taps,
        attempts=settings.redis_attempts,
    )


def _configure_logs() -> None:
    """One JSON object a line on standard error, beside the lines of the boardings on standard output.

    A traceback names code and never the value of a variable: among those are tokens of devices and of cards.
    """
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )


def _settle_garbage() -> None:
    """What lives as long as the process is never looked at again by the collector: measured, a tenth of the p99."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
