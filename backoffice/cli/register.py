"""Commands of what the city sets: acts, fares, operators, lines, vehicles, schools, users, keys."""

from datetime import date
from typing import Annotated

import typer
from sqlalchemy import select

from backoffice.application.city_state import authorities, fare_rows_as_recorded
from backoffice.application.issue_cards import retire_city_key, rotate_city_key
from backoffice.application.register_acts import NewFare, record_act, register_fare
from backoffice.application.register_fleet import (
    assign_line,
    declare_broken,
    declare_repaired,
    end_line,
    end_operator,
    register_line,
    register_operator,
    register_vehicle,
)
from backoffice.application.register_schools import register_school, set_school_year
from backoffice.application.register_users import NewUser, add_user, end_user, renew_token
from backoffice.application.staff import as_city, as_fleet, as_reader, as_user_administrator
from backoffice.cli.acting import As, Moment, acting, parse_day
from backoffice.cli.console import out
from backoffice.cli.help_words import DAY
from backoffice.persistence.acts import ActKind, ActRow
from backoffice.persistence.operators import OperatorKind, OperatorRow
from backoffice.persistence.schools import SchoolRow
from backoffice.persistence.users import Role
from validator.domain.registration import SchoolNetwork
from validator.domain.vocabulary import FareMedium, Network

_acts = typer.Typer(help="Atos: leis, decretos, portarias.", no_args_is_help=True)
_fares = typer.Typer(help="Tarifas, cada uma com o seu ato.", no_args_is_help=True)
_operators = typer.Typer(help="Operadores.", no_args_is_help=True)
_lines = typer.Typer(help="Linhas e quem as opera.", no_args_is_help=True)
_vehicles = typer.Typer(help="Veículos e suas panes.", no_args_is_help=True)
_schools = typer.Typer(help="Escolas e anos letivos.", no_args_is_help=True)
_users = typer.Typer(help="Pessoas que usam a retaguarda.", no_args_is_help=True)
_keys = typer.Typer(help="Chaves da cidade, que assinam os cartões.", no_args_is_help=True)

_DAY = typer.Option(parser=parse_day, metavar=DAY)


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for name, group in (
        ("act", _acts),
        ("fare", _fares),
        ("operator", _operators),
        ("line", _lines),
        ("vehicle", _vehicles),
        ("school", _schools),
        ("user", _users),
        ("key", _keys),
    ):
        app.add_typer(group, name=name)


@_acts.command("add")
def add_act(
    kind: Annotated[ActKind, typer.Option(help="Que tipo de ato.")],
    number: Annotated[str, typer.Option(help="Número, como 9.876/2025.")],
    signed_on: Annotated[date, _DAY],
    published_on: Annotated[date | None, _DAY] = None,
    note: Annotated[str | None, typer.Option(help="Observação.")] = None,
    login: As = None,
) -> None:
    """Registra um ato."""
    with acting(login) as now:
        act = record_act(
            now.session,
            as_city(now.by),
            now.at,
            kind=kind,
            number=number,
            signed_on=signed_on,
            published_on=published_on,
            note=note,
        )
        out.print(f"ato {act.id}: {act.title}")


@_acts.command("list")
def list_acts(login: As = None) -> None:
    """Mostra os atos."""
    with acting(login) as now:
        as_reader(now.by)
        for act in now.session.scalars(select(ActRow).order_by(ActRow.signed_on, ActRow.id)):
            out.print(f"{act.id}\t{act.title}")


