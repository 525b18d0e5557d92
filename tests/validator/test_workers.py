"""Several workers on one port: a worker that dies, an end in the middle of the work, and a race for one holder."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.validator.seeded_city import (
    OPERATOR,
    SeededCity,
    SeededDevice,
    city_record,
    prepaid,
    student,
)
from tests.validator.served import free_port, served, start_service, wait_for
from validator.domain.usage import Usage
from validator.records.city import pack_city
from validator.records.keys import CITY

HOLDER = "00000000000000aa"
PATIENCE_S = 20.0


def persist(address: str, device: SeededDevice, bodies: list[bytes]) -> list[dict[str, object]]:
    """Send each tap until it is answered, as a device does: a new connection and the same bytes after each failure."""
    answers = []
    with contextlib.closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=5)) as connection:
        for body in bodies:
            deadline = time.monotonic() + PATIENCE_S
            while True:
                assert time.monotonic() < deadline, "no answer"
                try:
                    connection.request("POST", "/v1/boardings", body, device.headers())
                    answer = connection.getresponse()
                    said = answer.read()
                except (OSError, http.client.HTTPException):
                    connection.close()  # the next request connects again
                    time.sleep(0.02)
                    continue
                if answer.status == 200:
                    answers.append(json.loads(said))
                    break
                assert answer.status == 503, said
                time.sleep(0.02)
    return answers


def lines_of(folder: Path) -> list[dict[str, object]]:
    (log,) = folder.glob("service-*.log")
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def pids(folder: Path) -> dict[int, int]:
    """The process of each worker by its number, by the log."""
    return {line["worker"]: line["pid"] for line in lines_of(folder) if line.get("event") == "worker_started"}


def metric(address: str, pattern: str) -> dict[str, float]:
    page = httpx2.get(f"{address}/metrics", timeout=5).text
    return {labels: float(value) for labels, value in re.findall(rf"^{pattern}{{(.*)}} (\S+)$", page, re.M)}


def wait_until(what: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def all_up(address: str, workers: int) -> None:
    wait_until(lambda: sum(metric(address, "catraca_worker_up").values()) == workers)


@pytest.mark.hot_state
def test_a_worker_killed_in_a_stream_of_taps_loses_nothing_and_counts_nothing_twice(
    city: SeededCity, redis_url: str, tmp_path: Path
):
    card = city.holder(HOLDER, prepaid(passes=10_000))
    devices = [city.device(f"val-{n}") for n in range(4)]
    streams = [
        (device, [device.tap(1_000 * n + tap, card.medium) for tap in range(150)])
        for n, device in enumerate(devices)
    ]
    with served(redis_url, tmp_path, workers=2) as address:
        all_up(address, 2)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            sending = [pool.submit(persist, address, *stream) for stream in streams]
            wait_until(lambda: city.commits() > 40)
            os.kill(pids(tmp_path)[0], signal.SIGKILL)
            answers = [answer for stream in sending for answer in stream.result(60)]
        all_up(address, 2)
        restarts = metric(address, "catraca_worker_restarts_total")

    ids = Counter(entry.boarding for entry in city.journal())
    assert len(answers) == 600
    assert {answer["outcome"] for answer in answers} == {"accepted"}
    assert (len(ids), set(ids.values())) == (600, {1})
    assert city.usage().used == {"PREPAID": 600}
    assert restarts == {'worker="0"': 1, 'worker="1"': 0}


@pytest.mark.hot_state
def test_workers_race_for_the_last_places_of_one_person(city: SeededCity, redis_url: str, tmp_path: Path):
    vehicles = tuple((str(5_000 + number), OPERATOR) for number in range(40))
    city.redis.set(CITY, pack_city(city_record(vehicles=vehicles), 2))
    card = city.holder(HOLDER, student(passes=100), Usage(half_fare={"2026-03": 44}))
    devices = [city.device(f"val-{n}") for n in range(8)]
    streams = [
        (device, [device.tap(100 * n + t, card.medium, vehicle=vehicles[5 * n + t][0]) for t in range(5)])
        for n, device in enumerate(devices)
    ]
    with served(redis_url, tmp_path, workers=4) as address:
        all_up(address, 4)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            sending = [pool.submit(persist, address, *stream) for stream in streams]
            answers = [answer for stream in sending for answer in stream.result(60)]
        # Each worker says now and then how many it answered.
        wait_until(lambda: sum(metric(address, "catraca_boarding_seconds_count").values()) >= 40)
        answered = metric(address, "catraca_boarding_seconds_count")

    reasons = Counter(answer["reason"]["name"] for answer in answers)  # type: ignore[index]
    assert reasons == {"OK": 6, "STUDENT_CAP_REACHED": 34}
    assert city.usage().half_fare["2026-03"] == 50
    assert city.usage().used == {"STUDENT": 6}
    assert len([count for count in answered.values() if count]) > 1, "only one worker took part"
    assert sum(answered.values()) == 40


def test_an_end_in_the_middle_of_the_work_answers_what_was_taken_on(
    city: SeededCity, redis_url: str, tmp_path: Path
):
    port = free_port()
    devices = [city.device(f"val-{n}") for n in range(6)]
    cards = [city.holder(f"{n:016x}", prepaid(passes=100_000)) for n in range(6)]
    address = f"http://127.0.0.1:{port}"

    def until_closed(number: int, device: SeededDevice) -> tuple[int, int]:
        """How many taps were answered whole, and how many answers broke off in the middle."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            for tap in range(5_000):
                body = device.tap(10_000 * number + tap, cards[number].medium)
                try:
                    connection.request("POST", "/v1/boardings", body, device.headers())
                    answer = connection.getresponse()
                    assert answer.status == 200
                    answer.read()
                except http.client.IncompleteRead:
                    return tap, 1
                except (OSError, http.client.HTTPException):
                    return tap, 0
        return 5_000, 0

    process = start_service(redis_url, tmp_path, port, workers=3)
    try:
        wait_for(process, address, "ready", tmp_path / f"service-{port}.log")
        all_up(address, 3)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            sending = [pool.submit(until_closed, n, device) for n, device in enumerate(devices)]
            wait_until(lambda: city.commits() > 100)
            process.terminate()
            heard = [each.result(30) for each in sending]
        code = process.wait(20)
    finally:
        process.kill()

    answered, broken = (sum(part) for part in zip(*heard, strict=True))
    assert (code, broken) == (0, 0)
    assert answered <= len(city.journal()) <= answered + 6  # one on its way for each device
    assert not [line for line in lines_of(tmp_path) if line["event"] in ("worker_killed", "worker_died")]


