"""The taps of a run as the exact bytes of HTTP requests, and what each was, for the audit.

Every tap has its own boarding id and its device's next sequence; none is repeated.
"""

import json
import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from loadtests.bench.city import BenchCity, Device, Rider
from validator.domain.service_time import SAO_PAULO
from validator.records.device_messages import chain_next, chain_start, digest_of, head_message


@dataclass(slots=True)
class Taps:
    """The taps of one run, one after the other.

    Attributes:
        requests: The HTTP requests.
        riders: Who taps.
        boarding_ids: Their boarding ids.
        devices: Number of the device of each.
    """

    requests: list[bytes] = field(default_factory=list)
    riders: list[Rider] = field(default_factory=list)
    boarding_ids: list[str] = field(default_factory=list)
    devices: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.boarding_ids)


class TapMaker:
    """Draws taps of a city; sequences and ids go on from one run to the next."""

    def __init__(self, city: BenchCity, *, seed: int = 7) -> None:
        self._city = city
        self._chance = random.Random(seed)
        self._sequences = [0] * len(city.devices)
        self._place = 0
        self._heads = [chain_start(device.id, 1) for device in city.devices]

    def singles(self, count: int, now: datetime, *, riders: Sequence[Rider] | None = None) -> Taps:
        """Taps for the single route, all dated within the seconds before `now`.

        Riders come in turns, so that the same one does not tap twice at once; `riders` names others than all.
        """
        taps = Taps()
        crowd = self._city.riders if riders is None else riders
        lead = [_single_head(device, now) for device in self._city.devices]
        for _ in range(count):
            rider, number = self._next_rider(crowd), self._chance.randrange(len(self._city.devices))
            boarding_id, body = self._tap(rider, number, now)
            taps.requests.append(lead[number] + b"%d\r\n\r\n" % len(body) + body)
            taps.riders.append(rider)
            taps.boarding_ids.append(boarding_id)
            taps.devices.append(number)
        return taps

    def batches(self, count: int, size: int, now: datetime) -> Taps:
        """Uploads of `size` taps each, every one the next stretch of some device's journal with its signed head."""
        taps = Taps()
        for batch in range(count):
            number = batch % len(self._city.devices)
            device = self._city.devices[number]
            entries, first = [], self._sequences[number] + 1
            for _ in range(size):
                rider = self._next_rider(self._city.riders)
                boarding_id, body = self._tap(rider, number, now)
                self._heads[number] = chain_next(self._heads[number], digest_of(device.id, body))
                entries.append(body.decode())
                taps.riders.append(rider)
                taps.boarding_ids.append(boarding_id)
                taps.devices.append(number)
            taps.requests.append(_batch_request(device, first, entries, self._heads[number], now))
        return taps

    def _next_rider(self, crowd: Sequence[Rider]) -> Rider:
        self._place += 1
        return crowd[self._place % len(crowd)]

    def _tap(self, rider: Rider, number: int, now: datetime) -> tuple[str, bytes]:
        device = self._city.devices[number]
        self._sequences[number] = seq = self._sequences[number] + 1
        boarding_id = str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
        at = (now - timedelta(milliseconds=self._chance.randrange(30_000))).isoformat(timespec="milliseconds")
        medium = '{"kind":"cash","tendered_cents":500}'
        if rider.token is not None:
            medium = f'{{"kind":"card","token":"{rider.token}"}}'
        body = (
            f'{{"boarding_id":"{boarding_id}","epoch":1,"device_seq":{seq},"occurred_at":"{at}",'
            f'"line":"{device.line}","vehicle":"{device.vehicle}","medium":{medium}}}'
        )
        return boarding_id, body.encode()


def _single_head(device: Device, now: datetime) -> bytes:
    return _head("/v1/boardings", device, now)


def _head(path: str, device: Device, now: datetime) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {device.token}\r\n"
        f"catraca-sent-at: {now.isoformat(timespec='milliseconds')}\r\n"
        "content-type: application/json\r\ncontent-length: "
    ).encode()


def _batch_request(device: Device, first: int, entries: list[str], head: bytes, now: datetime) -> bytes:
    signed = head_message(device.id, 1, first + len(entries) - 1, head)
    body = json.dumps(
        {
            "epoch": 1,
            "first_seq": first,
            "entries": entries,
            "head": head.hex(),
            "signature": device.key.sign(signed).hex(),
        },
        separators=(",", ":"),
    ).encode()
    return _head("/v1/boardings/batch", device, now) + b"%d\r\n\r\n" % len(body) + body


def arrivals(per_second: float, seconds: float, *, seed: int = 11) -> Iterator[float]:
    """Instants of a Poisson process, in seconds from the start: riders do not wait for each other."""
    chance = random.Random(seed)
    at = 0.0
    while True:
        at += chance.expovariate(per_second)
        if at >= seconds:
            return
        yield at


def civil_now(now: datetime) -> datetime:
    """An instant with the city's offset, as a device writes it."""
    return now.astimezone(SAO_PAULO)


def body_of(request: bytes) -> bytes:
    """The body of a request made here."""
    return request.partition(b"\r\n\r\n")[2]