@_fares.command("add")
def add_fare(
    network: Annotated[Network, typer.Option(help="Rede.")],
    cents: Annotated[int, typer.Option(help="Centavos: 455 para R$ 4,55.")],
    first_day: Annotated[date, _DAY],
    act: Annotated[int, typer.Option(help="Número do ato (catraca act list).")],
    last_day: Annotated[date | None, _DAY] = None,
    line: Annotated[str | None, typer.Option(help="Só para esta linha.")] = None,
    medium: Annotated[FareMedium | None, typer.Option(help="Só para este meio.")] = None,
    corrects: Annotated[int | None, typer.Option(help="Tarifa registrada errada, que esta corrige.")] = None,
    login: As = None,
) -> None:
    """Registra uma tarifa; a anterior vale até a véspera."""
    with acting(login) as now:
        new = NewFare(network, cents, first_day, act, last_day, line, medium)
        row = register_fare(now.session, as_city(now.by), now.at, new, corrects_id=corrects)
        out.print(f"tarifa {row.id}: {network} {cents} centavos a partir de {first_day:%d/%m/%Y}")


@_fares.command("list")
def list_fares(login: As = None) -> None:
    """Mostra as tarifas que contam."""
    with acting(login) as now:
        as_reader(now.by)
        for row, fare in fare_rows_as_recorded(now.session):
            until = "" if fare.last_day is None else f" até {fare.last_day:%d/%m/%Y}"
            where = "/".join(filter(None, (fare.network, fare.line, fare.medium)))
            out.print(f"{row.id}\t{where}\t{fare.cents}\tdesde {fare.first_day:%d/%m/%Y}{until}\t{fare.act}")


@_operators.command("add")
def add_operator(
    code: Annotated[str, typer.Argument(help="Código: letras minúsculas, algarismos, hífens.")],
    name: Annotated[str, typer.Option(help="Nome.")],
    document: Annotated[str, typer.Option(help="CNPJ, ou CPF com --kind PERSON.")],
    kind: Annotated[OperatorKind, typer.Option(help="Empresa ou pessoa.")] = OperatorKind.COMPANY,
    first_day: Annotated[date | None, _DAY] = None,
    login: As = None,
) -> None:
    """Registra um operador, ou completa um que veio de um feed."""
    with acting(login) as now:
        register_operator(
            now.session,
            as_city(now.by),
            now.at,
            code=code,
            name=name,
            kind=kind,
            document=document,
            first_day=first_day,
        )
        out.print(f"operador {code} registrado")


@_operators.command("end")
def close_operator(
    code: str, ended_on: Annotated[date, _DAY], act: Annotated[int, typer.Option()], login: As = None
) -> None:
    """Encerra a permissão de um operador: --ended-on é o primeiro dia sem ela."""
    with acting(login) as now:
        end_operator(now.session, as_city(now.by), now.at, code=code, ended_on=ended_on, act_id=act)
        out.print(f"operador {code} encerrado em {ended_on:%d/%m/%Y}")


@_operators.command("list")
def list_operators(login: As = None) -> None:
    """Mostra os operadores."""
    with acting(login) as now:
        by = as_reader(now.by)
        for row in now.session.scalars(select(OperatorRow).order_by(OperatorRow.code)):
            if by.operator_id in (None, row.id):
                out.print(f"{row.code}\t{row.name}\t{'' if row.document else 'falta o documento'}")


@_lines.command("add")
def add_line(
    code: str,
    name: Annotated[str, typer.Option(help="Nome.")],
    network: Annotated[Network, typer.Option(help="Rede.")],
    operator: Annotated[list[str] | None, typer.Option(help="Quem a opera; pode repetir.")] = None,
    from_day: Annotated[date | None, _DAY] = None,
    act: Annotated[int | None, typer.Option(help="Ato que a criou.")] = None,
    login: As = None,
) -> None:
    """Registra uma linha."""
    with acting(login) as now:
        by = as_city(now.by)
        first = from_day or now.today
        register_line(
            now.session, by, now.at, code=code, name=name, network=network, first_day=from_day, act_id=act
        )
        for one in operator or []:
            assign_line(now.session, by, now.at, line=code, operator=one, from_day=first, act_id=act)
        out.print(f"linha {code} registrada")


