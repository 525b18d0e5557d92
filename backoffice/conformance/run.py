"""One run of the kit: all clauses in the order in which they need each other."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path

from backoffice.conformance.annulments import check_annulments
from backoffice.conformance.batches import check_batches
from backoffice.conformance.boardings import check_boardings
from backoffice.conformance.device import Device, read_key
from backoffice.conformance.durable import check_durable
from backoffice.conformance.kit import Kit
from backoffice.conformance.link import Link
from backoffice.conformance.messages import check_messages
from backoffice.conformance.report import Report, Say
from backoffice.conformance.requests import check_requests, introduce
from backoffice.conformance.sync import check_sync


@dataclass(frozen=True)
class Plan:
    """What to drive, and with which device.

    Attributes:
        url: Address of the validator service.
        token: The device's token.
        key: File of its private key.
        epoch: Its current epoch.
        journal: File of its journal, kept from run to run.
        cards: Texts of cards to try.
        line: Line of the taps; empty for one of the bundle.
        vehicle: Vehicle of the taps; empty for one of the bundle.
        wait_s: How long the register may take, in seconds; 0 asks for nothing.
        city_keys: The city's public keys by number.
    """

    url: str
    token: str
    key: Path
    epoch: int
    journal: Path
    cards: tuple[str, ...] = ()
    line: str = ""
    vehicle: str = ""
    wait_s: float = 30.0
    city_keys: dict[int, bytes] = field(default_factory=dict)


class SetClock:
    """The device's clock, which follows the service's as section 12 says."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._off = timedelta()

    def __call__(self) -> datetime:
        """The instant by this clock."""
        return self._now() + self._off

    def set(self, at: datetime) -> None:
        """From now on it is this instant."""
        self._off = at - self._now()


def drive(
    plan: Plan,
    say: Say,
    now: Callable[[], datetime],
    chance: Callable[[int], bytes],
    pause: Callable[[float], None],
) -> Report:
    """Drive a service and report every clause; the last line is not said yet.

    Raises:
        CannotGoOn: the service cannot be driven with this device.
        KeyUnreadable: the key file holds no key.
        ServiceAway: the service cannot be reached.
    """
    report, clock = Report(say), SetClock(now)
    device = Device(plan.token, read_key(plan.key), plan.epoch, plan.journal)
    link = Link(plan.url, plan.token, clock, pause)
    kit = Kit(device, link, report, chance, plan.cards, plan.line, plan.vehicle, plan.wait_s, plan.city_keys)
    try:
        check_sync(kit, clock.set)
        kit.line, kit.vehicle = kit.line or "0", kit.vehicle or "0"
        introduce(kit)
        check_requests(kit)
        check_messages(kit)
        check_boardings(kit)
        check_annulments(kit)
        check_batches(kit)
        check_durable(kit)
    finally:
        link.close()
        device.close()
    return report


def golden_bytes() -> bytes:
    """The golden values that any device can be tested with, byte for byte."""
    return files("backoffice.conformance").joinpath("device-protocol.json").read_bytes()
