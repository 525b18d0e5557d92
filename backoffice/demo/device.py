"""The side of a device: what it numbers, journals, chains, signs, posts and uploads.

It is the least that design and protocol ask of a validator on a bus that has network, with a driver who may hold or let
through as he likes; without network the agent of this project takes its place (`bus_agent`).
Every entry is written to the journal's file before it is posted, the same bytes go to both boarding routes, and an
entry is forgotten only when the service has said that it is durable.
"""

import asyncio
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from backoffice.demo.clock import DemoClock
from backoffice.demo.failure import DeviceRefused
from backoffice.demo.http_link import HttpAnswer, Link, LinkDown
from validator.domain.service_time import SAO_PAULO
from validator.records.device_messages import chain_next, chain_start, digest_of, head_message

BOARDINGS = "/v1/boardings"
BATCH = "/v1/boardings/batch"
ENTRIES_A_BATCH = 500
_ATTEMPTS = 150
_PAUSE_S = 0.2

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class DeviceIdentity:
    """Who a device is: its id, the token that it was given, its key, and the epoch that the service issued."""

    device_id: str
    token: str
    key: Ed25519PrivateKey
    epoch: int = 1

    @property
    def headers(self) -> dict[str, str]:
        """How it names itself in a request."""
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One journal entry: its sequence, its exact bytes, and the head of the chain after it."""

    seq: int
    exact: bytes
    head: bytes


class JournalFile:
    """A device's journal on disk: one line for each entry, only ever appended. Numbers have no gaps."""

    def __init__(self, folder: Path, device_id: str, epoch: int) -> None:
        self._device_id = device_id
        self._file = (folder / f"{device_id}.{epoch}.journal").open("ab")
        self._head = chain_start(device_id, epoch)
        self.last_seq = 0
        self.held: list[Entry] = []
        """Entries that are not durable yet, in order."""
        self.before_held = Entry(0, b"", self._head)
        """The last entry that is durable: number and head."""

    def append(self, exact: bytes) -> Entry:
        """Write an entry down; it has the next number in it."""
        self._file.write(exact + b"\n")
        self._file.flush()
        self.last_seq += 1
        self._head = chain_next(self._head, digest_of(self._device_id, exact))
        entry = Entry(self.last_seq, exact, self._head)
        self.held.append(entry)
        return entry

    @property
    def head(self) -> bytes:
        """The head of the chain after the last entry."""
        return self._head

    def forget_through(self, durable_seq: int) -> None:
        """Drop from memory what is durable; the file keeps it."""
        if self.held and self.held[0].seq <= durable_seq:
            self.before_held = [entry for entry in self.held if entry.seq <= durable_seq][-1]
            self.held = [entry for entry in self.held if entry.seq > durable_seq]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(slots=True)
class Tally:
    """What a device did on the wire."""

    posted: int = 0
    replayed: int = 0
    batches: int = 0
    batch_items: int = 0
    not_recorded: int = 0
    problems: dict[str, int] = field(default_factory=dict)


