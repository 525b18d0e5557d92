"""Metrics and readiness of all workers, whichever is asked, and the noticeboard on which they say how they are."""

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from validator.serve.all_workers import SILENT_S, AllWorkers
from validator.serve.noticeboard import Notice, Noticeboard

PAGE = """# HELP catraca_boardings_total Answers to single taps.
# TYPE catraca_boardings_total counter
catraca_boardings_total{fate="answered",reason="OK"} 3.0
# HELP catraca_taps_in_flight Taps in flight.
# TYPE catraca_taps_in_flight gauge
catraca_taps_in_flight 1.0
"""
NOW = 1_000.0


def asked(noticeboard: Noticeboard, *, lacks: tuple[str, ...] = ()) -> httpx2.AsyncClient:
    """A client of worker 0, which says of itself what the arguments say."""
    said = {"status": "not-ready" if lacks else "ready", "lacks": list(lacks)}
    inner = Starlette(
        routes=[
            Route("/metrics", lambda _: PlainTextResponse(PAGE)),
            Route("/v1/health/ready", lambda _: JSONResponse(said, 503 if lacks else 200)),
        ]
    )
    app = AllWorkers(inner, noticeboard=noticeboard, number=0, clock=lambda: NOW)
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://validator")


async def test_a_page_of_metrics_has_the_series_of_each_worker_under_one_name():
    noticeboard = Noticeboard(3)
    noticeboard.post(1, Notice((), PAGE.replace("3.0", "4.0")), NOW - 1)
    noticeboard.restarted(2)

    async with asked(noticeboard) as client:
        page = (await client.get("/metrics")).text

    families = {family.name: family for family in text_string_to_metric_families(page)}
    boardings = {sample.labels["worker"]: sample.value for sample in families["catraca_boardings"].samples}
    assert boardings == {"0": 3, "1": 4}
    assert page.count("# HELP catraca_boardings_total") == 1
    up = {sample.labels["worker"]: sample.value for sample in families["catraca_worker_up"].samples}
    assert up == {"0": 1, "1": 1, "2": 0}
    restarts = {
        sample.labels["worker"]: sample.value for sample in families["catraca_worker_restarts"].samples
    }
    assert restarts == {"0": 0, "1": 0, "2": 1}


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [((), (), []), ((), ("city",), ["city"]), (("hot-state",), ("city",), ["hot-state", "city"])],
)
async def test_the_service_is_ready_when_all_workers_that_run_are(
    own: tuple[str, ...], other: tuple[str, ...], expected: list[str]
):
    noticeboard = Noticeboard(3)  # the third has not begun, and takes no connection
    noticeboard.post(1, Notice(other, PAGE), NOW)

    async with asked(noticeboard, lacks=own) as client:
        answer = await client.get("/v1/health/ready")

    assert (answer.status_code, answer.json()["lacks"]) == (503 if expected else 200, expected)


async def test_a_worker_that_has_been_silent_is_not_counted():
    noticeboard = Noticeboard(2)
    noticeboard.post(1, Notice(("city",), PAGE), NOW - SILENT_S - 1)

    async with asked(noticeboard) as client:
        ready = await client.get("/v1/health/ready")
        page = (await client.get("/metrics")).text

    assert ready.status_code == 200
    assert 'catraca_worker_up{worker="1"} 0' in page


def test_a_notice_that_is_half_written_is_not_read():
    noticeboard = Noticeboard(2)
    noticeboard.post(1, Notice((), PAGE), NOW)
    noticeboard._memory[256 * 1024 + 20] ^= 1

    assert noticeboard.read(1) is None
    assert noticeboard.read(0) is None


def test_a_page_that_is_too_large_is_left_out_and_the_worker_still_counts():
    noticeboard = Noticeboard(1)
    noticeboard.post(0, Notice((), "x" * 300_000), NOW)

    posted = noticeboard.read(0)

    assert posted is not None
    assert posted.notice == Notice((), "")
