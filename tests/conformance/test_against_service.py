"""The command against a running validator service, and what it says when the service is not as the page says."""

import re
from pathlib import Path

import pytest

from backoffice.cli import main
from tests.conformance.tampering import careless, tampering
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

    assert (first, again) == (0, 0), "\n".join(
        x for x in (said + said_again).splitlines() if "passou" not in x
    )
    assert re.fullmatch(r"\d+ passed, 0 failed", said.splitlines()[-1])
    assert {entry.device for entry in city.journal()} == {"v-test"}
    assert city.usage(HOLDER).spent("STUDENT") == before.spent("STUDENT") == 0
    city.redis.close()


def test_a_service_that_is_not_as_the_page_says_is_found_out(
    device: tuple[SeededCity, list[str]],
    redis_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    city, named = device
    build(city, redis_url, [])

    with served(redis_url, tmp_path) as url, tampering(url, careless) as changed:
        code, said = conformance(monkeypatch, capsys, changed, *named)

    failed = {line.partition("§")[2].strip() for line in said.splitlines() if line.startswith("FALHOU")}
    assert code == 1
    assert failed >= {
        "4   os mesmos bytes de novo",
        "4   o mesmo id em outro toque",
        "4   o mesmo id em letras maiúsculas",
        "5   toque e liberação com a cabeça assinada",
        "5   a lacuna preenchida, com a entrada seguinte repetida",
        "6   anulação depois de 60 segundos do relógio do validador",
        "7   durable_seq e missing em toda resposta 200",
    }
    assert any(clause.startswith("12  pedaços de 0") for clause in failed)
    assert re.fullmatch(rf"\d+ passed, {len(failed)} failed", said.splitlines()[-1])
    assert "esperado:" in said
    assert "recebido:" in said
    city.redis.close()


def test_what_cannot_be_driven_is_said_in_a_line(
    device: tuple[SeededCity, list[str]],
    redis_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    city, named = device
    token, key = named[1], Path(named[3])
    other_key = tmp_path / "other.key"
    other_key.write_text("11" * 32)
    no_key = tmp_path / "no.key"
    no_key.write_text("???")

    def says(*arguments: str) -> str:
        code, said = conformance(monkeypatch, capsys, *arguments, "--wait", "0")
        assert code == 1
        assert "passed" not in said
        return said.splitlines()[-1]

    with served(redis_url, tmp_path) as url:
        assert "não conhece este token" in says(url, "--device-token", "v-test.x", "--key", str(key))
        assert "--epoch" in says(url, *named[:4], "--epoch", "2")
        assert "--key" in says(url, "--device-token", token, "--key", str(other_key))
        assert "chave privada" in says(url, "--device-token", token, "--key", str(no_key))
        assert "não existe" in says(url, "--device-token", token, "--key", str(tmp_path / "none"))
        assert "N:HEX" in says(url, *named[:4], "--city-key", "1:00")
        assert "--golden" in says(url)
        city.durable(city.devices["v-test"], 500)
        assert "o diário deste aparelho se perdeu" in says(
            url, *named[:4], "--journal", str(tmp_path / "new")
        )
    assert "não respondeu" in says(url, *named[:4])
    city.redis.close()
