"""What is typed wrongly on the command line is said in Portuguese, with exit code 2; help is Portuguese too."""

import subprocess
import sys
from pathlib import Path

import pytest

from backoffice.cli.console import say_problem

WRONG = {
    "user add": "falta o argumento LOGIN",
    "holder show": "falta o argumento TITULAR",
    "holder show --bogus": "não existe a opção --bogus",
    "claim export 2026-03 --part 0": "valor inválido em --part: o valor mínimo é 1",
    "user add maria": "falta --name",
    "holder": "Uso: catraca holder",
    "nada": "não existe o comando nada",
    "card nada": "não existe o comando nada",
    "user add maria --nome Maria": "não existe a opção --nome",
    "card block x --reason y": "valor inválido no argumento NÚMERO: envie um número inteiro",
    "pass sell 1 --product X --network URBAN --units 1": "escolha um de: 'STUDENT', 'PREPAID', 'VT'",
    "fare add --network URBAN --cents quatro": "valor inválido em --cents: envie um número inteiro",
    "validator --workers 99": "o valor máximo é 64",
    "holder add Maria --birth-date 31/02/2020": "31/02/2020 não existe no calendário",
    "claim close 2026-03 --wait -1": "o valor mínimo é 0",
    "user end maria joana jose": "há argumentos a mais",
    "law check --law": "a opção --law não foi usada como se espera",
}
ENGLISH = (
    "Usage",
    "Error",
    "Try ",
    "Invalid",
    "Missing",
    "No such",
    "Options:",
    "Commands:",
    "Show this",
    "should",
)


def typed(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "backoffice.cli", *words],
        env={"CATRACA_DATA_DIR": str(folder), "PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("line", WRONG)
def test_what_is_typed_wrongly_is_said_in_portuguese(tmp_path: Path, line: str):
    done = typed(tmp_path, *line.split())

    assert WRONG[line] in done.stderr
    assert done.returncode == 2
    assert [word for word in ENGLISH if word in done.stdout + done.stderr] == []


@pytest.mark.parametrize("line", ["--help", "claim close --help"])
def test_help_is_portuguese(tmp_path: Path, line: str):
    done = typed(tmp_path, *line.split())

    assert done.returncode == 0
    assert done.stdout.startswith("Uso: catraca")
    assert [word for word in ENGLISH if word in done.stdout] == []


def test_a_full_disk_is_told_without_a_file_that_nobody_named(capsys: pytest.CaptureFixture[str]):
    say_problem(OSError(28, "No space left on device"))

    assert (
        capsys.readouterr().err
        == "erro: não foi possível usar o arquivo ou a rede: No space left on device\n"
    )


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path):
    done = typed(tmp_path, "conformance", "--golden", "/dev/null/examples.json")

    assert done.returncode == 1
    assert done.stderr == "erro: não foi possível usar /dev/null/examples.json: Not a directory\n"
