"""What is wrong with a command as it was typed, in Portuguese: the library writes it in English."""

import re
from collections.abc import Iterator
from typing import Any

import typer.main
from typer.exceptions import TyperException

from backoffice.application.field_words import UNREAD, field_fault
from backoffice.cli.help_words import speak_portuguese


def root_command(app: typer.Typer) -> Any:
    """The whole command, with its help in Portuguese."""
    root: Any = typer.main.get_command(app)
    for command in _all_of(root):
        speak_portuguese(command)
    return root


def _all_of(command: Any) -> Iterator[Any]:
    yield command
    for child in getattr(command, "commands", {}).values():
        yield from _all_of(child)


def usage_sentence(error: TyperException) -> str:
    """What is wrong with a command as it was typed, and where its help is."""
    kind, context = type(error).__name__, getattr(error, "ctx", None)
    if kind == "NoArgsIsHelpError":
        return str(error)
    path = "catraca" if context is None else _path_of(context)
    return f"erro: {_fault(kind, error)}\nVeja: {path} --help"


def _path_of(context: Any) -> str:
    """The command's words after the program's name, which depends on how it was started."""
    words: list[str] = []
    while context.parent is not None:
        words.insert(0, context.info_name)
        context = context.parent
    return " ".join(["catraca", *words])


def _fault(kind: str, error: Any) -> str:
    said = str(error.message)
    named = re.search(r"'([^']*)'", said)
    if kind == "NoSuchOption":
        return f"não existe a opção {error.option_name}"
    if kind == "MissingParameter":
        return f"falta {'o ' if _is_argument(error.param) else ''}{_hint(error.param)}"
    if kind == "BadParameter":
        where = "no" if _is_argument(error.param) else "em"
        return f"valor inválido {where} {_hint(error.param)}: {_value_fault(error, said)}"
    if said.startswith("No such command"):
        return f"não existe o comando {named[1] if named else ''}".rstrip()
    if said.startswith("Missing command"):
        return "falta o comando"
    if said.startswith("Got unexpected extra argument"):
        return "há argumentos a mais; confira as aspas e a ordem"
    if kind == "BadOptionUsage":
        return f"a opção {error.option_name} não foi usada como se espera; ela leva um valor?"
    return UNREAD


def _is_argument(parameter: Any) -> bool:
    return parameter is not None and not parameter.opts[0].startswith("-")


def _hint(parameter: Any) -> str:
    if parameter is None:
        return "uma opção"
    return f"argumento {parameter.metavar}" if _is_argument(parameter) else " / ".join(parameter.opts)


def _value_fault(error: Any, said: str) -> str:
    """Our own parsers say it in Portuguese; the library's do not, and their cause names the kind of fault."""
    cause = error.__cause__
    found = cause.errors()[0] if hasattr(cause, "errors") else None
    choices = re.search(r"is not one of (.+)$", said if found is None else str(found["msg"]))
    if choices:
        return f"escolha um de: {choices[1].rstrip('.')}"
    return said if found is None else field_fault(found["type"], found.get("ctx", {}))
