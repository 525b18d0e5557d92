"""What the validator's log says of a failure of its own: where, and nothing of whom."""

import json
from pathlib import Path

import httpx2
import pytest

from tests.validator.seeded_city import SeededCity, elder
from tests.validator.served import served
from validator.records.keys import usage_key

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"


def test_a_traceback_holds_no_token_no_holder_and_no_category(
    city: SeededCity, redis_url: str, tmp_path: Path
):
    """The variables of a traceback are the request: a log that shows them gives away cards and devices."""
    device, card = city.device(), city.holder(HOLDER, elder())
    city.redis.set(usage_key(HOLDER), b"\xffno record of usage")
    with served(redis_url, tmp_path) as address:
        answer = httpx2.post(
            f"{address}/v1/boardings",
            content=device.tap(1, card.medium),
            headers=device.headers(),
        )
    (log,) = tmp_path.glob("*.log")

    text = log.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines() if line]
    assert answer.status_code == 503
    assert any("Traceback" in line.get("exception", "") for line in lines)
    for secret in (device.token, card.token.text(), HOLDER, "ELDER", str(card.number)):
        assert secret not in text