@_lines.command("assign")
def assign(
    line: str,
    operator: str,
    from_day: Annotated[date, _DAY],
    ends: Annotated[bool, typer.Option("--ends", help="Deixa de operar a linha.")] = False,
    act: Annotated[int | None, typer.Option()] = None,
    login: As = None,
) -> None:
    """Faz um operador operar uma linha a partir de um dia, ou deixar de operar."""
    with acting(login) as now:
        assign_line(
            now.session,
            as_city(now.by),
            now.at,
            line=line,
            operator=operator,
            from_day=from_day,
            runs=not ends,
            act_id=act,
        )
        out.print(
            f"linha {line}: {operator} {'deixa de operar' if ends else 'opera'} desde {from_day:%d/%m/%Y}"
        )


@_lines.command("end")
def close_line(
    code: str, last_day: Annotated[date, _DAY], act: Annotated[int, typer.Option()], login: As = None
) -> None:
    """Encerra uma linha por um ato."""
    with acting(login) as now:
        end_line(now.session, as_city(now.by), now.at, code=code, last_day=last_day, act_id=act)
        out.print(f"linha {code} encerrada em {last_day:%d/%m/%Y}")


@_lines.command("list")
def list_lines(login: As = None) -> None:
    """Mostra as linhas de hoje."""
    with acting(login) as now:
        as_reader(now.by)
        for line in authorities(now.session).lines_on(now.today):
            out.print(f"{line.code}\t{line.network}\t{line.name}\t{', '.join(line.operators)}")


@_vehicles.command("add")
def add_vehicle(
    number: str,
    operator: Annotated[str, typer.Option(help="De quem é.")],
    from_day: Annotated[date | None, _DAY] = None,
    plate: Annotated[str | None, typer.Option(help="Placa.")] = None,
    login: As = None,
) -> None:
    """Registra um veículo, ou passa-o a outro operador a partir de um dia."""
    with acting(login) as now:
        day = from_day or now.today
        register_vehicle(
            now.session, as_city(now.by), now.at, number=number, operator=operator, from_day=day, plate=plate
        )
        out.print(f"veículo {number}: {operator} desde {day:%d/%m/%Y}")


@_vehicles.command("broken")
def broken(number: str, from_at: Moment = None, login: As = None) -> None:
    """Declara um veículo em pane: os passageiros seguem em outro sem pagar (Lei 1.055/91, artigo 48, VI)."""
    with acting(login) as now:
        declare_broken(now.session, as_fleet(now.by), now.at, vehicle=number, from_at=from_at or now.at)
        out.print(f"veículo {number} em pane")


@_vehicles.command("repaired")
def repaired(number: str, until_at: Moment = None, login: As = None) -> None:
    """Declara que o veículo voltou a rodar."""
    with acting(login) as now:
        declare_repaired(now.session, as_fleet(now.by), now.at, vehicle=number, until_at=until_at or now.at)
        out.print(f"veículo {number} consertado")


@_vehicles.command("list")
def list_vehicles(login: As = None) -> None:
    """Mostra os veículos de hoje."""
    with acting(login) as now:
        as_reader(now.by)
        for number, operator in authorities(now.session).vehicles_on(now.today):
            out.print(f"{number}\t{operator}")


@_schools.command("add")
def add_school(
    name: str,
    network: Annotated[SchoolNetwork, typer.Option(help="Rede de ensino.")],
    inep: Annotated[str | None, typer.Option(help="Código INEP, 8 algarismos.")] = None,
    login: As = None,
) -> None:
    """Registra uma escola ou instituição."""
    with acting(login) as now:
        row = register_school(now.session, as_city(now.by), now.at, name=name, network=network, inep=inep)
        out.print(f"escola {row.id}: {row.name}")


