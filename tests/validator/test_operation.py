"""What operators see: health, metrics, one line of log for each boarding, and an end without losses."""

import concurrent.futures
import contextlib
import json
import signal
from pathlib import Path
from uuid import UUID

import httpx2
import pytest

from tests.validator.conftest import Service
from tests.validator.seeded_city import SeededCity, elder, prepaid
from tests.validator.served import free_port, served, start_service, wait_for
from validator.settings import Settings

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"


async def test_health_says_live_and_ready(service: Service):
    live = await service.client.get("/v1/health/live")
    ready = await service.client.get("/v1/health/ready")

    assert (live.status_code, live.json()) == (200, {"status": "live"})
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "lacks": []})


async def test_metrics_count_answers_problems_and_items(city: SeededCity, service: Service):
    device, card = city.device(), city.student(passes=1)
    await service.board(device, device.tap(1, card.medium))
    await service.board(device, device.tap(2, card.medium, vehicle="1208"))
    await service.board(device, b"{}")
    await service.batch(device)

    metrics = (await service.client.get("/metrics")).text

    for line in (
        'catraca_boardings_total{fate="answered",reason="OK"} 1.0',
        'catraca_boardings_total{fate="answered",reason="NO_PASSES"} 1.0',
        'catraca_problems_total{route="single",status="422"} 1.0',
        'catraca_batch_items_total{verdict="billable"} 1.0',
        'catraca_batch_items_total{verdict="excluded"} 1.0',
        "catraca_boarding_seconds_count 2.0",
        "catraca_taps_in_flight 0.0",
        "catraca_log_lines_dropped_total 0.0",
        "catraca_hot_state_lanes_ready 2.0",
        "catraca_city_revision 1.0",
    ):
        assert line in metrics


def post_all(address: str, city: SeededCity, taps: int) -> list[int]:
    """Post taps of one purse from several threads; the statuses of those that were answered."""
    device, card = city.device(), city.holder(HOLDER, prepaid(passes=10_000))
    bodies = [device.tap(number, card.medium) for number in range(1, taps + 1)]
    headers = device.headers()

    def post(part: list[bytes]) -> list[int]:
        answered: list[int] = []
        with httpx2.Client(base_url=address, timeout=10) as client, contextlib.suppress(httpx2.HTTPError):
            # What was answered before the connection closed stays in the list.
            answered.extend(
                client.post("/v1/boardings", content=body, headers=headers).status_code for body in part
            )
        return answered

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return [status for part in pool.map(post, [bodies[n::4] for n in range(4)]) for status in part]


def test_each_boarding_is_one_line_without_token_holder_or_category(
    city: SeededCity, redis_url: str, tmp_path: Path
):
    device, card = city.device(), city.holder(HOLDER, elder())
    with served(redis_url, tmp_path) as address:
        headers = device.headers()
        for body in (device.tap(1, card.medium), device.tap(2, card.medium), b"{}"):
            httpx2.post(f"{address}/v1/boardings", content=body, headers=headers)
        httpx2.post(f"{address}/v1/boardings/batch", content=device.batch(), headers=headers)
    (log,) = tmp_path.glob("*.log")

    text = log.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    boardings = [line for line in lines if line["event"] == "boarding"]
    assert [(line["boarding_id"], line["reason"], line["fate"]) for line in boardings] == [
        (str(UUID(int=1)), "OK", "answered"),
        (str(UUID(int=2)), "PASSBACK", "answered"),
    ]
    assert [(line["items"], line["retries"]) for line in lines if line["event"] == "batch"] == [(2, 0)]
    for secret in (device.token, card.token.text(), HOLDER, "ELDER", str(card.number)):
        assert secret not in text


def test_the_lines_can_be_switched_off(city: SeededCity, redis_url: str, tmp_path: Path):
    with served(redis_url, tmp_path, CATRACA_BOARDING_LOG="false") as address:
        post_all(address, city, 4)
    (log,) = tmp_path.glob("*.log")

    assert '"event":"boarding"' not in log.read_text(encoding="utf-8")


def test_an_ended_process_answers_what_it_took_on(city: SeededCity, redis_url: str, tmp_path: Path):
    """Every 200 that a device heard is in the journal, and nothing hangs."""
    port = free_port()
    process = start_service(redis_url, tmp_path, port)
    address = f"http://127.0.0.1:{port}"
    wait_for(process, address, "ready", tmp_path / f"service-{port}.log")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        posting = pool.submit(post_all, address, city, 4_000)
        while not city.redis.keys("*journal"):
            pass
        process.send_signal(signal.SIGTERM)
        statuses = posting.result(timeout=30)
    ended = process.wait(15)

    assert ended in (0, -signal.SIGTERM)
    assert 0 < len(statuses) < 4_000
    assert set(statuses) <= {200, 503}
    assert len(city.journal()) >= statuses.count(200)


def test_every_setting_has_a_default_and_a_description():
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
    assert Settings().max_taps_in_flight == 512
