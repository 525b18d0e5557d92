"""Section 3 of the page: a device's journal on disk, its digests and its chain, and batches signed over it."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class KeyUnreadable(ValueError):
    """The file holds no private Ed25519 key, neither as PEM nor as 64 hexadecimal digits."""


def read_key(path: Path) -> Ed25519PrivateKey:
    """The device's private key.

    Raises:
        KeyUnreadable: the file is not there or holds no such key.
    """
    try:
        data = path.read_bytes().strip()
        if len(data) == 64:
            return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(data.decode("ascii")))
        key = serialization.load_pem_private_key(data, password=None)
    except (OSError, ValueError, TypeError) as error:
        raise KeyUnreadable(str(path)) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyUnreadable(str(path))
    return key


def digest_of(device_id: str, exact: bytes) -> bytes:
    """The digest of an entry."""
    return hashlib.sha256(b"catraca-entry-1\x00" + device_id.encode() + b"\x00" + exact).digest()


def chain_start(device_id: str, epoch: int) -> bytes:
    """The head before the first entry."""
    return hashlib.sha256(
        b"catraca-chain-1\x00" + device_id.encode() + b"\x00" + epoch.to_bytes(8, "big")
    ).digest()


def chain_next(head: bytes, digest: bytes) -> bytes:
    """The head after one more entry."""
    return hashlib.sha256(head + digest).digest()


def signed_head(device_id: str, epoch: int, last: int, head: bytes, *, closing: bool = False) -> bytes:
    """What the device signs."""
    numbers = epoch.to_bytes(8, "big") + last.to_bytes(8, "big") + bytes([closing])
    return b"catraca-head-1\x00" + device_id.encode() + b"\x00" + numbers + head


@dataclass(frozen=True)
class Entry:
    """One journal entry: its number and its exact bytes."""

    seq: int
    exact: bytes


class Device:
    """A device with its journal, one exact entry a line. A line is on disk before its entry is sent.

    A line without its end was cut off before it could be sent, and is taken back.

    Attributes:
        id: Device id.
        token: What it names itself by.
        epoch: The epoch that the register issued.
    """

    def __init__(self, token: str, key: Ed25519PrivateKey, epoch: int, journal: Path) -> None:
        self.id = token.partition(".")[0]
        self.token = token
        self.epoch = epoch
        self._key = key
        self._texts: list[str] = []
        self._heads = [chain_start(self.id, epoch)]
        data = journal.read_bytes() if journal.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        for line in whole.decode().split("\n")[:-1]:
            self._take(line)
        self._file = os.open(journal, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(self._file, len(whole))
        os.lseek(self._file, 0, os.SEEK_END)

    def close(self) -> None:
        """Close the journal."""
        os.close(self._file)

    @property
    def last_seq(self) -> int:
        """Number of the last entry, 0 before the first."""
        return len(self._texts)

    @property
    def next_seq(self) -> int:
        """Number of the next entry."""
        return len(self._texts) + 1

    def write(self, text: str) -> Entry:
        """Journal a text under the next number."""
        assert "\n" not in text
        os.write(self._file, text.encode() + b"\n")
        os.fsync(self._file)
        self._take(text)
        return Entry(self.last_seq, text.encode())

    def batch(
        self, first: int, last: int | None = None, *, more: Sequence[str] = (), **changes: Any
    ) -> bytes:
        """A batch of the entries from `first` to `last`, and of more that are not journalled, under a true head.

        Changes replace fields of the envelope afterwards, so that a batch can be wrong in one point.
        """
        end = self.last_seq if last is None else last
        head = self._heads[end]
        for text in more:
            head = chain_next(head, digest_of(self.id, text.encode()))
        number = end + len(more)
        fields: dict[str, Any] = {
            "epoch": self.epoch,
            "first_seq": first,
            "entries": [*self._texts[first - 1 : end], *more],
            "head": head.hex(),
            "signature": self.sign(number, head),
        }
        return spell(fields | changes)

    def head(self, number: int) -> bytes:
        """The head after an entry."""
        return self._heads[number]

    def sign(self, number: int, head: bytes, *, closing: bool = False) -> str:
        """The device's signature over a head."""
        return self._key.sign(signed_head(self.id, self.epoch, number, head, closing=closing)).hex()

    def _take(self, text: str) -> None:
        self._texts.append(text)
        self._heads.append(chain_next(self._heads[-1], digest_of(self.id, text.encode())))


def spell(fields: object) -> bytes:
    """JSON in UTF-8, as this device writes it."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
