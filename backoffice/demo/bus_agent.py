"""The agent of this project on a bus without network: its list, its journal, its decision, its upload.

A bus that loses its network hands its journal over: what the service lacks is written into the agent's journal, whose
chain goes on where the device's stood. From then on the agent decides each tap by itself, with the signed list that it
fetched in the night. When the network is back its uploader sends everything, and the device goes on behind it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from backoffice.demo.device import DeviceIdentity, Entry, JournalFile
from backoffice.demo.failure import AgentFailed
from validator.onboard.agent import Agent, Place, Shown
from validator.onboard.city_store import CityStore
from validator.onboard.device_clock import DeviceClock
from validator.onboard.download import Synced
from validator.onboard.journal import Draft, EntryWord, Installation, Journal
from validator.onboard.keys import verify
from validator.onboard.offline import OfflineDesk
from validator.onboard.reader import read_line
from validator.onboard.rides import Rides
from validator.onboard.uplink import Uplink
from validator.onboard.uploader import Uploaded

_UPLOADS = 100
"""How often an upload is tried again while the service cannot take all of it."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class City:
    """What a device is told at its installation: where the service is, and the city's keys."""

    address: str
    keys: tuple[tuple[int, bytes], ...]


class BusAgent:
    """The agent for one stretch without network, in a folder of its own. The demonstration is its clock."""

    def __init__(
        self, folder: Path, identity: DeviceIdentity, city: City, at: datetime, pause: Callable[[], None]
    ) -> None:
        """An agent; it knows nothing before `sync`.

        Args:
            folder: Of its journal and its list; it must not exist.
            identity: Of the device that it is.
            city: As told at installation.
            at: The instant.
            pause: Waits a little before an upload is tried again.
        """
        folder.mkdir(parents=True)
        self.drives = False
        """Whether it has taken the journal over."""
        self._identity = identity
        self._at = at
        self._skew = timedelta(0)
        self._pause = pause
        self._drawn = ""
        self._shown: list[Shown] = []
        self._before = 0
        self._journal = Journal(folder / "journal.sqlite")
        self._store = CityStore(folder / "city.sqlite")
        self._store.trust(city.keys)
        self._log: list[str] = []
        rides = Rides(self._journal)
        clock = DeviceClock(lambda: self._at + self._skew, lambda: self._at.timestamp())
        self._uplink = Uplink(
            city.address, self._journal, self._store, rides, clock, verify, self._log.append
        )
        self._agent = Agent(
            self._journal,
            rides,
            OfflineDesk(self._store, rides, verify),
            self._uplink,
            clock,
            lambda _: self._drawn,
            Place("0", "0"),
            self._shown.append,
        )
        key = identity.key.private_bytes_raw()
        self._journal.install(Installation(identity.device_id, identity.epoch, key, identity.token), at)

    def sync(self) -> None:
        """Fetch the list over HTTP, and verify it.

        Raises:
            AgentFailed: it was not taken.
        """
        if self._uplink.sync() is not Synced.TAKEN:
            raise AgentFailed(f"{self._identity.device_id}: {'; '.join(self._log)}")

    def take_over(self, device: JournalFile) -> None:
        """Go on where a device's journal stands; what is not durable yet is its own to upload from now on."""
        last = device.before_held
        self._journal.write(
            "UPDATE installations SET base_seq = ?, base_head = ?, durable_seq = ?",
            (last.seq, last.head, last.seq),
        )
        for entry in device.held:
            self._append(entry)
        self._before = device.last_seq
        self.drives = True

    def _append(self, entry: Entry) -> None:
        fields = _decode(entry.exact)
        word = EntryWord.RELEASE if "released" in fields else EntryWord.TAP
        word = EntryWord.ANNULMENT if "annuls" in fields else word
        boarding_id = fields.get("annuls") or fields["boarding_id"]
        written = self._journal.append(Draft(word, boarding_id, lambda _: entry.exact), self._at)
        if (written.seq, written.head) != (entry.seq, entry.head):
            raise AgentFailed(f"{self._identity.device_id}: {entry.seq} não continua a cadeia")

    def tap(self, fields: dict[str, Any], at: datetime, skew: timedelta) -> Shown:
        """A rider taps; what turnstile and display are told, and by then the release is journalled too.

        Args:
            fields: The tap, without number and instant.
            at: The true instant.
            skew: How far the device's clock is ahead.
        """
        self._at, self._skew = at, skew
        self._drawn = fields["boarding_id"]
        self._shown.clear()
        for line in (
            {"trip": {name: fields[name] for name in ("line", "vehicle", "trip")}},
            {"tap": fields["medium"]},
        ):
            message = read_line(_encode(line).decode())
            assert message is not None
            self._agent.handle(message)
        return self._shown[0]

    def upload(self, at: datetime) -> None:
        """The network is back: send everything, in signed batches.

        Raises:
            AgentFailed: the service does not take it.
            LinkDown: no answer came.
        """
        self._at, self._skew = at, timedelta(0)
        uploader = self._uplink.uploader
        for _ in range(_UPLOADS):
            if uploader.upload() in (Uploaded.TAKEN, Uploaded.NOTHING):
                return
            self._pause()
        raise AgentFailed(f"{self._identity.device_id}: {uploader.problem}")

    def hand_back(self, device: JournalFile) -> None:
        """Let the device go on behind the last entry."""
        epoch = self._identity.epoch
        for mine in self._journal.entries(epoch, after=self._before, limit=1_000_000):
            if device.append(mine.exact).head != mine.head:
                raise AgentFailed(f"{self._identity.device_id}: {mine.seq} não continua a cadeia")
        current = self._journal.installation()
        device.forget_through(0 if current is None else current.durable_seq)

    def close(self) -> None:
        """Close connections and files."""
        self._uplink.stop()
        self._journal.close()
        self._store.close()
