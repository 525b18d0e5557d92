"""The command against a running validator service, and what it says when the service is not as the page says."""

import json
import re
from pathlib import Path

import pytest

from backoffice.cli import main
from tests.onboard.fleet import build
from tests.validator.seeded_city import CITY_KEY, SeededCity
from tests.validator.served import served

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"
CITY_PUBLIC = CITY_KEY.public_key().public_bytes_raw().hex()


def conformance(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["catraca", "conformance", *arguments])
    code: int | str | None = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr()
    return int(code or 0), said.out + said.err


@pytest.fixture
def device(redis_url: str, tmp_path: Path) -> tuple[SeededCity, list[str]]:
    """A published city, and what names its test device on the command line."""
    city = SeededCity(redis_url)
    city.publish()
    seeded = city.device("v-test")
    key = tmp_path / "v-test.key"
    key.write_text(seeded.key.private_bytes_raw().hex())
    return city, ["--device-token", seeded.token, "--key", str(key), "--wait", "0"]


def test_every_clause_holds_twice(
    device: tuple[SeededCity, list[str]],
    redis_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    city, named = device
    card = city.student(HOLDER)
    build(city, redis_url, [HOLDER])
    named += ["--card", card.token.text(), "--city-key", f"1:{CITY_PUBLIC}"]
    before = city.usage(HOLDER)

    with served(redis_url, tmp_path) as url:
        first, said = conformance(monkeypatch, capsys, url, *named)
        again, said_again = conformance(monkeypatch, capsys, url, *named)

    assert (first, again) == (0, 0), "\n".join(x for x in (said + said_again).splitlines() if "passou" not in x)
    assert re.fullmatch(r"\d+ passed, 0 failed", said.splitlines()[-1])
    assert {entry.device for entry in city.journal()} == {"v-test"}
    assert city.usage(HOLDER).spent("STUDENT") == before.spent("STUDENT") == 0
    city.redis.close()
