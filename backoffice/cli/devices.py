"""Commands of the devices on the buses."""

from pathlib import Path
from typing import Annotated

import typer

from backoffice.adapters.city_keys import write_device_key
from backoffice.application.errors import Conflict, Invalid
from backoffice.application.inspect_fleet import list_devices
from backoffice.application.register_devices import (
    Enrolled,
    assign_device,
    enrol_device,
    reinstall_device,
    revoke_device,
)
from backoffice.application.staff import as_administrator, as_reader
from backoffice.cli.acting import As, Moment, acting, parse_key
from backoffice.cli.console import out

_devices = typer.Typer(help="Validadores.", no_args_is_help=True)

_KEY = typer.Option(
    parser=parse_key, metavar="HEX", help="Chave pública Ed25519 que o aparelho gerou: 64 algarismos."
)
_GENERATE = typer.Option(
    "--generate", metavar="ARQUIVO", help="Só para testes: gera a chave aqui e grava a parte privada."
)


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(_devices, name="device")


@_devices.command("enrol")
def enrol(
    device: str,
    operator: Annotated[str, typer.Option(help="De quem é.")],
    vehicle: Annotated[str | None, typer.Option(help="Em que veículo está.")] = None,
    public_key: Annotated[bytes | None, _KEY] = None,
    generate: Annotated[Path | None, _GENERATE] = None,
    login: As = None,
) -> None:
    """Cadastra um validador e mostra a sua chave de acesso, uma vez só."""
    with acting(login) as now:
        enrolled = enrol_device(
            now.session,
            as_administrator(now.by),
            now.at,
            now.office.chance,
            device_id=device,
            operator=operator,
            public_key=_public(public_key, generate),
            vehicle=vehicle,
        )
    _show_device(enrolled)


@_devices.command("reinstall")
def reinstall(
    device: str,
    public_key: Annotated[bytes | None, _KEY] = None,
    generate: Annotated[Path | None, _GENERATE] = None,
    login: As = None,
) -> None:
    """Dá nova época a um validador reinstalado: outra chave de acesso, a sequência recomeça."""
    with acting(login) as now:
        enrolled = reinstall_device(
            now.session,
            as_administrator(now.by),
            now.at,
            now.office.chance,
            device_id=device,
            public_key=_public(public_key, generate),
        )
    _show_device(enrolled)


@_devices.command("assign")
def assign(device: str, vehicle: str, from_at: Moment = None, login: As = None) -> None:
    """Põe um validador em um veículo; - no lugar do veículo o retira."""
    with acting(login) as now:
        where = None if vehicle == "-" else vehicle
        assign_device(
            now.session,
            as_administrator(now.by),
            now.at,
            device_id=device,
            vehicle=where,
            from_at=from_at or now.at,
        )
        out.print(f"validador {device}: veículo {vehicle}")


@_devices.command("revoke")
def revoke(
    device: str,
    reason: Annotated[str, typer.Option(help="Motivo.")],
    revoked_at: Moment = None,
    login: As = None,
) -> None:
    """Revoga um validador furtado, desde um instante."""
    with acting(login) as now:
        revoke_device(
            now.session,
            as_administrator(now.by),
            now.at,
            device_id=device,
            revoked_at=revoked_at or now.at,
            reason=reason,
        )
        out.print(f"validador {device} revogado")


@_devices.command("list")
def list_all(login: As = None) -> None:
    """Mostra os validadores."""
    with acting(login) as now:
        for device in list_devices(now.session, as_reader(now.by), now.at):
            state = "revogado" if device.revoked_at else "ativo"
            out.print(
                f"{device.device_id}\t{device.operator}\t{device.vehicle or '-'}\tépoca {device.epoch}\t{state}"
            )


def _public(public_key: bytes | None, generate: Path | None) -> bytes:
    if (public_key is None) == (generate is None):
        raise Invalid("dê --public-key, ou --generate para testes", "give --public-key or --generate")
    if public_key is not None:
        return public_key
    assert generate is not None
    try:
        return write_device_key(generate)
    except FileExistsError as error:
        raise Conflict(f"o arquivo {generate} já existe; uma chave nunca é sobrescrita") from error


def _show_device(enrolled: Enrolled) -> None:
    out.print(f"validador {enrolled.device_id}, época {enrolled.epoch}; a chave de acesso aparece só agora:")
    out.print(enrolled.token, soft_wrap=True)
