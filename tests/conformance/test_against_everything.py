"""The kit against the whole product with its register behind it: gaps are told, and all becomes durable."""

import re
from pathlib import Path

import pytest

from backoffice.cli import main
from tests.backoffice.register_city import make_city
from tests.backoffice.test_processes import catraca, environment, free_port, wait_for


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["catraca", *arguments])
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_every_clause_holds_with_the_register_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    make_city(f"sqlite:///{tmp_path / 'catraca.sqlite'}", tmp_path).engine.dispose()
    monkeypatch.setenv("CATRACA_DATA_DIR", str(tmp_path))
    key, ports = tmp_path / "v-test.pem", (free_port(), free_port())
    enrol = ["device", "enrol", "v-test", "--operator", "azul", "--generate", str(key), "--as", "admin"]
    assert run(monkeypatch, *enrol) == 0
    monkeypatch.setenv("CATRACA_DEVICE_TOKEN", capsys.readouterr().out.split()[-1])
    env = environment(tmp_path, CATRACA_VALIDATOR_PORT=str(ports[0]), CATRACA_BACKOFFICE_PORT=str(ports[1]))

    with catraca("up", env=env) as process:
        url = f"http://127.0.0.1:{ports[0]}"
        wait_for(f"{url}/v1/health/ready", process)
        code = run(monkeypatch, "conformance", url, "--key", str(key), "--wait", "60")
        said = capsys.readouterr().out

    assert code == 0, said
    assert re.fullmatch(r"\d+ passed, 0 failed", said.splitlines()[-1])
    assert "missing diz a lacuna: [" in said
    assert "durable_seq alcança o diário" in said
    assert "liberação de um embarque que ninguém conhece" in said
