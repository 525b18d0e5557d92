"""What riders heard is compared with the database's rows, and a difference ends the run."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from loadtests.bench.audit import WrongAnswer
from loadtests.bench.generator import closed_loop
from loadtests.bench.stage import TINY, Stage
from loadtests.bench.taps import TapMaker, Taps, civil_now
from loadtests.heard import HeardFile, settle


def load(stage: Stage, url: str, maker: TapMaker, folder: Path) -> Path:
    """A few taps and two uploads over HTTP, and what was heard of each."""
    heard = folder / "heard"
    out, now = HeardFile(heard), civil_now(datetime.now(UTC))
    with stage.validator(url) as port:
        singles = maker.singles(60, now)
        for answer in closed_loop(port, singles.requests, connections=4, seconds=30, warm_up_s=0).answers:
            out.single(singles.boarding_ids[answer.index], answer.status, answer.body)
        batches: Taps = maker.batches(2, 10, now)
        for answer in closed_loop(port, batches.requests, connections=1, seconds=30, warm_up_s=0).answers:
            ids = batches.boarding_ids[10 * answer.index : 10 * answer.index + 10]
            out.batch(ids, answer.status, answer.body)
    out.close()
    return heard


def test_every_tap_is_found_in_sql_as_it_was_heard(tmp_path: Path):
    stage = Stage(TINY, tmp_path)
    with stage.redis(TINY.holders) as (url, city):
        settled = settle(url, tmp_path, load(stage, url, TapMaker(city), tmp_path))

    assert (settled.taps, settled.recorded, settled.lost) == (80, 80, 0)
    assert settled.rider_cents > 0


@pytest.mark.parametrize("harm", ["another price", "a tap that nobody sent", "an answer that is in no row"])
def test_a_difference_is_wrong(tmp_path: Path, harm: str):
    stage = Stage(TINY, tmp_path)
    with stage.redis(TINY.holders) as (url, city):
        heard = load(stage, url, TapMaker(city), tmp_path)
        lines = [json.loads(line) for line in heard.read_text().splitlines()]
        if harm == "another price":
            lines[0][2][2] += 1
        elif harm == "a tap that nobody sent":
            del lines[0]
        else:
            lines.append(["00000000-0000-4000-8000-000000000001", True, None])
        heard.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

        with pytest.raises(WrongAnswer):
            settle(url, tmp_path, heard)
