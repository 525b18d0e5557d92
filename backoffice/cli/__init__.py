"""The `catraca` command. Each module of this package adds its commands to `app` in a function `add_to(app)`.

A command's failure that a person can repair is printed in one line, with exit code 1, and never as a traceback.
"""

import importlib
import sys

import typer

from backoffice.cli.console import PROBLEMS, say_problem

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
        build_app()()
    except PROBLEMS as problem:
        say_problem(problem)
        sys.exit(1)
