"""Every command refuses what it cannot read, and every setting says what is wrong with it: a line, no traceback."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer import Context

from backoffice.cli import build_app, main
from backoffice.cli.help_words import DAY, INSTANT
from backoffice.cli.usage import root_command
from backoffice.settings import Settings
from tests.backoffice.test_languages import ENGLISH

Run = Callable[..., str]


def commands(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands with the words that lead to them."""
    children = getattr(command, "commands", {})
    yield words, command
    for name, child in children.items():
        yield from commands(child, *words, name)


PASSED_ON = {("onboard",)}
"""Becomes the agent of the bus, whose own command line reads the words (`tests/onboard`)."""

HELPS = dict(commands(root_command(build_app())))
"""All commands and all groups of them."""

ALL = {
    words: command
    for words, command in HELPS.items()
    if words not in PASSED_ON and not hasattr(command, "commands")
}


def kind_of(parameter: Any) -> str | None:
    """What a parameter takes that not every text is; None for texts, paths and switches."""
    if getattr(parameter, "is_flag", False):
        return None
    descriptor = parameter.type_descriptor
    if descriptor.is_choice:
        return "choice"
    if parameter.metavar in (DAY, INSTANT):
        return "time"
    return "number" if "int" in str(descriptor.annotation) or "float" in str(descriptor.annotation) else None


