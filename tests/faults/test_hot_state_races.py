"""Two validator processes at once, for real: one place, one pass, one id. Exactly one wins and the counts are exact."""

import concurrent.futures
import contextlib
import itertools
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from backoffice.adapters.embedded_redis import EmbeddedRedis
from tests.validator.seeded_city import SeededCity, SeededDevice, prepaid, student
from tests.validator.served import served
from validator.domain.usage import Usage
from validator.records.codes import EntryKind

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"
ROUNDS = 8
_PATIENCE_S = 60
GENERATIONS = itertools.count(1)


@pytest.fixture(scope="module")
def addresses(redis_server: EmbeddedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Two processes of the service on one Redis; each test empties it and publishes its city anew."""
    url = redis_server.start()
    with contextlib.ExitStack() as stack:
        stack.enter_context(SeededCity(url)).publish()
        folder = tmp_path_factory.mktemp("races")
        yield [stack.enter_context(served(url, folder)) for _ in range(2)]


@pytest.fixture
def city(addresses: list[str], redis_url: str) -> Iterator[SeededCity]:
    with SeededCity(redis_url) as seeded:
        seeded.publish(generation=next(GENERATIONS))
        yield seeded


def race(addresses: list[str], posts: list[tuple[SeededDevice, bytes]]) -> list[dict[str, Any]]:
    """Post all at the same instant, in turn to each process; the answers in order.

    Who cannot even connect releases the others, so that a machine that is too busy fails the test and does not hang it.
    """
    barrier = threading.Barrier(len(posts), timeout=_PATIENCE_S)

    def post(number: int) -> dict[str, Any]:
        device, raw = posts[number]
        headers = device.headers()
        with httpx2.Client(base_url=addresses[number % len(addresses)], timeout=_PATIENCE_S) as client:
            client.get("/v1/health/live")
            barrier.wait()
            while True:
                answer = client.post("/v1/boardings", content=raw, headers=headers)
                if answer.status_code != 503:
                    return dict(answer.json()) | {"status": answer.status_code}

    with concurrent.futures.ThreadPoolExecutor(len(posts)) as pool:
        return list(pool.map(post, range(len(posts))))


def test_two_processes_and_the_last_place_under_the_cap(city: SeededCity, addresses: list[str]):
    devices = [city.device(f"val-{number}") for number in range(2)]
    for number in range(ROUNDS):
        holder = f"{number:016x}"
        card = city.holder(holder, student(passes=10), Usage(half_fare={"2026-03": 49}))
        posts = [
            (device, device.tap(number * 2 + index + 1, card.medium, vehicle=f"v{index}"))
            for index, device in enumerate(devices)
        ]

        answers = race(addresses, posts)

        assert sorted(answer["reason"]["name"] for answer in answers) == ["OK", "STUDENT_CAP_REACHED"]
        assert city.usage(holder).half_fare == {"2026-03": 50}
        assert city.usage(holder).used == {"STUDENT": 1}


def test_two_processes_and_the_last_pass(city: SeededCity, addresses: list[str]):
    devices = [city.device(f"val-{number}") for number in range(2)]
    for number in range(ROUNDS):
        holder = f"{number:016x}"
        card = city.holder(holder, prepaid(passes=1))
        posts = [
            (device, device.tap(number * 2 + index + 1, card.medium)) for index, device in enumerate(devices)
        ]

        answers = race(addresses, posts)

        assert sorted(answer["reason"]["name"] for answer in answers) == ["NO_PASSES", "OK"]
        assert city.usage(holder).used == {"PREPAID": 1}


def test_two_processes_and_the_same_tap(city: SeededCity, addresses: list[str]):
    device = city.device()
    for number in range(ROUNDS):
        card = city.holder(f"{number:016x}", prepaid(passes=5))
        raw = device.tap(number + 1, card.medium)

        answers = race(addresses, [(device, raw)] * 4)

        assert sorted(answer["replayed"] for answer in answers) == [False, True, True, True]
        assert city.usage(f"{number:016x}").used == {"PREPAID": 1}
    assert len(city.journal()) == ROUNDS


def test_two_processes_and_one_id_for_two_taps(city: SeededCity, addresses: list[str]):
    devices = [city.device(f"val-{number}") for number in range(2)]
    cards = [city.holder(f"{number:016x}", prepaid(passes=50)) for number in range(2)]
    for number in range(ROUNDS):
        posts = [
            (device, device.tap(number + 1, card.medium)) for device, card in zip(devices, cards, strict=True)
        ]

        answers = race(addresses, posts)

        assert sorted(answer["status"] for answer in answers) == [200, 409]
    used = [city.usage(f"{number:016x}").used.get("PREPAID", 0) for number in range(2)]
    assert sum(used) == ROUNDS
    kinds = [entry.kind for entry in city.journal()]
    assert (kinds.count(EntryKind.BOARDING), kinds.count(EntryKind.CONFLICT)) == (ROUNDS, ROUNDS)


def test_two_processes_and_one_crowded_holder(city: SeededCity, addresses: list[str]):
    """Sixty taps of one card on two processes, with forty passes: forty ride, whatever the order and the retries."""
    card = city.holder(HOLDER, prepaid(passes=40))
    device = city.device()
    posts = [(device, device.tap(number, card.medium)) for number in range(1, 61)]

    answers = []
    for start in range(0, 60, 20):
        answers += race(addresses, posts[start : start + 20])

    assert sum(answer["outcome"] == "accepted" for answer in answers) == 40
    assert city.usage(HOLDER).used == {"PREPAID": 40}
    left = sorted(answer["remaining"]["passes"] for answer in answers if answer["outcome"] == "accepted")
    assert left == list(range(40))
    assert len({entry.boarding for entry in city.journal()}) == 60