class Device:
    """One validator."""

    def __init__(
        self, identity: DeviceIdentity, link: Link, folder: Path, clock: DemoClock, chance: random.Random
    ) -> None:
        self.identity = identity
        self.journal = JournalFile(folder, identity.device_id, identity.epoch)
        self.tally = Tally()
        self.skew = timedelta(0)
        """How far the device's clock is ahead."""
        self.closed = False
        self._link = link
        self._clock = clock
        self._chance = chance

    # Journal

    def new_boarding_id(self, at: datetime) -> UUID:
        """An id of version 7: its time leads, so that ids of one hour lie together."""
        millis = int(at.timestamp() * 1000)
        number = (millis << 80) | (7 << 76) | (self._chance.getrandbits(12) << 64) | (2 << 62)
        return UUID(int=number | self._chance.getrandbits(62))

    def journal_tap(self, tap: dict[str, Any], at: datetime) -> Entry:
        """Journal a tap that was seen at `at` by true time; the device writes its own time."""
        return self._write(tap | {"occurred_at": self._own_time(at)})

    def journal_release(
        self, boarding_id: UUID, *, released: bool, ride_class: str | None, purse: str | None, online: bool
    ) -> Entry:
        """Journal what the device did about a tap."""
        release: dict[str, Any] = {"boarding_id": str(boarding_id), "released": released}
        if ride_class is not None:
            release["class"] = ride_class
        if purse is not None:
            release["purse"] = purse
        return self._write(release | {"mode": "online" if online else "offline"})

    def journal_annulment(self, boarding_id: UUID, at: datetime) -> Entry:
        """Journal that the turnstile did not turn."""
        return self._write({"occurred_at": self._own_time(at), "annuls": str(boarding_id)})

    def _write(self, fields: dict[str, Any]) -> Entry:
        numbered = {"epoch": self.identity.epoch, "device_seq": self.journal.last_seq + 1}
        return self.journal.append(_encode(numbered | fields))

    def _own_time(self, at: datetime) -> str:
        return (at + self.skew).astimezone(SAO_PAULO).isoformat(timespec="milliseconds")

    # Wire

    async def post_tap(self, entry: Entry) -> HttpAnswer:
        """Post a tap on the single route.

        Raises:
            LinkDown: no answer came.
        """
        return await self._post(BOARDINGS, entry.exact)

    async def post_tap_again(self, entry: Entry) -> HttpAnswer:
        """Post a tap until it is answered.

        Raises:
            DeviceRefused: it is not, for many seconds.
        """
        return await self._post_until_served(BOARDINGS, entry.exact)

    async def post_annulment(self, entry: Entry, boarding_id: UUID) -> HttpAnswer:
        """Post an annulment on its own route until it is answered.

        Raises:
            DeviceRefused: it is not, for many seconds.
        """
        return await self._post_until_served(f"{BOARDINGS}/{boarding_id}/annul", entry.exact)

    async def upload(self, *, closing: bool = False) -> list[dict[str, Any]]:
        """Upload everything that is not durable yet, in batches, each with a signed head; the items answered.

        Raises:
            DeviceRefused: the service refused a batch whole, or gives no answer.
        """
        held = self.journal.held
        items: list[dict[str, Any]] = []
        batches = [held[i : i + ENTRIES_A_BATCH] for i in range(0, len(held), ENTRIES_A_BATCH)]
        if not batches and closing:
            batches = [[]]
        for number, batch in enumerate(batches, start=1):
            items += await self._upload(batch, closing=closing and number == len(batches))
        self.closed = self.closed or closing
        return items

    async def _upload(self, batch: list[Entry], *, closing: bool) -> list[dict[str, Any]]:
        last = batch[-1] if batch else Entry(self.journal.last_seq, b"", self.journal.head)
        message = head_message(
            self.identity.device_id, self.identity.epoch, last.seq, last.head, closing=closing
        )
        body: dict[str, Any] = {
            "epoch": self.identity.epoch,
            "first_seq": batch[0].seq if batch else last.seq + 1,
            "entries": [entry.exact.decode() for entry in batch],
            "head": last.head.hex(),
            "signature": self.identity.key.sign(message).hex(),
        }
        if closing:
            body["closing"] = True
        while True:
            answer = await self._post_until_served(BATCH, _encode(body))
            if answer.status != 200:
                raise DeviceRefused(f"{self.identity.device_id}: {answer.status} {answer.body.decode()}")
            items: list[dict[str, Any]] = _decode(answer.body)["items"]
            self.tally.batches += 1
            self.tally.batch_items += len(items)
            if all(item["recorded"] for item in items):
                return items
            self.tally.not_recorded += sum(not item["recorded"] for item in items)
            await asyncio.sleep(_PAUSE_S)

    async def _post_until_served(self, path: str, body: bytes) -> HttpAnswer:
        """The same bytes again and again: whatever was done with the first, it is done once."""
        why = ""
        for _ in range(_ATTEMPTS):
            try:
                answer = await self._post(path, body)
                if answer.status != 503:
                    return answer
                why = answer.body.decode()
            except LinkDown as error:
                why = str(error)
            await asyncio.sleep(_PAUSE_S)
        raise DeviceRefused(f"{self.identity.device_id}: {path}: {why}")

    async def _post(self, path: str, body: bytes) -> HttpAnswer:
        headers = self.identity.headers | {"Catraca-Sent-At": self._own_time(self._clock.now())}
        answer = await self._link.post(path, headers, body)
        self.tally.posted += 1
        if answer.status == 200:
            durable = _decode(answer.body).get("durable_seq")
            if durable is not None:
                self.journal.forget_through(durable)
        return answer

    def close(self) -> None:
        """Close link and journal."""
        self._link.close()
        self.journal.close()


def read_answer(answer: HttpAnswer) -> dict[str, Any]:
    """The body of an answer."""
    body: dict[str, Any] = _decode(answer.body)
    return body


__all__ = ["Device", "DeviceIdentity", "Entry", "LinkDown", "read_answer"]
