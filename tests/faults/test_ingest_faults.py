"""Redis and the ingester die in the middle of a stream of taps: usage, rows and claims come out the same."""

import asyncio
import shutil
from pathlib import Path

import pytest
from sqlalchemy import func, select

from backoffice.persistence.base import reading
from backoffice.persistence.journal import ShardRow, TapKeyRow
from tests.faults.bus_day import (
    TICKS,
    Fault,
    Outcome,
    Stage,
    dying_ingester,
    no_fault,
    older_file,
    play,
    put_back,
    wait_until_ready,
)

pytestmark = pytest.mark.hot_state

HARM_AT = 11
"""The tick at which things go wrong: after some uploads, before others."""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The city's keys, one pair for all runs, so that cards are the same."""
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Outcome:
    """The run without faults, on SQLite; every other run must come out the same."""
    folder = tmp_path_factory.mktemp("undisturbed")
    outcome = asyncio.run(play(f"sqlite:///{folder / 'city.sqlite'}", folder, no_fault, keys))
    assert len(outcome.rows["boardings"]) == TICKS * 3
    assert len(outcome.rows["releases"]) + len(outcome.rows["annulments"]) == TICKS * 3
    assert all(total > 0 for _, total, _ in outcome.claims)
    return outcome


async def redis_dies_with_its_file(stage: Stage, tick: int) -> None:
    if tick == HARM_AT:
        stage.server.kill()
    if tick == HARM_AT + 2:
        stage.server.start()
        await wait_until_ready(stage)


async def redis_dies_without_its_file(stage: Stage, tick: int) -> None:
    if tick == HARM_AT:
        stage.server.kill()
        shutil.rmtree(stage.server.folder / "appendonlydir")
    if tick == HARM_AT + 2:
        stage.server.start()
        await wait_until_ready(stage)


async def redis_loses_its_last_second(stage: Stage, tick: int) -> None:
    """SQL has what Redis lost."""
    if tick == HARM_AT:
        await _wait_for_ingest(stage)
        older_file(stage.server, stage.folder / "older")
    if tick == HARM_AT + 2:
        await _wait_for_ingest(stage)
        stage.ingest.stop()
        await _restart_with_older_file(stage)
        generation = _generations(stage)
        stage.ingest.start()
        await wait_until_ready(stage)
        assert _generations(stage) > generation


async def redis_and_sql_both_lose_the_last_second(stage: Stage, tick: int) -> None:
    """The ingester stood still, so nobody but the devices has the taps."""
    if tick == HARM_AT:
        await _wait_for_ingest(stage)
        stage.ingest.stop()
        older_file(stage.server, stage.folder / "older")
    if tick == HARM_AT + 2:
        await _restart_with_older_file(stage)
        stage.ingest.start()
        await wait_until_ready(stage)


async def _restart_with_older_file(stage: Stage) -> None:
    stage.server.kill()
    put_back(stage.server, stage.folder / "older")
    stage.server.start()
    acknowledged = stage.buses[0].acknowledged[-1]
    assert stage.absent(acknowledged), "an acknowledged tap must be gone, or the test tests nothing"
    bus = stage.buses[0]
    for _ in range(5):
        answer = await stage.service.board(bus.device, bus.device.entries[0].encode())
        assert answer.status_code == 503, "a Redis that nobody has compared with SQL must not be believed"
        await asyncio.sleep(0.1)


async def the_ingester_dies_before_it_acknowledges(stage: Stage, tick: int) -> None:
    if tick == HARM_AT:
        stage.ingest.stop()
    if tick == HARM_AT + 2:
        before = _rows(stage)
        url = stage.city.engine.url.render_as_string(hide_password=False)
        with dying_ingester(url, stage.server.url) as process:
            for _ in range(600):
                if process.poll() is not None:
                    break
                await asyncio.sleep(0.05)
        assert _rows(stage) > before, "it must have committed, or the test tests nothing"
        stage.ingest.start()


async def everything_dies_at_once(stage: Stage, tick: int) -> None:
    """The ingester between commit and acknowledgement, then Redis without its file."""
    await the_ingester_dies_before_it_acknowledges(stage, tick)
    if tick == HARM_AT + 3:
        stage.server.kill()
        shutil.rmtree(stage.server.folder / "appendonlydir")
        stage.server.start()
        await wait_until_ready(stage)


async def _wait_for_ingest(stage: Stage) -> None:
    with stage.client() as client:
        for _ in range(500):
            if not any(client.xlen(f"{{s{number}}}:journal") for number in range(64)):
                return
            await asyncio.sleep(0.02)
    raise AssertionError("the ingester does not keep up")


def _rows(stage: Stage) -> int:
    with reading(stage.city.engine) as session:
        return session.scalar(select(func.count()).select_from(TapKeyRow)) or 0


def _generations(stage: Stage) -> int:
    with reading(stage.city.engine) as session:
        return session.scalar(select(func.sum(ShardRow.generation))) or 0


@pytest.mark.parametrize(
    "fault",
    [
        no_fault,
        redis_dies_with_its_file,
        redis_dies_without_its_file,
        redis_loses_its_last_second,
        redis_and_sql_both_lose_the_last_second,
        the_ingester_dies_before_it_acknowledges,
        everything_dies_at_once,
    ],
    ids=lambda fault: fault.__name__,
)
def test_the_day_comes_out_the_same(
    fault: Fault, database_url: str, tmp_path: Path, keys: Path, undisturbed: Outcome
) -> None:
    outcome = asyncio.run(play(database_url, tmp_path, fault, keys))

    for table, rows in undisturbed.rows.items():
        assert outcome.rows[table] == rows, table
    assert outcome.usage == undisturbed.usage
    assert outcome.claims == undisturbed.claims
