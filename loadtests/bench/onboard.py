"""A device alone, with a list of the bench's city on its disk: how long a rider waits at its turnstile.

Absolute figures, since the limit of 50 ms is one: a device's disk is slower than a bench's, its processor too.
"""

import statistics
import time
from collections.abc import Iterator, Sequence

import msgspec
import redis

from backoffice.adapters.bundle_store import BundleStore
from backoffice.adapters.offline_policy import policy_from
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.bundle import build_bundle
from loadtests.bench.city import CARD_KEY_ID, BenchCity, Device, Rider
from loadtests.bench.stage import Stage, now
from loadtests.bench.table import Outcome
from validator.onboard.agent import Shown
from validator.onboard.bootstrap import Onboard, OnboardSettings, build, draw_boarding_id
from validator.onboard.download import Downloader, Synced
from validator.onboard.journal import Installation
from validator.onboard.keys import verify
from validator.onboard.link import HttpAnswer
from validator.onboard.offline import OfflineDesk, Seen
from validator.onboard.reader import read_line
from validator.records.bundle import SyncAnswer, chunk_key, offer_key, read_signed_offer
from validator.records.device_messages import CardMedium

_TAPS = 1_000
_NOBODY = "http://127.0.0.1:1"


def measure_onboard(stage: Stage) -> Iterator[Outcome]:
    """Note the times among the absolute figures; they fill no row of the target table."""
    with stage.redis(stage.tier.holders) as (url, city):
        device = city.devices[0]
        shown: list[Shown] = []
        settings = OnboardSettings(stage.new_folder("onboard"), _NOBODY, _NOBODY, device.line, device.vehicle)
        parts = build(settings, shown.append, stage.say, system=now)
        try:
            _take_list(parts, url, city)
            _install(parts, device)
            riders = [rider for rider in city.riders if rider.token is not None]
            half = min(_TAPS, len(riders) // 2)
            _note(stage, "decision alone", _decisions(parts, device, riders[:half]))
            _note(stage, "tap with its journal on disk", _taps(parts, riders[half : 2 * half], shown))
        finally:
            parts.uplink.stop()
            parts.journal.close()
            parts.store.close()
    yield from ()


def _take_list(parts: Onboard, url: str, city: BenchCity) -> None:
    holders = [rider.holder_id for rider in city.riders if rider.holder_id]
    with RedisLink(url) as link:
        build_bundle(BundleStore(link), holders, policy_from(None), _CityKey(city), now())
    parts.store.trust([(CARD_KEY_ID, city.key.public_key().public_bytes_raw())])
    with redis.Redis.from_url(url) as client:
        synced = Downloader(parts.store, _FromRedis(client), verify).sync()
    assert synced is Synced.TAKEN, synced


def _install(parts: Onboard, device: Device) -> None:
    installation = Installation(device.id, 1, device.key.private_bytes_raw(), device.token)
    parts.journal.install(installation, now())


def _decisions(parts: Onboard, device: Device, riders: Sequence[Rider]) -> list[float]:
    """Milliseconds of each decision: signature, list, own rides, law; nothing is written."""
    desk = OfflineDesk(parts.store, parts.rides, verify)
    times = []
    for rider in riders:
        assert rider.token is not None
        at = now()
        seen = Seen(draw_boarding_id(at), at, device.line, device.vehicle, CardMedium(rider.token))
        began = time.perf_counter_ns()
        verdict = desk.decide(seen)
        times.append((time.perf_counter_ns() - began) / 1_000_000)
        assert verdict.released, verdict
    return times


def _taps(parts: Onboard, riders: Sequence[Rider], shown: list[Shown]) -> list[float]:
    """Milliseconds from a card's text to the end of its tap: tap and release are in the journal, each one synced."""
    times = []
    for rider in riders:
        assert rider.token is not None
        message = read_line(rider.token)
        assert message is not None
        began = time.perf_counter_ns()
        parts.agent.handle(message)
        times.append((time.perf_counter_ns() - began) / 1_000_000)
        last = shown[-1]
        assert last.mode == "offline", last
        assert last.device_seq is not None, last
        # As if the service had heard of it: the budget of half fares unheard of is not what is measured.
        parts.rides.heard(1, last.device_seq, last.device_seq + 1, now())
    assert len(shown) == len(riders)
    assert all(one.released for one in shown)
    assert parts.journal.last(1)[0] == 2 * len(riders), "a tap and its release for each rider"
    return times


def _note(stage: Stage, what: str, times: list[float]) -> None:
    cuts = statistics.quantiles(times, n=100)
    stage.figures.add(f"device alone, {what}, p50", "ms", cuts[49])
    stage.figures.add(f"device alone, {what}, p99", "ms", cuts[98])


class _CityKey:
    """The bench city's one key, as the back office wants to sign with it."""

    def __init__(self, city: BenchCity) -> None:
        self._key = city.key

    def create(self, key_id: int) -> bytes:
        return self._key.public_key().public_bytes_raw()

    def sign(self, key_id: int, message: bytes) -> bytes:
        return self._key.sign(message)


class _FromRedis:
    """What `GET /v1/sync` gives, without a service: how a list comes is not what is measured."""

    def __init__(self, client: "redis.Redis") -> None:
        self._client = client

    def __call__(self, path: str) -> HttpAnswer:
        if "have=" not in path:
            return HttpAnswer(200, self._read(chunk_key(path.rpartition("/")[2])))
        signed = read_signed_offer(self._read(offer_key(0)))
        answer = SyncAnswer(signed.offer, signed.key_id, signed.signature, now().isoformat())
        return HttpAnswer(200, msgspec.json.encode(answer))

    def _read(self, key: bytes) -> bytes:
        found = self._client.get(key)
        assert isinstance(found, bytes), key
        return found
