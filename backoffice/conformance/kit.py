"""What every clause needs: the device, its link, the report, and how this device writes taps."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from backoffice.conformance.device import Device, Entry, spell
from backoffice.conformance.link import Answer, Link, spell_instant
from backoffice.conformance.report import Report

BOARDINGS = "/v1/boardings"
BATCH = "/v1/boardings/batch"
VERDICTS = ("billable", "statistical", "excluded")
ELDER = {"kind": "document", "category": "ELDER", "document": "RG"}
"""The one right that needs no card: every clause can be tried with it."""


class CannotGoOn(Exception):
    """The service cannot be driven with this device; the message says what to do, in Portuguese."""


@dataclass
class Kit:
    """One run.

    Attributes:
        device: The device that is played.
        link: Its connection.
        report: Where findings go.
        chance: Draws that many bytes.
        cards: Texts of cards to try, none needed.
        line: Line of the taps; empty until the bundle names one.
        vehicle: Vehicle of the taps.
        wait_s: How long to wait until the register has committed; 0 asks for none.
        city_keys: The city's public keys by number, as told at installation; none needed.
        durable: The highest `durable_seq` told so far.
        durable_faults: What was wrong with `durable_seq` or `missing` in answers.
    """

    device: Device
    link: Link
    report: Report
    chance: Callable[[int], bytes]
    cards: tuple[str, ...] = ()
    line: str = ""
    vehicle: str = ""
    wait_s: float = 0.0
    city_keys: dict[int, bytes] = field(default_factory=dict)
    durable: int = 0
    durable_faults: list[str] = field(default_factory=list)

    def boarding_id(self) -> str:
        """A new id, a UUID of version 7."""
        millis = int(self.link.now().timestamp() * 1000)
        drawn = int.from_bytes(self.chance(10), "big")
        number = (millis << 80) | drawn
        number = number & ~(0xF << 76) | 0x7 << 76
        number = number & ~(0x3 << 62) | 0x2 << 62
        text = f"{number:032x}"
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def tap(self, **changes: object) -> dict[str, Any]:
        """A tap under the next number, not journalled yet."""
        fields: dict[str, Any] = {
            "boarding_id": self.boarding_id(),
            "epoch": self.device.epoch,
            "device_seq": self.device.next_seq,
            "occurred_at": spell_instant(self.link.now()),
            "line": self.line,
            "vehicle": self.vehicle,
            "medium": ELDER,
        }
        return fields | changes

    def write_tap(self, **changes: object) -> tuple[str, Entry]:
        """Journal a tap: its boarding id and its entry."""
        fields = self.tap(**changes)
        return str(fields["boarding_id"]), self.device.write(spell(fields).decode())

    def write_release(self, boarding: str, *, released: bool = True, **changes: object) -> Entry:
        """Journal what was done about a tap."""
        fields = {
            "boarding_id": boarding,
            "device_seq": self.device.next_seq,
            "released": released,
            "mode": "online",
        }
        return self.device.write(spell(fields | changes).decode())

    def write_annulment(self, boarding: str, after_s: float = 5.0, **changes: object) -> Entry:
        """Journal that the turnstile did not turn."""
        fields = {
            "epoch": self.device.epoch,
            "device_seq": self.device.next_seq,
            "occurred_at": spell_instant(self.link.now() + timedelta(seconds=after_s)),
            "annuls": boarding,
        }
        return self.device.write(spell(fields | changes).decode())

    def board(self, raw: bytes, **headers: str | None) -> Answer:
        """Post a tap by itself."""
        return self._noted(self.link.post(BOARDINGS, raw, **headers))

    def upload(self, raw: bytes, **headers: str | None) -> Answer:
        """Upload a batch."""
        return self._noted(self.link.post(BATCH, raw, **headers))

    def annul(self, boarding: str, raw: bytes, **headers: str | None) -> Answer:
        """Post an annulment."""
        return self._noted(self.link.post(f"{BOARDINGS}/{boarding}/annul", raw, **headers))

    def is_problem(self, section: int, clause: str, came: Answer, status: int, *kinds: str) -> bool:
        """A clause that a request is refused with a problem document of one of these kinds."""
        body = came.body
        expected = f"{status} {' ou '.join(kinds)}"
        held = (
            came.status == status
            and came.content_type.partition(";")[0] == "application/problem+json"
            and body.get("status") == status
            and any(body.get("type") == f"urn:catraca:problem:{kind}" for kind in kinds)
            and all(isinstance(body.get(name), str) and body[name] for name in ("title", "detail"))
        )
        return self.report.holds(section, clause, expected, came, held)

    def _noted(self, came: Answer) -> Answer:
        """Take note of what is durable, and of answers that do not say it as they must."""
        if came.status != 200:
            return came
        durable, missing = came.body.get("durable_seq"), came.body.get("missing")
        if type(durable) is not int or durable < self.durable:
            self.durable_faults.append(f"durable_seq {durable!r} depois de {self.durable}")
        else:
            self.durable = durable
        if not isinstance(missing, list) or not all(_is_range(one) for one in missing):
            self.durable_faults.append(f"missing {missing!r}")
        return came


def _is_range(one: object) -> bool:
    return (
        isinstance(one, list)
        and len(one) == 2
        and all(type(end) is int for end in one)
        and 1 <= one[0] <= one[1]
    )


def items_of(came: Answer) -> list[dict[str, Any]]:
    """The items of a batch's answer; none where it is no such answer."""
    items = came.body.get("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def reason_of(item: dict[str, Any]) -> str:
    """The name of the reason that an answer or an item gives; empty for none."""
    reason = item.get("reason")
    return str(reason.get("name", "")) if isinstance(reason, dict) else ""
