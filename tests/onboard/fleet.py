"""A bundle for tests: built by the back office from a Redis that holds a seeded city, and handed to a device."""

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from backoffice.adapters.bundle_store import BundleStore
from backoffice.adapters.offline_policy import policy_from
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.bundle import Built, build_bundle
from backoffice.domain.offline_policy import OfflinePolicy
from tests.validator.seeded_city import CITY_KEY, NOW, SeededCity
from validator.onboard.city_store import CityStore
from validator.onboard.download import Downloader, Synced
from validator.onboard.journal import Installation, Journal
from validator.onboard.keys import verify
from validator.onboard.link import HttpAnswer, LinkDown
from validator.records.bundle import SyncAnswer, chunk_key, offer_key, read_signed_offer

DEVICE_KEY = hashlib.sha256(b"val-1").digest()
"""The private key of the seeded device `val-1`."""


class TestSigner:
    """The city's key of tests."""

    __test__ = False

    def __init__(self, key: Ed25519PrivateKey = CITY_KEY) -> None:
        self._key = key

    def create(self, key_id: int) -> bytes:
        return self._key.public_key().public_bytes_raw()

    def sign(self, key_id: int, message: bytes) -> bytes:
        return self._key.sign(message)


def build(
    city: SeededCity,
    url: str,
    holders: Sequence[str],
    at: datetime = NOW,
    *,
    policy: OfflinePolicy | None = None,
    signer: TestSigner | None = None,
) -> Built:
    """Build the bundle of these holders."""
    with RedisLink(url) as link:
        return build_bundle(
            BundleStore(link), holders, policy or policy_from(None), signer or TestSigner(), at
        )


class RedisGet:
    """What `GET /v1/sync` gives, straight from Redis; it may break off after some answers."""

    def __init__(self, city: SeededCity, *, breaks_after: int | None = None) -> None:
        self._city = city
        self.breaks_after = breaks_after
        self.asked: list[str] = []
        self.alter: Callable[[str, bytes], bytes] = lambda path, body: body

    def __call__(self, path: str) -> HttpAnswer:
        if self.breaks_after is not None and len(self.asked) >= self.breaks_after:
            raise LinkDown("cut")
        self.asked.append(path)
        if path.startswith("/v1/sync?have="):
            have = int(path.rpartition("=")[2])
            data = self._city.redis.get(offer_key(have)) or self._city.redis.get(offer_key(0))
            if data is None:
                return HttpAnswer(503, b"{}")
            signed = read_signed_offer(bytes(data))  # type: ignore[arg-type]
            answer = SyncAnswer(signed.offer, signed.key_id, signed.signature, NOW.isoformat())
            return HttpAnswer(200, self.alter(path, msgspec.json.encode(answer)))
        piece = self._city.redis.get(chunk_key(path.rpartition("/")[2]))
        if piece is None:
            return HttpAnswer(404, b"{}")
        return HttpAnswer(200, self.alter(path, bytes(piece)))  # type: ignore[arg-type]


def new_store(folder: Path) -> CityStore:
    """A store that trusts the city's key, as after enrolment."""
    store = CityStore(folder / "city.sqlite")
    store.trust([(1, CITY_KEY.public_key().public_bytes_raw())])
    return store


def fetch(store: CityStore, get: RedisGet) -> tuple[Synced, Downloader]:
    """Synchronise a store once."""
    downloader = Downloader(store, get, verify)
    return downloader.sync(), downloader


def install(folder: Path, at: datetime = NOW, epoch: int = 1) -> Journal:
    """The journal of the seeded device `val-1`."""
    journal = Journal(folder / "journal.sqlite")
    journal.install(Installation("val-1", epoch, DEVICE_KEY, "val-1.a-secret-of-tests"), at)
    return journal
