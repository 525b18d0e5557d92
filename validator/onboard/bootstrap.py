"""Puts the agent together: the only place of this package that reads the clock and draws by chance."""

import fcntl
import os
import secrets
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from validator.onboard.agent import Agent, Place, Show
from validator.onboard.city_store import CityStore
from validator.onboard.device_clock import DeviceClock
from validator.onboard.journal import Journal
from validator.onboard.keys import verify
from validator.onboard.offline import OfflineDesk
from validator.onboard.rides import Rides
from validator.onboard.uplink import Rhythm, Say, Uplink


class AlreadyRunning(RuntimeError):
    """Another process uses the same folder; two of them would number the same taps."""


@dataclass(frozen=True, slots=True)
class OnboardSettings:
    """What may be set on a device; each is the environment variable `CATRACA_ONBOARD_` with its name in capitals.

    Attributes:
        dir: Folder of journal and list.
        service: Address of the validator service.
        backoffice: Address of the back office, for the installation only.
        line, vehicle: Where the device runs until the reader says otherwise.
    """

    dir: Path
    service: str
    backoffice: str
    line: str
    vehicle: str


def settings_from(environment: Mapping[str, str]) -> OnboardSettings:
    """The settings of an environment, with their defaults."""

    def named(name: str, default: str) -> str:
        return environment.get(f"CATRACA_ONBOARD_{name}") or default

    return OnboardSettings(
        Path(named("DIR", "catraca-onboard")),
        named("SERVICE", "http://127.0.0.1:8080"),
        named("BACKOFFICE", "http://127.0.0.1:8090"),
        named("LINE", "0"),
        named("VEHICLE", "0"),
    )


@dataclass(frozen=True, slots=True)
class Onboard:
    """The parts of one device."""

    journal: Journal
    store: CityStore
    rides: Rides
    clock: DeviceClock
    uplink: Uplink
    agent: Agent


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Hold the folder for this process alone; the hold ends with the process, however it ends.

    Raises:
        AlreadyRunning: another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise AlreadyRunning(f"outro processo usa a pasta {folder}; encerre-o primeiro") from error
        yield
    finally:
        os.close(descriptor)


def open_journal(settings: OnboardSettings) -> Journal:
    """The device's journal.

    Raises:
        JournalError: it cannot be used.
    """
    return Journal(settings.dir / "journal.sqlite")


def open_store(settings: OnboardSettings) -> CityStore:
    """The device's list of the city.

    Raises:
        StoreDamaged: it cannot be used.
    """
    return CityStore(settings.dir / "city.sqlite")


def build(
    settings: OnboardSettings,
    show: Show,
    say: Say,
    *,
    system: Callable[[], datetime] | None = None,
    rhythm: Rhythm | None = None,
) -> Onboard:
    """All parts of the device whose folder the settings name; nothing has started yet.

    Args:
        settings: What was set.
        show: Moves turnstile and display.
        say: Writes the log.
        system: The machine's clock, unless a demonstration has another.
        rhythm: How long and how often the device calls.
    """
    journal, store = open_journal(settings), open_store(settings)
    rides = Rides(journal)
    clock = DeviceClock(system or machine_clock, time.monotonic)
    uplink = Uplink(settings.service, journal, store, rides, clock, verify, say, rhythm)
    agent = Agent(
        journal,
        rides,
        OfflineDesk(store, rides, verify),
        uplink,
        clock,
        draw_boarding_id,
        Place(settings.line, settings.vehicle),
        show,
    )
    return Onboard(journal, store, rides, clock, uplink, agent)


def machine_clock() -> datetime:
    """The instant by this machine's clock, in UTC."""
    return datetime.now(UTC)


def draw_boarding_id(at: datetime) -> str:
    """A boarding id: a UUID of version 7, whose time leads, so that ids of one hour lie together."""
    millis = max(int(at.timestamp() * 1000), 0) & (2**48 - 1)
    number = (millis << 80) | (7 << 76) | (secrets.randbits(12) << 64) | (2 << 62) | secrets.randbits(62)
    return str(uuid.UUID(int=number))
