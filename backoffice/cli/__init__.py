"""The `catraca` command. Each module of this package adds its commands to `app` in a function `add_to(app)`.

A command's failure that a person can repair is printed in one line, with exit code 1, and never as a traceback.
"""

import importlib
import sys

import typer
from typer.exceptions import TyperException

from backoffice.cli.console import PROBLEMS, err, say_problem
from backoffice.cli.usage import root_command, usage_sentence

MODULES = (
    "processes",
    "law",
    "register",
    "desk",
    "devices",
    "onboard",
    "conformance",
    "journal",
    "quarantine",
    "imports",
    "claims",
    "demo",
)
"""Modules of commands, in the order in which `catraca --help` shows them."""


def build_app() -> typer.Typer:
    """The command line with the commands of all modules that exist."""
    app = typer.Typer(
        name="catraca",
        help="Catraca: bilhetagem e cartões de benefício dos ônibus da cidade.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for name in MODULES:
        importlib.import_module(f"backoffice.cli.{name}").add_to(app)
    return app


def main() -> None:
    """Entry point of `catraca`."""
    try:
        code = root_command(build_app())(standalone_mode=False, prog_name="catraca")
    except PROBLEMS as problem:
        say_problem(problem)
        sys.exit(1)
    except typer.Abort:
        err.print("interrompido")
        sys.exit(1)
    except TyperException as error:
        err.print(usage_sentence(error), soft_wrap=True)
        sys.exit(getattr(error, "exit_code", 1))
    sys.exit(code if isinstance(code, int) else 0)
