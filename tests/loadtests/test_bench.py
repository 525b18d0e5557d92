"""The bench itself, on a tiny load: it trusts no answer, and writes what a reader can judge."""

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from itertools import chain, repeat
from pathlib import Path

import pytest
import redis

from loadtests.bench import report
from loadtests.bench.audit import WrongAnswer, audit_singles
from loadtests.bench.flame import by_part, flame, measure_profile
from loadtests.bench.generator import Answer, closed_loop, open_loop
from loadtests.bench.ingest import send_all
from loadtests.bench.onboard import measure_onboard
from loadtests.bench.single import SingleRoute
from loadtests.bench.stage import TINY, Figures, Stage
from loadtests.bench.table import TARGETS, Measured, NotMeasured, meets
from loadtests.bench.taps import TapMaker, arrivals, civil_now
from loadtests.demand import CATEGORIES, HOURS, PURSE_CATEGORIES, peak_hour
from validator.records.keys import journal_key

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


@contextmanager
def scripted_server(answer: bytes, *, first: Sequence[bytes] = (), slow_s: float = 0.0) -> Iterator[int]:
    """A server of one thread for each connection that gives every request the same answer, after some first ones."""
    listening = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()
    answers = chain(first, repeat(answer))

    def serve(connection: socket.socket) -> None:
        with connection:
            while connection.recv(65_536):
                stopped.wait(slow_s)
                connection.sendall(next(answers))

    def accept() -> None:
        while not stopped.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        stopped.set()
        listening.close()


OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 7\r\ncontent-length: 2\r\n\r\n{}"


def test_a_closed_loop_sends_each_request_once_and_counts_its_answer():
    with scripted_server(OK) as port:
        load = closed_loop(port, [b"x"] * 50, connections=4, seconds=10, warm_up_s=0)

    assert sorted(answer.index for answer in load.answers) == list(range(50))
    assert load.with_status(200) == 50


def test_a_journal_is_whole_though_some_taps_were_told_to_come_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("time.sleep", lambda _: None)
    with scripted_server(OK, first=[BUSY, OK, BUSY, BUSY]) as port:
        load = send_all(port, [b"x"] * 5)

    assert (load.with_status(200), load.with_status(503)) == (2, 3)


@pytest.mark.parametrize("answer", [BUSY, b"HTTP/1.1 422 No\r\ncontent-length: 2\r\n\r\n{}"])
def test_a_tap_that_is_never_taken_ends_the_measurement(answer: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("time.sleep", lambda _: None)
    with scripted_server(answer) as port, pytest.raises(WrongAnswer):
        send_all(port, [b"x"])


def test_a_stall_is_paid_by_all_who_came_during_it():
    with scripted_server(OK, slow_s=0.05) as port:
        load = open_loop(port, [b"x"] * 6, [0.01] * 6, connections=1, warm_up_s=0)

    waited = sorted(answer.seconds for answer in load.answers)

    assert waited[-1] > 5 * 0.05
    assert waited[0] < waited[-1] / 2


def test_a_device_that_was_told_to_wait_sends_nothing_meanwhile():
    with scripted_server(BUSY) as port:
        load = open_loop(port, [b"x"] * 3, [0.01, 0.3, 0.31], connections=2, devices=[1, 1, 2], warm_up_s=0)

    assert sorted(answer.index for answer in load.answers) == [0, 2]
    assert load.withheld == 1


def test_arrivals_keep_their_rate_and_their_order():
    starts = list(arrivals(1_000, 2.0))

    assert starts == sorted(starts)
    assert 1_800 < len(starts) < 2_200


def test_the_load_has_the_shape_of_the_city_it_was_taken_from():
    everybody = sum(CATEGORIES.values())
    with_purse = sum(CATEGORIES[category] for category in PURSE_CATEGORIES)

    assert everybody == sum(HOURS) == 1_626_779
    assert with_purse / everybody > 0.4
    assert peak_hour() == 17


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(TINY, tmp_path)


def test_taps_over_http_are_found_one_by_one_and_a_lost_one_is_noticed(stage: Stage):
    with stage.redis(TINY.holders) as (url, city), stage.validator(url) as port:
        route = SingleRoute(stage, url, port, city, TapMaker(city))
        taps = route.maker.singles(200, civil_now(datetime.now(UTC)))
        load = closed_loop(port, taps.requests, connections=8, seconds=30, warm_up_s=0)

        found = audit_singles(url, taps, load)

        assert (found.entries, found.unanswered) == (200, 0)
        assert found.purse_rides > 80
        with redis.Redis.from_url(url) as client:
            full = next(key for n in range(64) if client.exists(key := journal_key(n)))
            client.xtrim(full, maxlen=0, approximate=False)
        with pytest.raises(WrongAnswer, match="not in the journal"):
            audit_singles(url, taps, load)


def test_an_answer_that_says_another_price_is_noticed(stage: Stage):
    with stage.redis(TINY.holders) as (url, city), stage.validator(url) as port:
        taps = TapMaker(city).singles(1, civil_now(datetime.now(UTC)))
        load = closed_loop(port, taps.requests, connections=1, seconds=30, warm_up_s=0)
        answer = load.answers[0]
        load.answers[0] = Answer(0, 200, answer.body.replace(b'"fare_cents":', b'"fare_cents":1'), 0.0)

        with pytest.raises(WrongAnswer, match="journal says"):
            audit_singles(url, taps, load)


def test_results_are_rows_that_a_reader_can_judge(tmp_path: Path):
    outcomes = [Measured("decide", [6.0, 5.0, 7.0]), NotMeasured("rebuild", "not measured in the tiny tier")]

    results = report.as_mapping(
        outcomes, Figures(), tier="tiny", day=date(2026, 3, 2), commit="abc", machine={"cpu": "x"}
    )
    report.write(results, outcomes, tmp_path)

    (row,) = json.loads((tmp_path / "latest.json").read_text())["rows"]
    assert (row["value"], row["spread"], row["floor"], row["goal"]) == (6.0, [5.0, 6.0, 7.0], 8.0, 5.0)
    assert row["unit"] == "us"
    assert row["higher_is_better"] is False
    assert "met" not in row
    assert (tmp_path / "latest.svg").read_text().startswith("<svg")


def test_a_row_that_was_not_measured_says_so_in_words():
    text = report.table([NotMeasured("rebuild", "not measured in the tiny tier")])

    assert "not measured in the tiny tier" in text


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.key)
def test_a_goal_is_never_easier_than_its_floor(target):
    assert meets(target, target.goal, target.floor)


