"""`catraca conformance`: drive a running validator service as a vendor's device would."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from backoffice.application.errors import Invalid
from backoffice.cli.console import existing, out
from backoffice.conformance.device import KeyUnreadable
from backoffice.conformance.kit import CannotGoOn
from backoffice.conformance.link import ServiceAway
from backoffice.conformance.run import Plan, drive, golden_bytes


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("conformance")(conformance)


def conformance(
    url: Annotated[str, typer.Argument(help="Endereço do serviço de validação.")] = "",
    token: Annotated[
        str,
        typer.Option(
            "--device-token",
            envvar="CATRACA_DEVICE_TOKEN",
            help="Token de um validador cadastrado para testes.",
        ),
    ] = "",
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="ARQUIVO", help="Chave privada do validador: PEM ou 64 algarismos."),
    ] = None,
    card: Annotated[list[str] | None, typer.Option("--card", help="Código de um cartão de teste.")] = None,
    epoch: Annotated[int, typer.Option(min=1, help="Época vigente do validador.")] = 1,
    journal: Annotated[
        Path | None,
        typer.Option(metavar="ARQUIVO", help="Diário do validador, que continua de uma vez à outra."),
    ] = None,
    line: Annotated[str, typer.Option(help="Linha dos toques; sem ela, uma da lista.")] = "",
    vehicle: Annotated[str, typer.Option(help="Veículo dos toques; sem ele, um da lista.")] = "",
    wait: Annotated[
        float, typer.Option(min=0, help="Segundos que o registro pode levar; 0 não espera.")
    ] = 30.0,
    city_key: Annotated[
        list[str] | None, typer.Option("--city-key", metavar="N:HEX", help="Chave pública da cidade.")
    ] = None,
    golden: Annotated[
        Path | None,
        typer.Option(metavar="ARQUIVO", help="Só grava os exemplos, byte a byte, do protocolo."),
    ] = None,
) -> None:
    """Prova um serviço de validação contra docs/device-protocol.md, cláusula por cláusula."""
    if golden is not None:
        _write_golden(golden)
        return
    if not url or "." not in token or key is None:
        raise Invalid(
            "dê o endereço do serviço, --device-token e --key (ou só --golden ARQUIVO)",
            "give the service's address, --device-token and --key (or --golden FILE alone)",
        )
    device = token.partition(".")[0]
    kept = journal or key.with_name(f"{key.name}.{device}.{epoch}.journal")
    keys = dict(_city_key(text) for text in city_key or [])
    plan = Plan(url, token, existing(key), epoch, kept, tuple(card or ()), line, vehicle, wait, keys)
    try:
        report = drive(plan, out.print, lambda: datetime.now(UTC), os.urandom, time.sleep)
    except KeyUnreadable as error:
        raise Invalid(f"{error} não tem uma chave privada Ed25519 (PEM ou 64 algarismos)") from error
    except ServiceAway as error:
        raise Invalid(f"{url} não respondeu: {error}") from error
    except CannotGoOn as error:
        raise Invalid(str(error)) from error
    out.print(report.last_line())
    if report.failed:
        raise typer.Exit(1)


def _city_key(text: str) -> tuple[int, bytes]:
    number, _, digits = text.partition(":")
    try:
        public = bytes.fromhex(digits)
        if len(public) == 32:
            return int(number), public
    except ValueError:
        pass
    raise Invalid(f"{text} não é uma chave da cidade: dê N:HEX, com 64 algarismos", "give N:HEX")


def _write_golden(path: Path) -> None:
    path.write_bytes(golden_bytes())
    out.print(f"{path}: exemplos de docs/device-protocol.md, byte a byte")
