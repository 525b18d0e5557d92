"""A device on a bus: its journal, its clock, and what it lets riders do without a network. Written from the protocol.

It shares no code with the product: digests, chain and signatures are made here.
"""

import hashlib
import json
import struct
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.simulation.facts import Journal


def instant_text(instant: datetime) -> str:
    return instant.isoformat(timespec="milliseconds")


def digest(device: str, raw: bytes) -> bytes:
    return hashlib.sha256(b"catraca-entry-1\x00" + device.encode() + b"\x00" + raw).digest()


@dataclass
class Clock:
    """A device's clock: right, or off by something from an instant on."""

    offset: timedelta = timedelta(0)
    since_1970: datetime | None = None

    def read(self, now: datetime) -> datetime:
        if self.since_1970 is not None:
            return datetime(1970, 1, 1, tzinfo=UTC) + (now - self.since_1970)
        return now + self.offset


@dataclass
class Bus:
    """A device in its bus.

    Attributes:
        journal: All that it ever wrote, which is also what truly happened.
        forgotten: Entries up to this sequence are no longer on the device: the service said that they are durable.
        heads: Value of the chain after each entry.
        online: Whether there is a network.
        list_at: When it last heard of rights and passes.
        used: Passes that it has seen used since, by holder and purse.
    """

    id: str
    vehicle: str
    lines: list[str]
    token: str
    key: Ed25519PrivateKey
    journal: Journal
    clock: Clock = field(default_factory=Clock)
    online: bool = True
    list_at: datetime = datetime(2026, 3, 22, 12, tzinfo=UTC)
    forgotten: int = 0
    heads: list[bytes] = field(default_factory=list)
    used: dict[tuple[str, str], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        start = b"catraca-chain-1\x00" + self.id.encode() + b"\x00" + struct.pack(">Q", self.journal.epoch)
        self.heads = [hashlib.sha256(start).digest()]

    def install(self, token: str, key: Ed25519PrivateKey, journal: Journal) -> "Bus":
        """Begin anew with an empty journal; what was there before goes on as a copy that only uploads."""
        before = replace(self, lines=[], token=token, used={})
        before.heads = self.heads
        self.token, self.key, self.journal, self.forgotten = token, key, journal, 0
        self.__post_init__()
        return before

    @property
    def authorization(self) -> bytes:
        return b"Bearer " + self.token.encode()

    @property
    def seq(self) -> int:
        return len(self.journal.entries)

    def write(self, **entry: object) -> bytes:
        """Append an entry under the next sequence."""
        fields = {"epoch": self.journal.epoch, "device_seq": self.seq + 1, **entry}
        raw = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
        self.journal.entries.append(raw)
        self.heads.append(hashlib.sha256(self.heads[-1] + digest(self.id, raw)).digest())
        return raw

    def batch(self, first: int, last: int, *, closing: bool = False) -> bytes:
        """Entries first..last with the signed head after the last; none where last is below first."""
        assert first > self.forgotten or last < first, "the device no longer has these entries"
        texts = [raw.decode() for raw in self.journal.entries[first - 1 : last]]
        upto, epoch = first + len(texts) - 1, self.journal.epoch
        head = self.heads[upto]
        signed = (
            b"catraca-head-1\x00" + self.id.encode() + b"\x00" + struct.pack(">QQ?", epoch, upto, closing)
        )
        message = {
            "epoch": epoch,
            "first_seq": first,
            "entries": texts,
            "head": head.hex(),
            "signature": self.key.sign(signed + head).hex(),
            "closing": closing,
        }
        return json.dumps(message, ensure_ascii=False).encode()

    def learn_durable(self, durable_seq: int) -> None:
        """The service said what is durable: the device forgets it for good."""
        self.forgotten = max(self.forgotten, durable_seq)
