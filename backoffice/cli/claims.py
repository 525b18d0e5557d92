"""`catraca claim`: close a month, and write its claims as files."""

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from backoffice.adapters.claim_files import STATUS_WORDS
from backoffice.application.close_month import ClosedMonth, close_late, close_month, newest_part
from backoffice.application.errors import Invalid
from backoffice.application.export_claim import export_claims
from backoffice.application.register_fields import FIRST_YEAR
from backoffice.bootstrap import Backoffice, build
from backoffice.cli.console import err, out
from backoffice.domain.amounts_in_words import decimal_comma, figures
from validator.domain.money import Cents
from validator.domain.service_time import Month, parse_month

_claim = typer.Typer(help="Faturas de reembolso.", no_args_is_help=True)

MonthArgument = Annotated[str, typer.Argument(metavar="AAAA-MM", help="Competência, como 2026-03.")]
OperatorOption = Annotated[
    str | None, typer.Option("--operator", metavar="CÓDIGO", help="Só a fatura desta operadora.")
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="PASTA", help="Onde gravar; sem ela, claims/ na pasta de dados."),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(_claim, name="claim")


@_claim.command()
def close(
    month: MonthArgument,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="INSTANTE", help="Instante do fechamento, com fuso; sem ele, agora."),
    ] = None,
    operator: OperatorOption = None,
    folder: OutOption = None,
    by: Annotated[
        str, typer.Option("--by", metavar="LOGIN", help="Quem fecha, como sai na fatura.")
    ] = "linha de comando",
    complementary: Annotated[
        bool,
        typer.Option("--complementary", help="Fecha o que chegou ou foi resolvido depois do fechamento."),
    ] = False,
) -> None:
    """Apura e congela uma competência e grava a fatura de cada operadora em CSV e JSON."""
    of = _month(month)
    backoffice = build()
    instant = _closing_instant(at, backoffice.clock())
    closed = _close(backoffice, of, instant, by, complementary=complementary)
    if closed is None:
        out.print(f"Nada chegou nem foi resolvido desde o fechamento de {of}; não há fatura complementar.")
        return
    _show(closed, operator)
    _write(backoffice, of, closed.part, operator, folder)


@_claim.command()
def export(
    month: MonthArgument,
    operator: OperatorOption = None,
    folder: OutOption = None,
    part: Annotated[
        int | None,
        typer.Option(
            "--part", min=1, help="1 é a fatura principal, 2 a primeira complementar; sem ele, todas."
        ),
    ] = None,
) -> None:
    """Grava de novo as faturas de uma competência fechada; os bytes são sempre os mesmos."""
    of = _month(month)
    backoffice = build()
    last = newest_part(backoffice.engine, of)
    for number in [part] if part is not None else range(1, max(last, 1) + 1):
        _write(backoffice, of, number, operator, folder)


def _closing_instant(at: str | None, now: datetime) -> datetime:
    """The instant of closing: now, or an earlier one, so that the bytes can be repeated; a future one is a slip."""
    if at is None:
        return now
    instant = _instant(at)
    if instant > now:
        raise Invalid(f"o instante {at} ainda não chegou; informe um que já passou, ou nenhum.")
    return instant


def _close(
    backoffice: Backoffice, month: Month, at: datetime, by: str, *, complementary: bool
) -> ClosedMonth | None:
    run = close_late if complementary else close_month
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(f"Apurando {month}", total=None)
        return run(
            backoffice.engine,
            backoffice.book,
            month,
            at=at,
            by=by,
            progress=lambda done, total: bar.update(task, completed=done, total=max(done, total)),
        )


def _show(closed: ClosedMonth, operator: str | None) -> None:
    if closed.closed_before:
        out.print(f"A competência {closed.month} já estava fechada; as faturas são as mesmas.")
    for claim in closed.claims:
        if operator in (None, claim.operator):
            _show_claim(json.loads(claim.document))


def _show_claim(document: dict[str, Any]) -> None:
    totals = document["totals"]
    table = Table(title=f"Fatura {document['number']} – {document['operator']['name']}", title_justify="left")
    table.add_column("categoria", ratio=1)
    table.add_column("linha")
    for name in ("embarques", "tarifa", "unitário", "total"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("base")
    for line in document["lines"]:
        table.add_row(
            line["label"],
            line["line"],
            str(line["quantity"]),
            *(decimal_comma(Cents(line[name])) for name in ("fare_cents", "city_cents")),
            decimal_comma(Cents(line["total_cents"]), grouped=True),
            STATUS_WORDS[line["status"]],
        )
    for row in document["adjustments"]:
        cents = decimal_comma(Cents(row["cents"]), grouped=True)
        table.add_row(f"Ajuste da fatura {row['claim']}", "", str(row["quantity"]), "", "", cents, "")
    out.print(table)
    words = totals["total_words"]
    out.print(f"Total: {figures(Cents(totals['total_cents']))} ({words})", soft_wrap=True)
    aside = (
        ("sem reembolso", sum(row["quantity"] for row in document["statistical"])),
        ("excluídos", sum(row["quantity"] for row in document["excluded"])),
    )
    out.print(f"Embarques: {totals['rides']} faturados, " + ", ".join(f"{n} {name}" for name, n in aside))
    for warning in document["warnings"]:
        out.print(f"aviso: {warning}", soft_wrap=True)
    out.print()


def _write(
    backoffice: Backoffice, month: Month, part: int, operator: str | None, folder: Path | None
) -> None:
    target = folder or backoffice.settings.data_dir / "claims" / month
    for files in export_claims(backoffice.engine, month, target, operator=operator, part=part):
        for path in (files.csv, files.json, files.annex):
            out.print(f"gravado: {path}", soft_wrap=True)


def _month(text: str) -> Month:
    try:
        return parse_month(text)
    except ValueError:
        raise Invalid(f"a competência se escreve AAAA-MM, como 2026-03, e não {text!r}") from None


def _instant(text: str) -> datetime:
    wanted = "o instante se escreve com fuso, como 2026-04-05T12:00:00-03:00"
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(f"{wanted}, e não {text!r}") from None
    if instant.tzinfo is None:
        raise Invalid(f"{wanted}; falta o fuso em {text!r}")
    if instant.year < FIRST_YEAR:
        raise Invalid(f"o ano {instant.year} está errado; confira o instante")
    return instant