TYPED = [
    (words, parameter)
    for words, command in ALL.items()
    for parameter in command.params
    if kind_of(parameter) is not None and parameter.opts[0].startswith("-")
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("CATRACA_DATA_DIR", str(tmp_path / "data"))
    for name in ("CATRACA_DATABASE_URL", "CATRACA_REDIS_URL", "CATRACA_AS"):
        monkeypatch.delenv(name, raising=False)

    def catraca(*words: str, code: int) -> str:
        monkeypatch.setattr("sys.argv", ["catraca", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert ended.value.code == code, said.out + said.err
        return said.err

    return catraca


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_an_option_that_no_command_has_is_named(run: Run, words: tuple[str, ...]):
    said = run(*words, "--nenhuma-assim", code=2)

    assert "não existe a opção --nenhuma-assim" in said
    assert f"Veja: catraca {' '.join(words)} --help" in said


@pytest.mark.parametrize(
    ("words", "parameter"), TYPED, ids=[f"{' '.join(words)} {one.opts[0]}" for words, one in TYPED]
)
def test_a_value_that_an_option_cannot_take_is_refused_by_name(
    run: Run, words: tuple[str, ...], parameter: Any
):
    filled = [
        word
        for other in ALL[words].params
        if other.required and other.opts[0].startswith("-") and other is not parameter
        for word in (other.opts[0], plausible(other))
    ]
    arguments = [plausible(other) for other in ALL[words].params if not other.opts[0].startswith("-")]

    said = run(*words, *arguments, *filled, parameter.opts[0], "31/02/20x6", code=2)

    assert f"valor inválido em {' / '.join(parameter.opts)}: " in said
    assert "Input should" not in said


def plausible(parameter: Any) -> str:
    """A value that is of the right type."""
    descriptor = parameter.type_descriptor
    if descriptor.is_choice:
        first = descriptor.choices[0]
        return str(getattr(first, "value", first))
    if parameter.metavar == DAY:
        return "2026-03-02"
    if parameter.metavar == INSTANT:
        return "2026-03-02T07:15:00-03:00"
    return "1" if kind_of(parameter) == "number" else "00" * 32


def help_of(words: tuple[str, ...], width: int) -> str:
    context = Context(HELPS[words], info_name=" ".join(("catraca", *words)), terminal_width=width)
    return str(HELPS[words].get_help(context))


NO_LANGUAGE = re.compile(
    r"--[a-z-]+|[A-Z_]{2,}|[\w/-]+\.(?:zip|md|txt|svg|png)|\.\.\.|/v1/sync"
    r"|line, network \(|INTERIOR\), operator|enrol, run, sync, upload, status, check, retire"
    r"|catraca [a-z -]+|^  [a-z-]+ ",
    re.MULTILINE,
)
"""Words that are typed, names of files, and columns of a file."""

LIBRARY = re.compile(
    r"[<>{]|\b(?:str|int|float|range|path|default|env|var|bool|Usage|Options|Arguments|Commands|show|message|exit)\b"
)
"""What the library writes where nobody gave it other words."""


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_help_is_portuguese_throughout(words: tuple[str, ...], width: int):
    shown = help_of(words, width)
    usage, _, told = shown.partition("\n\n")
    told = NO_LANGUAGE.sub("", told)

    assert usage.startswith("Uso: catraca")
    assert re.findall(r"[{[][^]}]*[a-z<]", usage) == []
    assert LIBRARY.findall(told) == []
    assert ENGLISH.findall(told) == []


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_parameter_says_what_it_takes_and_what_it_means(words: tuple[str, ...]):
    silent = [one.name for one in ALL[words].params if not one.help]
    unnamed = [one.name for one in ALL[words].params if kind_of(one) is not None and not one.metavar]
    negated = [one.name for one in ALL[words].params if one.secondary_opts]

    assert (silent, unnamed, negated) == ([], [], [])


REQUIRED = [words for words, command in ALL.items() if any(one.required for one in command.params)]


@pytest.mark.parametrize("words", REQUIRED, ids=" ".join)
def test_what_is_missing_is_named_as_its_help_names_it(run: Run, words: tuple[str, ...]):
    first = next(one for one in ALL[words].params if one.required)
    name = first.opts[0] if first.opts[0].startswith("-") else f"o argumento {first.metavar}"

    said = run(*words, code=2)

    assert said.startswith(f"erro: falta {name}\n")
    assert LIBRARY.findall(NO_LANGUAGE.sub("", said)) == []


LIMITED = [
    (words, parameter)
    for words, command in ALL.items()
    for parameter in command.params
    if getattr(parameter, "min", None) is not None
]


@pytest.mark.parametrize(
    ("words", "parameter"), LIMITED, ids=[f"{' '.join(words)} {one.opts[0]}" for words, one in LIMITED]
)
def test_a_number_below_its_range_is_told_the_least(run: Run, words: tuple[str, ...], parameter: Any):
    arguments = [plausible(other) for other in ALL[words].params if not other.opts[0].startswith("-")]

    said = run(*words, *arguments, parameter.opts[0], str(parameter.min - 1), code=2)

    assert f"valor inválido em {parameter.opts[0]}: o valor mínimo é {parameter.min}" in said
    assert f"{parameter.min}" in help_of(words, 200)


SETTINGS = {
    "CATRACA_BACKOFFICE_PORT": ("abc", "envie um número inteiro"),
    "CATRACA_VALIDATOR_PORT": ("70000", "o valor máximo é 65535"),
    "CATRACA_VALIDATOR_WORKERS": ("0", "o valor mínimo é 1"),
    "CATRACA_LOG_LEVEL": ("loud", "envie um de: 'debug', 'info', 'warning' ou 'error'"),
    "CATRACA_DATABASE_URL": ("mysql://root:secret@db/x", "postgresql://usuario@servidor/banco"),
    "CATRACA_REDIS_URL": ("http://:secret@cache", "redis://servidor:6379/0"),
    "CATRACA_DATA_DIR": ("/dev/null/secret", "não foi possível usar /dev/null/secret"),
    "CATRACA_DEMO_CLOCK_FILE": ("/dev/null/secret", "não foi possível usar /dev/null/secret"),
    "CATRACA_LAW_FILE": ("/dev/null/secret", "cannot be read"),
}
FREE = {"CATRACA_BACKOFFICE_HOST", "CATRACA_VALIDATOR_HOST"}
"""Any text may be the name of a host."""


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_cannot_be_read_is_named_and_its_value_kept_to_ourselves(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str
):
    value, says = SETTINGS[name]
    monkeypatch.setenv(name, value)

    said = run("act", "list", "--as", "gestor", code=1)

    assert says in said
    assert ":secret" not in said
    assert len(said.splitlines()) == 1


def test_every_setting_has_a_wrong_value_above():
    assert {f"CATRACA_{name.upper()}" for name in Settings.model_fields} - FREE == set(SETTINGS)


@pytest.mark.parametrize(
    "line",
    [
        "holder show",
        "holder death --died-on 2026-03-02",
        "right end --ended-on 2026-03-02 --reason x",
        "card issue",
    ],
)
def test_a_number_that_no_record_has_is_refused_however_large(run: Run, line: str):
    run_first = ("user", "add", "admin", "--name", "A", "--role", "ADMINISTRATOR")
    run(*run_first, code=0)
    run(
        "user",
        "add",
        "chefe",
        "--name",
        "A",
        "--role",
        "DESK_MANAGER",
        "--desk",
        "x",
        "--as",
        "admin",
        code=0,
    )
    noun, verb, *options = line.split()

    for number in ("99999999999999999999", str(2**63 - 1)):
        said = run(noun, verb, number, *options, "--as", "chefe", code=1)

        assert said.startswith("erro: ")
        assert len(said.splitlines()) == 1
