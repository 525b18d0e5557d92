"""A device in this process, a validator service in its own, and a wire between them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.onboard.fleet import install, new_store
from tests.onboard.wire import Wire
from tests.validator.seeded_city import NOW, SeededCity
from tests.validator.served import served
from validator.onboard.agent import Shown
from validator.onboard.bootstrap import Onboard, OnboardSettings, build
from validator.onboard.reader import read_line
from validator.onboard.uplink import Rhythm

RHYTHM = Rhythm(
    tap_s=1.0,
    batch_s=5.0,
    upload=timedelta(0),
    probe=timedelta(0),
    sync=timedelta(0),
)
"""A device that calls whenever its turn comes; a busy machine may take a second to answer."""


@dataclass
class Bus:
    """A bus with one validator.

    Attributes:
        parts: The device's parts.
        shown: What turnstile and display were told.
        said: The device's log.
        now: The device's clock.
    """

    folder: Path
    address: str
    rhythm: Rhythm = RHYTHM
    now: datetime = NOW
    shown: list[Shown] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        settings = OnboardSettings(self.folder, self.address, "http://127.0.0.1:1", "102", "1207")
        self.parts: Onboard = build(
            settings, self.shown.append, self.said.append, system=lambda: self.now, rhythm=self.rhythm
        )

    def stop(self) -> None:
        self.parts.uplink.stop()
        self.parts.journal.close()
        self.parts.store.close()

    def restart(self) -> None:
        self.stop()
        self.start()

    def hear(self, line: str) -> None:
        """Hand a line of the reader to the agent."""
        message = read_line(line)
        assert message is not None
        self.parts.agent.handle(message)

    def tap(self, line: str, *, after: timedelta = timedelta(0)) -> Shown:
        """The same, some time later; the last thing that was shown."""
        self.now += after
        self.hear(line)
        return self.shown[-1]

    def go_online(self) -> None:
        """Probe, upload and synchronise once."""
        self.parts.uplink.turn()
        assert self.parts.uplink.state.online


@pytest.fixture
def city(redis_url: str) -> Iterator[SeededCity]:
    """A published city with one device."""
    with SeededCity(redis_url) as seeded:
        seeded.publish()
        seeded.device()
        yield seeded


@pytest.fixture
def wire(city: SeededCity, redis_url: str, tmp_path: Path) -> Iterator[Wire]:
    """A running service behind a wire."""
    with served(redis_url, tmp_path) as address:
        wire = Wire(address)
        yield wire
        wire.close()


def make_bus(folder: Path, address: str) -> Bus:
    """An enrolled device without a list."""
    folder.mkdir(exist_ok=True)
    new_store(folder).close()
    install(folder).close()
    return Bus(folder, address)


@pytest.fixture
def bus(wire: Wire, tmp_path: Path) -> Iterator[Bus]:
    """A bus on the wire."""
    bus = make_bus(tmp_path / "bus", wire.address)
    yield bus
    bus.stop()


@pytest.fixture
def lonely_bus(tmp_path: Path) -> Iterator[Bus]:
    """A bus whose service cannot be reached."""
    bus = make_bus(tmp_path / "bus", "http://127.0.0.1:1")
    yield bus
    bus.stop()
