"""Commands of the devices' journals: what is missing or false, and what a person declares about it."""

import typer
from sqlalchemy import select

from backoffice.application.changes import log
from backoffice.application.errors import Invalid
from backoffice.application.sequence_gaps import declare_lost, missing_ranges
from backoffice.application.settle_chain import settle_chain
from backoffice.application.staff import as_city, as_reader
from backoffice.cli.acting import As, acting
from backoffice.cli.console import out
from backoffice.persistence.journal import DeviceEpochRow

_journal = typer.Typer(help="Diários dos validadores: lacunas e perdas declaradas.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(_journal, name="journal")


@_journal.command("status")
def status(login: As = None) -> None:
    """Mostra, por validador e época, o que está gravado, o que falta e o que a cadeia assinada cobre."""
    with acting(login) as now:
        as_reader(now.by)
        rows = now.session.scalars(
            select(DeviceEpochRow).order_by(DeviceEpochRow.device, DeviceEpochRow.epoch)
        )
        for row in rows.all():
            gaps = missing_ranges(now.session, row.device, row.epoch)
            missing = ", ".join(f"{first}-{last}" for first, last in gaps) or "nada"
            tail = "encerrada" if row.closed else "cauda desconhecida"
            broken = "; CADEIA QUEBRADA" if row.broken else ""
            out.print(
                f"{row.device}\tépoca {row.epoch}\tgravado até {row.durable_seq} de {row.top_seq}\tfalta: {missing}"
                f"\tassinado até {row.covered_seq}\t{tail}{broken}"
            )


@_journal.command("lost")
def lost(device: str, epoch: int, first: int, last: int, login: As = None) -> None:
    """Declara perdidas as sequências de PRIMEIRA a ÚLTIMA que não chegaram; o que chegar depois não é faturado."""
    with acting(login) as now:
        office = as_city(now.by)
        try:
            count = declare_lost(now.session, device, epoch, first, last, by=office.login, at=now.at)
        except ValueError as error:
            raise Invalid(f"intervalo de {first} a {last}: {error}") from error
        log(now.session, office, "journal.lost", ("device", device), now.at, f"epoch={epoch} {first}-{last}")
        out.print(f"validador {device}, época {epoch}: {count} sequências declaradas perdidas")


@_journal.command("settle")
def settle(device: str, epoch: int, reason: str, login: As = None) -> None:
    """Resolve um fecho assinado que os registros contradizem, com o motivo; um fecho verdadeiro já o cobre."""
    with acting(login) as now:
        count = settle_chain(now.session, as_city(now.by), now.at, device=device, epoch=epoch, reason=reason)
        heads = "1 fecho falso resolvido" if count == 1 else f"{count} fechos falsos resolvidos"
        out.print(f"validador {device}, época {epoch}: {heads}")
