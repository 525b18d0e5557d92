"""`catraca claim`: close a month, and write its claims as files."""

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from backoffice.adapters.claim_files import STATUS_WORDS
from backoffice.adapters.embedded_redis import EmbeddedRedisError
from backoffice.application.changes import log
from backoffice.application.close_month import ClosedMonth, close_late, close_month, newest_part
from backoffice.application.errors import Invalid
from backoffice.application.export_claim import export_claims
from backoffice.application.inspect_claims import claim_of, list_claims, list_months
from backoffice.application.journal_behind import JournalBehind, Patience, await_journal, refuse_unread
from backoffice.application.reserved import refuse_step
from backoffice.application.staff import CityOffice, ClaimReader, as_city, as_claim_reader
from backoffice.bootstrap import Backoffice
from backoffice.cli.acting import As, acting, parse_instant
from backoffice.cli.console import err, out
from backoffice.cli.help_words import INSTANT
from backoffice.cli.processes import progress_bar, redis_of
from backoffice.domain.amounts_in_words import decimal_comma, figures
from backoffice.persistence.base import writing
from backoffice.persistence.claims import ClaimState
from validator.domain.money import Cents
from validator.domain.service_time import SAO_PAULO, Month, parse_month

_claim = typer.Typer(help="Faturas de reembolso.", no_args_is_help=True)

_LOOK_S = 0.2
STATE_WORDS = {
    ClaimState.DRAFT: "aberta",
    ClaimState.CLOSED: "fechada",
    ClaimState.SENT: "entregue",
    ClaimState.ATTESTED: "atestada",
    ClaimState.CUT: "glosada",
    ClaimState.PAID: "paga",
}

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
        datetime | None,
        typer.Option(
            "--at",
            parser=parse_instant,
            metavar=INSTANT,
            help="Instante do fechamento, com fuso; sem ele, agora.",
        ),
    ] = None,
    operator: OperatorOption = None,
    folder: OutOption = None,
    complementary: Annotated[
        bool,
        typer.Option("--complementary", help="Fecha o que chegou ou foi resolvido depois do fechamento."),
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0, metavar="SEGUNDOS", help="Quanto esperar que o diário chegue ao banco.")
    ] = 60.0,
    incomplete: Annotated[
        bool,
        typer.Option("--incomplete", help="Fecha mesmo que falte diário; o resto vai à complementar."),
    ] = False,
    login: As = None,
) -> None:
    """Apura e congela uma competência e grava a fatura de cada operadora em CSV e JSON."""
    of = _month(month)
    with acting(login) as now:
        by, backoffice = as_city(now.by), now.office
        instant = _closing_instant(at, now.at)
    if complementary or not newest_part(backoffice.engine, of):
        _await_journal(backoffice, of, by, wait, incomplete=incomplete)
    closed = _close(backoffice, of, instant, by, complementary=complementary)
    if closed is None:
        out.print(f"Nada chegou nem foi resolvido desde o fechamento de {of}; não há fatura complementar.")
        return
    _show(closed, operator)
    _write(backoffice, as_claim_reader(by), of, closed.part, operator, folder)


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
    login: As = None,
) -> None:
    """Grava de novo as faturas de uma competência fechada; os bytes são sempre os mesmos."""
    of = _month(month)
    with acting(login) as now:
        by, backoffice = as_claim_reader(now.by), now.office
    last = newest_part(backoffice.engine, of)
    for number in [part] if part is not None else range(1, max(last, 1) + 1):
        _write(backoffice, by, of, number, operator, folder)


