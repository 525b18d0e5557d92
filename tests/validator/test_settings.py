"""Settings of the validator that cannot be read are named in one line, and never shown."""

import pytest

from validator.serve.__main__ import main
from validator.settings import Settings


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("REDIS_LANES", "abc", "CATRACA_REDIS_LANES não é um número inteiro."),
        ("REDIS_LANES", "0", "CATRACA_REDIS_LANES é menor que 1."),
        ("REDIS_TIMEOUT_MS", "999999", "CATRACA_REDIS_TIMEOUT_MS é maior que 5000."),
        ("LOG_LEVEL", "secret", "CATRACA_LOG_LEVEL não é um destes: "),
        ("MAX_TAPS_IN_FLIGHT", "1.5", "CATRACA_MAX_TAPS_IN_FLIGHT não é um número inteiro."),
    ],
)
def test_a_setting_that_cannot_be_read_is_named_in_one_line(
    name: str,
    value: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv(f"CATRACA_{name}", value)
    monkeypatch.setattr("sys.argv", ["serve"])

    assert main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"erro: {said}")
    assert value not in line
    assert "docs/operating.md" in line


def test_every_setting_says_what_it_is():
    assert all(field.description for field in Settings.model_fields.values())
