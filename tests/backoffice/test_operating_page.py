"""The operating page knows every setting with its default, every role, and every command that it shows."""

import os
import re
import shlex
import sys
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import typer.main
from pydantic_settings import BaseSettings

from backoffice.cli import build_app, main
from backoffice.persistence.users import Role
from backoffice.settings import Settings
from tests.backoffice.register_city import CPF
from tests.backoffice.test_import_gtfs import feed_file
from validator.records.packing import to_micros
from validator.settings import Settings as ValidatorSettings

PAGE = (Path(__file__).parents[2] / "docs/operating.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(CATRACA_[A-Z_]+)` \| (?:`([^`]*)`|empty) \|", PAGE, re.MULTILINE))


def shown(default: Any) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, float):
        return f"{default:g}"
    return "" if default is None else str(default.value if isinstance(default, Enum) else default)


@pytest.mark.parametrize("settings", [Settings, ValidatorSettings])
def test_every_setting_is_on_the_page_with_its_default(settings: type[BaseSettings]):
    undocumented = {
        name: shown(field.default)
        for field_name, field in settings.model_fields.items()
        if (name := f"CATRACA_{field_name.upper()}") not in ROWS
        or (ROWS[name] != shown(field.default) and name != "CATRACA_REDIS_URL")
    }

    assert undocumented == {}


def test_the_page_names_no_setting_that_is_not_there():
    known = {
        f"CATRACA_{name.upper()}" for kind in (Settings, ValidatorSettings) for name in kind.model_fields
    }

    assert set(ROWS) - known == {"CATRACA_AS"}


def test_every_role_is_on_the_page():
    section = PAGE.split("## Who may do what")[1].split("\n## ")[0]

    assert set(re.findall(r"^\| `([A-Z_]+)` \|", section, re.MULTILINE)) == {role.value for role in Role}


def test_every_command_on_the_page_exists():
    root = typer.main.get_command(build_app())
    lines = [line for line in PAGE.replace("\\\n", " ").splitlines() if line.startswith("catraca ")]

    for line in lines:
        words = shlex.split(line)[1:]
        command: Any = root
        while words and hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        options = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options, line


def example() -> list[list[str]]:
    """The commands of the page's city, word by word, with what a reader fills in."""
    block = PAGE.split("## A city from nothing")[1].split("```")[1].replace("\\\n", " ")
    filled = (
        block.replace("<64 hexadecimal digits>", "11" * 32)
        .replace('--guardian-name "..."', "--guardian-name Mãe")
        .replace("--guardian-cpf ...", f"--guardian-cpf {CPF}")
    )
    return [shlex.split(line) for line in filled.splitlines() if line.strip()]


def test_a_stranger_who_types_the_pages_city_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """All commands in their order, on the page's own days: nothing is refused, and the student has passes."""
    feed_file(tmp_path)
    clock = tmp_path / "clock"
    now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    clock.write_bytes(to_micros(now).to_bytes(8, sys.byteorder, signed=True))
    for name in [name for name in os.environ if name.startswith("CATRACA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CATRACA_DEMO_CLOCK_FILE", str(clock))
    monkeypatch.chdir(tmp_path)
    said = ""
    for words in example():
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            monkeypatch.setenv(name, value)
            continue
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as ended:
            main()
        said, told = capsys.readouterr()
        assert not ended.value.code, (words, told)
        if words[1:3] == ["card", "issue"]:
            (tmp_path / "card.txt").write_text(said.splitlines()[-1], encoding="ascii")

    assert "50 passes" in said
    assert (tmp_path / "card.svg").read_text(encoding="utf-8").startswith("<?xml")