@_claim.command("list")
def list_all(
    month: Annotated[str | None, typer.Option("--month", metavar="AAAA-MM", help="Só esta.")] = None,
    operator: OperatorOption = None,
    login: As = None,
) -> None:
    """Mostra as competências com embarques e as faturas fechadas."""
    of = None if month is None else _month(month)
    with acting(login) as now:
        by = as_claim_reader(now.by)
        for sheet in list_months(now.session, by):
            if of in (None, sheet.month):
                closings = "fechamento" if sheet.parts == 1 else "fechamentos"
                out.print(f"{sheet.month}\t{STATE_WORDS[sheet.state]}\t{sheet.parts} {closings}")
        for claim in list_claims(now.session, by, month=of, operator=operator):
            out.print(
                f"{claim.number}\t{claim.month}\t{STATE_WORDS[claim.state]}\t{figures(Cents(claim.total_cents))}"
                f"\t{claim.closed_at.astimezone(SAO_PAULO):%d/%m/%Y %H:%M} por {claim.closed_by}"
            )


def _reserved(step: str) -> Callable[..., None]:
    def reserved(
        number: Annotated[
            str, typer.Argument(metavar="NÚMERO", help="Número da fatura (catraca claim list).")
        ],
        login: As = None,
    ) -> None:
        with acting(login) as now:
            claim_of(now.session, as_claim_reader(now.by), number)
            refuse_step(step)

    return reserved


for _step, _help in (
    ("send", "Reservado: registra a entrega da fatura."),
    ("attest", "Reservado: registra o ateste da fatura."),
    ("cut", "Reservado: glosa embarques da fatura."),
    ("pay", "Reservado: registra o pagamento da fatura."),
):
    _claim.command(_step, help=_help)(_reserved(_step))


def _await_journal(
    backoffice: Backoffice, month: Month, by: CityOffice, wait: float, *, incomplete: bool
) -> None:
    """Wait for the ingester, and refuse to close over what it has not brought, unless told otherwise."""
    try:
        with redis_of(backoffice.settings) as redis_url, ExitStack() as shown:
            bars: list[Callable[[int, int], None]] = []

            def told(left: int, first: int) -> None:
                if not bars:  # no bar where there is nothing to wait for
                    bars.append(shown.enter_context(progress_bar("Diário por gravar")))
                bars[0](max(0, first - left), max(first, left))

            patience = Patience(
                seconds=0 if incomplete else wait,
                elapsed=time.monotonic,
                pause=lambda: time.sleep(_LOOK_S),
                told=told,
            )
            left = await_journal(redis_url, patience)
        if not incomplete:
            refuse_unread(left)
    except (JournalBehind, EmbeddedRedisError):
        if not incomplete:
            raise
        left = None
    if left != 0:
        many = "não se sabe quantos" if left is None else str(left)
        err.print(f"aviso: {many} registros do diário não estão no banco; irão à fatura complementar")
        with writing(backoffice.engine) as session:
            detail = f"waiting={'unknown' if left is None else left}"
            log(session, by, "month.close_incomplete", ("month", month), backoffice.clock(), detail)


def _closing_instant(at: datetime | None, now: datetime) -> datetime:
    """The instant of closing: now, or an earlier one, so that the bytes can be repeated; a future one is a slip."""
    if at is not None and at > now:
        raise Invalid(
            f"o instante {at.isoformat()} ainda não chegou; informe um que já passou, ou nenhum.",
            f"{at.isoformat()} is in the future",
        )
    return at or now


def _close(
    backoffice: Backoffice, month: Month, at: datetime, by: CityOffice, *, complementary: bool
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
    backoffice: Backoffice,
    by: ClaimReader,
    month: Month,
    part: int,
    operator: str | None,
    folder: Path | None,
) -> None:
    target = folder or backoffice.settings.data_dir / "claims" / month
    for files in export_claims(backoffice.engine, by, month, target, operator=operator, part=part):
        for path in (files.csv, files.json, files.annex):
            out.print(f"gravado: {path}", soft_wrap=True)


def _month(text: str) -> Month:
    try:
        return parse_month(text)
    except ValueError:
        raise Invalid(f"a competência se escreve AAAA-MM, como 2026-03, e não {text!r}") from None