def test_a_recorded_run_becomes_one_line_of_the_history(tmp_path: Path):
    page = tmp_path / "performance.md"
    marks = ["last run starts", "last run ends", "history starts", "history ends"]
    page.write_text("\n".join(["before", *(f"<!-- {mark} -->" for mark in marks), "after\n"]))

    for commit in ("abc", "def"):
        report.record(
            page, "the run", [Measured("decide", [6.0])], day=date(2026, 3, 2), commit=commit, tier="full"
        )

    text = page.read_text()
    assert text.count("the run") == 1
    assert [line.split(" | ")[1] for line in text.splitlines() if line.startswith("| 2026")] == ["abc", "def"]
    assert text.endswith("after\n")


def test_a_profile_of_a_run_says_where_the_time_went_and_draws_it(stage: Stage):
    assert list(measure_profile(stage)) == []

    parts = [name for name in stage.figures.samples if name.startswith("in service: ")]
    assert any(name.startswith("in service: the whole (") for name in parts)
    assert stage.flame.startswith("<svg")


def test_a_device_alone_is_measured_deciding_and_with_its_journal(stage: Stage):
    assert list(measure_onboard(stage)) == []

    (decision, tap) = ("decision alone", "tap with its journal on disk")
    assert set(stage.figures.samples) == {
        f"device alone, {what}, {share}" for what in (decision, tap) for share in ("p50", "p99")
    }


def test_the_time_of_a_function_counts_for_the_part_that_it_is_of():
    stacks = {
        "uvicorn.protocols.http:run;validator.api.hot_path:call": 3,
        "uvicorn.protocols.http:run;validator.api.hot_path:call;validator.domain.boarding:decide": 5,
        "uvicorn.protocols.http:run": 1,
        "threading:run": 1,
    }

    parts = by_part(stacks)
    picture = flame(stacks)

    assert parts["the law"] == 5
    assert parts["the boarding routes over ASGI"] == 3
    assert parts.total() == 10
    assert "validator.domain.boarding:decide: 50.0 %" in picture
    assert "uvicorn.protocols.http:run: 90.0 %" in picture


def test_a_recorded_run_puts_its_headline_into_the_readme_whether_it_met_its_floors_or_not(tmp_path: Path):
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- headline starts -->\nold\n<!-- headline ends -->\nafter\n")
    outcomes = [Measured("decide", [6.0]), Measured("single_vs_null", [0.2]), NotMeasured("rebuild", "no")]

    report.record_headline(readme, outcomes, day=date(2026, 3, 2), commit="abc", tier="full")

    text = readme.read_text()
    assert "02/03/2026, commit abc, full tier:" in text
    assert "| decide, median | 6.00 us | at most 8.00 us | met |" in text
    assert "| 0.20 x | 0.40 x | missed |" in text
    assert "old" not in text
    assert text.endswith("after\n")