@_schools.command("year")
def school_year(
    school: int,
    year: int,
    days: Annotated[int, typer.Option(help="Dias letivos.")],
    extra: Annotated[int, typer.Option(help="Passes a mais por aluno, por ato.")] = 0,
    act: Annotated[int | None, typer.Option(help="O ato.")] = None,
    login: As = None,
) -> None:
    """Registra os dias letivos de uma escola em um ano."""
    with acting(login) as now:
        set_school_year(
            now.session,
            as_city(now.by),
            now.at,
            school_id=school,
            year=year,
            school_days=days,
            authorised_extra=extra,
            act_id=act,
        )
        out.print(f"escola {school}: {days} dias letivos em {year}")


@_schools.command("list")
def list_schools(login: As = None) -> None:
    """Mostra as escolas."""
    with acting(login) as now:
        as_reader(now.by)
        for row in now.session.scalars(select(SchoolRow).order_by(SchoolRow.id)):
            out.print(f"{row.id}\t{row.network}\t{row.name}\t{row.inep or ''}")


@_users.command("add")
def add_person(
    new: Annotated[str, typer.Argument(metavar="LOGIN", help="O login da pessoa nova.")],
    name: Annotated[str, typer.Option(help="Nome.")],
    role: Annotated[Role, typer.Option(help="Perfil.")],
    operator: Annotated[str | None, typer.Option(help="Operador, do perfil OPERATOR_FINANCE.")] = None,
    desk: Annotated[str | None, typer.Option(help="Posto, dos perfis DESK_...")] = None,
    school: Annotated[int | None, typer.Option(help="Escola, do perfil SCHOOL.")] = None,
    holder: Annotated[int | None, typer.Option(help="Cadastro da própria pessoa como titular.")] = None,
    login: As = None,
) -> None:
    """Cadastra uma pessoa e mostra a sua chave de acesso, uma vez só. A primeira é ADMINISTRATOR."""
    with acting(login) as now:
        by = None if now.staff is None else as_user_administrator(now.staff)
        user = NewUser(new, name, role, operator, desk, school, holder)
        added = add_user(now.session, by, now.at, now.office.chance, user)
    _show_token(added.token, f"usuário {added.login} cadastrado")


@_users.command("end")
def end_person(
    target: Annotated[str, typer.Argument(metavar="LOGIN")], until: Moment = None, login: As = None
) -> None:
    """Encerra o acesso de uma pessoa, agora ou em um instante."""
    with acting(login) as now:
        end_user(
            now.session, as_user_administrator(now.by), now.at, login=target, valid_until=until or now.at
        )
        out.print(f"acesso de {target} encerrado")


@_users.command("token")
def new_token(target: Annotated[str, typer.Argument(metavar="LOGIN")], login: As = None) -> None:
    """Troca a chave de acesso de uma pessoa; a antiga deixa de valer."""
    with acting(login) as now:
        renewed = renew_token(
            now.session, as_user_administrator(now.by), now.at, now.office.chance, login=target
        )
    _show_token(renewed.token, f"nova chave de {target}")


@_keys.command("rotate")
def rotate(login: As = None) -> None:
    """Cria outra chave da cidade, que passa a assinar; as anteriores continuam conferindo."""
    with acting(login) as now:
        key_id = rotate_city_key(now.session, as_city(now.by), now.at, now.office.signer)
        out.print(f"chave {key_id} criada em {now.office.settings.keys_dir}; guarde cópia em lugar seguro")


@_keys.command("retire")
def retire(
    key_id: int,
    until: Moment = None,
    compromised: Annotated[bool, typer.Option("--compromised", help="Outros podem tê-la.")] = False,
    login: As = None,
) -> None:
    """Retira uma chave: cartões assinados por ela deixam de valer nesse instante."""
    with acting(login) as now:
        by = as_city(now.by)
        until = until or now.at
        retire_city_key(now.session, by, now.at, key_id=key_id, until=until, compromised=compromised)
        out.print(f"chave {key_id} retirada")


def _show_token(token: str, what: str) -> None:
    out.print(f"{what}; a chave aparece só agora:")
    out.print(token, soft_wrap=True)
