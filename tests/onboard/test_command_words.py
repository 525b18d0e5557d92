"""What the device's commands say of themselves and of wrong arguments, in Portuguese."""

import re

import pytest

from validator.onboard.cli import main

COMMANDS = ("run", "enrol", "sync", "upload", "retire", "status", "check")
ENGLISH = re.compile(r"\b(usage|options?|arguments?|error|required|show|exit|the|choose|invalid|expected)\b")


@pytest.mark.parametrize("words", [(), *((command,) for command in COMMANDS)], ids=" ".join)
def test_help_is_portuguese(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])

    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert shown.startswith("Uso: catraca onboard")
    assert ENGLISH.findall(shown) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "falta: COMANDO"),
        ("enrol", "falta: CÓDIGO"),
        ("voar", "COMANDO não pode ser 'voar'; escolha entre 'run'"),
        ("--dir", "falta o valor de --dir"),
        ("run agora", "argumentos desconhecidos: agora"),
        ("run --text=sim", "--text não leva valor, e 'sim' foi dado"),
        ("--=1 run", "a opção --=1 pode ser"),
    ],
)
def test_wrong_arguments_are_told_with_what_to_type(line: str, said: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(line.split())

    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert told.startswith("Uso: catraca onboard")
    assert f"erro: {said}" in told
    assert ENGLISH.findall(told.rpartition("erro:")[2]) == []