def test_a_published_city_reaches_all_workers_and_is_taken_once_by_each(
    city: SeededCity, redis_url: str, tmp_path: Path
):
    def taken() -> int:
        lines = [line for line in lines_of(tmp_path) if line["event"] == "city_taken"]
        return [line["revision"] for line in lines].count(2)

    with served(redis_url, tmp_path, workers=4) as address:
        all_up(address, 4)
        city.redis.set(CITY, pack_city(city_record(500), 2))
        wait_until(lambda: taken() >= 4)

    assert taken() == 4


def test_a_worker_that_dies_again_and_again_is_not_started_again_without_a_pause(
    city: SeededCity, redis_url: str, tmp_path: Path
):
    with served(redis_url, tmp_path, workers=2) as address:
        all_up(address, 2)
        for _ in range(2):
            died = pids(tmp_path)[1]
            os.kill(died, signal.SIGKILL)
            wait_until(lambda died=died: pids(tmp_path)[1] != died)
        assert httpx2.get(f"{address}/v1/health/live").status_code == 200

    waits = [line["restart_in_s"] for line in lines_of(tmp_path) if line["event"] == "worker_died"]
    assert waits == [0.5, 1.0]


def test_a_worker_that_hangs_is_started_again_and_a_pause_of_all_is_none(
    city: SeededCity, redis_url: str, tmp_path: Path
):
    with served(redis_url, tmp_path, workers=2, CATRACA_WORKER_HUNG_S="4") as address:
        all_up(address, 2)
        stopped = pids(tmp_path)
        (parent,) = [line["pid"] for line in lines_of(tmp_path) if line["event"] == "workers_start"]
        everybody = [parent, *stopped.values()]
        for signal_, pause_s in ((signal.SIGSTOP, 6), (signal.SIGCONT, 2)):
            for pid in everybody:
                os.kill(pid, signal_)
            time.sleep(pause_s)
        after_pause = pids(tmp_path)
        os.kill(stopped[1], signal.SIGSTOP)
        wait_until(lambda: pids(tmp_path)[1] != stopped[1])

    assert after_pause == stopped
    assert [line["worker"] for line in lines_of(tmp_path) if line["event"] == "worker_hung"] == [1]


