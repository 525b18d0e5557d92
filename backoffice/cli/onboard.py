"""Commands of the devices on the buses: the agent itself, the fleet's bundle, and codes for installation."""

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from backoffice.adapters.offline_policy import policy_from
from backoffice.application.bundle import BundleNotBuilt
from backoffice.application.enrol_by_code import issue_code
from backoffice.application.errors import Conflict, Invalid
from backoffice.application.keep_bundle import build_once, run_bundle
from backoffice.application.staff import as_administrator
from backoffice.bootstrap import build, configure_logs
from backoffice.cli.acting import As, acting
from backoffice.cli.console import out
from backoffice.cli.processes import progress_bar, redis_of, stopping
from backoffice.domain.offline_policy import PolicyError
from backoffice.settings import Settings
from validator.domain.service_time import SAO_PAULO

_AS_IT_IS = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("onboard", context_settings=_AS_IT_IS)(onboard)
    app.command("bundle")(bundle)
    app.command("device-code")(device_code)


def onboard(context: typer.Context) -> None:
    """Roda o validador embarcado: enrol, run, sync, upload, status, check, retire (veja onboard --help)."""
    os.execv(sys.executable, [sys.executable, "-m", "validator.onboard", *context.args])


def bundle(
    every: Annotated[
        float | None, typer.Option(min=1, metavar="SEGUNDOS", help="Repete neste intervalo, até Ctrl-C.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", metavar="ARQUIVO", help="Outra política sem rede, em TOML.")
    ] = None,
) -> None:
    """Monta e assina o pacote de listas que os validadores buscam em /v1/sync."""
    settings = Settings()
    try:
        rules = policy_from(policy)
        office = build(settings)
        with redis_of(settings) as redis_url:
            if every is not None:
                configure_logs(settings)
                with stopping() as stop:
                    run_bundle(office.engine, redis_url, rules, office.signer, office.clock, every, stop)
                return
            with progress_bar("titulares") as advance:
                built = build_once(office.engine, redis_url, rules, office.signer, office.clock(), advance)
        office.engine.dispose()
    except PolicyError as error:
        raise Invalid(str(error)) from error
    except BundleNotBuilt as error:
        raise Conflict(str(error)) from error
    kind = "nova" if built.new else "sem mudança"
    out.print(
        f"lista {built.version} ({kind}): {built.holders} titulares, {built.full_bytes} bytes inteira, "
        f"{built.step_bytes} bytes de mudança"
    )


def device_code(
    device: str,
    operator: Annotated[str | None, typer.Option(help="De quem é; só para um validador novo.")] = None,
    vehicle: Annotated[str | None, typer.Option(help="Em que veículo fica um validador novo.")] = None,
    hours: Annotated[int, typer.Option(min=1, max=720, help="Por quantas horas o código vale.")] = 72,
    login: As = None,
) -> None:
    """Emite um código de uso único para instalar ou reinstalar um validador."""
    with acting(login) as now:
        code = issue_code(
            now.session,
            as_administrator(now.by),
            now.at,
            now.office.chance,
            device_id=device,
            operator=operator,
            vehicle=vehicle,
            valid_for=timedelta(hours=hours),
        )
    until = code.expires_at.astimezone(SAO_PAULO).strftime("%d/%m/%Y %H:%M")
    out.print(f"código para {code.device_id}, válido até {until}, mostrado só agora:")
    out.print(code.code)
