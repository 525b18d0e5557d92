"""Commands for boardings whose device's clock was off."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from backoffice.application.date_boarding import boardings_in_doubt, date_boarding
from backoffice.application.errors import Invalid
from backoffice.application.staff import as_city
from backoffice.cli.acting import As, acting, parse_instant
from backoffice.cli.console import out
from backoffice.cli.help_words import INSTANT
from validator.domain.service_time import SAO_PAULO

_quarantine = typer.Typer(help="Embarques de relógio errado, à espera de data.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(_quarantine, name="quarantine")


@_quarantine.command("list")
def list_all(
    dated: Annotated[bool, typer.Option("--dated", help="Também os já datados.")] = False, login: As = None
) -> None:
    """Mostra os embarques em quarentena e entre quais embarques do mesmo validador cada um aconteceu."""
    with acting(login) as now:
        as_city(now.by)
        for one in boardings_in_doubt(now.session, waiting_only=not dated):
            out.print(
                f"{one.boarding_id}\t{one.device}/{one.epoch}/{one.seq}\tlinha {one.line}\tveículo {one.vehicle}"
                f"\trelógio {_text(one.occurred_at)}\trecebido {_text(one.received_at)}"
                f"\tentre {_text(one.after)} e {_text(one.before)}\tdatado {_text(one.dated_at)}",
                soft_wrap=True,
            )


@_quarantine.command("date")
def date(
    boarding: str,
    at: Annotated[
        datetime, typer.Option("--at", parser=parse_instant, metavar=INSTANT, help="Quando aconteceu.")
    ],
    evidence: Annotated[str, typer.Option(help="De onde se sabe: folha de viagem, câmera, vizinhos.")],
    login: As = None,
) -> None:
    """Data um embarque a partir de evidência; o original fica como chegou."""
    try:
        boarding_id = str(UUID(boarding))
    except ValueError:
        raise Invalid("o embarque é um UUID, como mostrado por quarantine list") from None
    with acting(login) as now:
        dating = date_boarding(
            now.session, as_city(now.by), now.at, boarding_id=boarding_id, dated_at=at, evidence=evidence
        )
        out.print(f"embarque {boarding_id} datado em {_text(at)}; competência {dating.month_dated}")


def _text(instant: datetime | None) -> str:
    return "-" if instant is None else instant.astimezone(SAO_PAULO).strftime("%d/%m/%Y %H:%M:%S")