def test_a_worker_that_hangs_before_it_says_anything_is_ended_too(
    city: SeededCity, redis_url: str, tmp_path: Path
):
    """It opens a clock that nobody ever writes, and waits for it."""
    clock = tmp_path / "clock"
    os.mkfifo(clock)
    port = free_port()
    hung = {"CATRACA_DEMO_CLOCK_FILE": str(clock), "CATRACA_WORKER_HUNG_S": "2"}
    process = start_service(redis_url, tmp_path, port, **hung)
    try:
        code = process.wait(60)
    finally:
        process.kill()

    events = [line["event"] for line in lines_of(tmp_path)]
    assert (code, events[-1]) == (1, "workers_stop")
    assert {"worker_hung", "worker_did_not_start"} <= set(events)


def test_a_service_that_is_stopped_while_its_workers_begin_ends_at_once(
    city: SeededCity, redis_url: str, tmp_path: Path
):
    """A worker that has not taken over its signals yet must not sleep through the one that ends it."""
    for _ in range(3):
        port = free_port()
        process = start_service(redis_url, tmp_path, port, workers=4)
        log = tmp_path / f"service-{port}.log"
        wait_until(lambda log=log: '"worker_started"' in log.read_text(encoding="utf-8"))
        process.terminate()
        assert process.wait(60) == 0
        assert "worker_killed" not in log.read_text(encoding="utf-8")


def test_workers_end_when_their_parent_is_killed(city: SeededCity, redis_url: str, tmp_path: Path):
    port = free_port()
    process = start_service(redis_url, tmp_path, port, workers=2)
    wait_for(process, f"http://127.0.0.1:{port}", "ready", tmp_path / f"service-{port}.log")
    process.kill()
    process.wait()

    def nobody_listens() -> bool:
        try:
            httpx2.get(f"http://127.0.0.1:{port}/v1/health/live", timeout=1)
        except httpx2.ConnectError:
            return True
        except httpx2.HTTPError:
            return False
        return False

    wait_until(nobody_listens)


def test_a_second_service_on_the_same_port_says_so_and_ends(city: SeededCity, redis_url: str, tmp_path: Path):
    with served(redis_url, tmp_path) as address:
        second = subprocess.run(
            [sys.executable, "-m", "validator.serve", "--port", str(urlsplit(address).port)],
            env=os.environ | {"CATRACA_REDIS_URL": redis_url},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    assert second.returncode == 1
    (line,) = second.stderr.splitlines()
    assert json.loads(line)["event"] == "address_taken"


def test_a_redis_that_may_drop_keys_is_refused_at_the_start(city: SeededCity, redis_url: str, tmp_path: Path):
    city.redis.config_set("maxmemory-policy", "allkeys-lru")
    process = start_service(redis_url, tmp_path, free_port(), workers=2)

    code = process.wait(30)

    assert code not in (0, None)
    assert "noeviction" in (next(tmp_path.glob("service-*.log"))).read_text(encoding="utf-8")


def test_all_that_the_service_logs_is_json(city: SeededCity, redis_url: str, tmp_path: Path):
    with served(redis_url, tmp_path, workers=2) as address:
        persist(address, city.device(), [city.device().tap(1, city.student().medium)])
        httpx2.get(f"{address}/nowhere")
        wait_until(lambda: [line["event"] for line in lines_of(tmp_path)].count("city_taken") >= 2)

    events = Counter(line["event"] for line in lines_of(tmp_path))
    assert events["boarding"] == 1
    assert events["workers_start"] == events["workers_stop"] == 1
    assert events["worker_started"] == events["city_taken"] == 2
