"""The operating page knows every setting with its default, every role, and every command that it shows."""

import re
import shlex
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import typer.main
from pydantic_settings import BaseSettings

from backoffice.cli import build_app
from backoffice.persistence.users import Role
from backoffice.settings import Settings
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
