"""`catraca demo`: an invented city, from the first tap to the claim."""

from pathlib import Path
from typing import Annotated

import typer

from backoffice.adapters.csv_rows import FileFault
from backoffice.bootstrap import DatabaseOutdated
from backoffice.cli.console import existing, out, say_problem
from backoffice.demo.failure import DemonstrationFailed
from backoffice.demo.run import Options, run_demonstration
from backoffice.settings import Settings
from validator.domain.service_time import parse_month


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("demo")(demo)


def demo(
    stop: Annotated[
        bool, typer.Option("--exit", help="Para depois das faturas; sem isto, a retaguarda continua no ar.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Semente de todo o acaso: a mesma dá o mesmo mês.")] = 1,
    holders: Annotated[int, typer.Option(min=60, max=100_000, help="Quantos titulares inventar.")] = 3000,
    gtfs: Annotated[
        Path | None, typer.Option(metavar="FEED.zip", help="Linhas, viagens e operadoras de um GTFS.")
    ] = None,
    month: Annotated[str, typer.Option(metavar="AAAA-MM", help="Competência a demonstrar.")] = "2026-03",
) -> None:
    """Uma cidade inventada: cadastro, um mês de embarques por HTTP, fechamento e faturas."""
    try:
        played = parse_month(month)
    except ValueError:
        raise typer.BadParameter("a competência se escreve AAAA-MM, como 2026-03") from None
    options = Options(played, holders, seed, None if gtfs is None else existing(gtfs), stay=not stop)
    try:
        agreed = run_demonstration(options, Settings(), out)
    except (DemonstrationFailed, DatabaseOutdated, FileFault) as problem:
        say_problem(problem)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    raise typer.Exit(0 if agreed else 1)
