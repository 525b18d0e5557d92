"""Commands that take data from files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from backoffice.adapters.gtfs_feed import GtfsFeed
from backoffice.application.import_gtfs import import_gtfs
from backoffice.application.read_gtfs import LineRules, read_gtfs, read_line_file
from backoffice.application.staff import as_city
from backoffice.cli.acting import As, acting, parse_day
from backoffice.cli.console import err, existing, out
from backoffice.cli.help_words import DAY

_imports = typer.Typer(help="Importa dados de arquivos.", no_args_is_help=True)
_READ = ("agency.txt", "routes.txt", "trips.txt", "stop_times.txt")
_NOTICES_SHOWN = 20


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(_imports, name="import")


@_imports.callback()
def _group() -> None:
    """Importa dados de arquivos."""


@_imports.command()
def gtfs(
    feed: Annotated[Path, typer.Argument(metavar="FEED.ZIP", help="O feed GTFS da cidade.")],
    network_file: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV", help="Redes por linha: colunas line, network (URBAN ou INTERIOR), operator."
        ),
    ] = None,
    interior: Annotated[
        list[str] | None,
        typer.Option(metavar="PADRÃO", help="Linhas do interior, como '9*' ou 'INT-*'; pode repetir."),
    ] = None,
    operator_column: Annotated[
        str | None,
        typer.Option(metavar="COLUNA", help="Coluna de routes.txt que nomeia o operador, como route_desc."),
    ] = None,
    from_day: Annotated[
        date | None,
        typer.Option(parser=parse_day, metavar=DAY, help="Desde quando operam as linhas novas; vazio: hoje."),
    ] = None,
    login: As = None,
) -> None:
    """Importa operadores, linhas e viagens de um feed GTFS. Repetir não muda nada; um erro não grava nada."""
    rules = _rules(network_file, interior or [], operator_column)
    existing(feed)
    with acting(login) as now:  # who may not import learns it before a large feed is read
        as_city(now.by)
    with _progress(feed) as read, GtfsFeed(feed, read) as opened:
        contents = read_gtfs(opened, rules)
    with acting(login) as now:
        by = as_city(now.by)
        report = import_gtfs(now.session, by, now.at, contents, from_day=from_day or now.today)
    for notice in report.notices[:_NOTICES_SHOWN]:
        err.print(f"aviso: {notice}", soft_wrap=True)
    if len(report.notices) > _NOTICES_SHOWN:
        err.print(f"aviso: e mais {len(report.notices) - _NOTICES_SHOWN} avisos")
    out.print(
        f"{report.operators} operadores, {report.lines} linhas e {report.trips} viagens novas; "
        f"{report.trips_changed} viagens mudadas; {report.unchanged} sem mudança"
    )


def _rules(network_file: Path | None, interior: list[str], operator_column: str | None) -> LineRules:
    if network_file is None:
        return LineRules(interior=interior, operator_column=operator_column)
    with existing(network_file).open("rb") as file:
        networks, operators = read_line_file(str(network_file), file)
    return LineRules(interior, networks, operators, operator_column)


@contextmanager
def _progress(feed: Path) -> Iterator[Callable[[str, int], None]]:
    with GtfsFeed(feed) as opened:
        total = sum(opened.size(name) for name in _READ)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("lendo o feed", total=total)
        yield lambda name, count: progress.update(task, description=name, advance=count)
