"""Commands of the desk: holders, rights, cards, passes."""

import json
from dataclasses import asdict
from datetime import date
from typing import Annotated

import typer

from backoffice.application.bind_uid import bind_uid, unbind_uid
from backoffice.application.holder_state import holders_as_recorded
from backoffice.application.inspect_register import find_holders, look_at_holder, pending_requests
from backoffice.application.issue_cards import IssuedCard, block_card, issue_card, replace_card, unblock_card
from backoffice.application.register_deaths import record_death, withdraw_death
from backoffice.application.register_holders import (
    Declaration,
    Person,
    register_enrolment,
    register_holder,
)
from backoffice.application.register_rights import (
    Entitlement,
    approve_right,
    deny_right,
    end_right,
    request_right,
    resume_right,
    suspend_right,
)
from backoffice.application.reserved import refuse_merge, refuse_refund
from backoffice.application.right_overlaps import overlapped_rights
from backoffice.application.sell_passes import Order, sell_passes
from backoffice.application.staff import (
    as_approver,
    as_desk,
    as_person_reader,
    as_registrar,
)
from backoffice.cli.acting import As, acting, parse_day
from backoffice.cli.card_qr import qr
from backoffice.cli.console import out
from backoffice.cli.help_words import DAY
from backoffice.domain.acquisition import Plan
from backoffice.persistence.cards import CardKind
from validator.domain.registration import Evidence
from validator.domain.vocabulary import Category, Network, Product

_holders = typer.Typer(help="Titulares.", no_args_is_help=True)
_rights = typer.Typer(help="Direitos: um registra, outro aprova.", no_args_is_help=True)
_cards = typer.Typer(help="Cartões.", no_args_is_help=True)
_passes = typer.Typer(help="Passes.", no_args_is_help=True)

_DAY = typer.Option(parser=parse_day, metavar=DAY)
_REASON = typer.Option(help="Motivo.")


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    _cards.command("qr")(qr)
    for name, group in (
        ("holder", _holders),
        ("right", _rights),
        ("card", _cards),
        ("pass", _passes),
    ):
        app.add_typer(group, name=name)


@_holders.command("add")
def add_holder(
    name: str,
    birth_date: Annotated[date | None, _DAY] = None,
    cpf: Annotated[str | None, typer.Option(help="CPF próprio; vazio para quem não tem.")] = None,
    guardian: Annotated[int | None, typer.Option(help="Cadastro do responsável.")] = None,
    guardian_name: Annotated[str | None, typer.Option(help="Nome do responsável sem cadastro.")] = None,
    guardian_cpf: Annotated[str | None, typer.Option(help="CPF do responsável.")] = None,
    address: Annotated[str | None, typer.Option(help="Endereço.")] = None,
    phone: Annotated[str | None, typer.Option(help="Telefone.")] = None,
    namesake: Annotated[
        bool,
        typer.Option("--namesake", help="Conferido: o titular de mesmo nome e nascimento é outra pessoa."),
    ] = False,
    login: As = None,
) -> None:
    """Cadastra um titular. Menor sem CPF precisa do responsável."""
    person = Person(name, birth_date, cpf, guardian, guardian_name, guardian_cpf, address, phone, namesake)
    with acting(login) as now:
        row = register_holder(now.session, as_registrar(now.by), now.at, now.office.chance, person)
        out.print(f"titular {row.id} cadastrado")


@_holders.command("show")
def show_holder(holder: int, login: As = None) -> None:
    """Mostra um cadastro; a consulta fica registrada."""
    with acting(login) as now:
        by = as_person_reader(now.by)
        sheet = look_at_holder(now.session, by, now.at, now.office.book, holder_id=holder)
        out.print(json.dumps(asdict(sheet), ensure_ascii=False, indent=2, default=str), soft_wrap=True)


@_holders.command("find")
def find(
    name: Annotated[str | None, typer.Option(help="Começo do nome.")] = None,
    cpf: Annotated[str | None, typer.Option(help="CPF próprio ou do responsável.")] = None,
    card: Annotated[int | None, typer.Option(help="Número do cartão.")] = None,
    login: As = None,
) -> None:
    """Procura titulares; a consulta fica registrada."""
    with acting(login) as now:
        by = as_person_reader(now.by)
        for found in find_holders(now.session, by, now.at, name=name, cpf=cpf, card_number=card):
            out.print(f"{found.id}\t{found.name}\t{found.cpf_masked or ''}\t{found.birth_year or ''}")


@_holders.command("enrol")
def enrol(
    holder: int,
    school: Annotated[int, typer.Option(help="Escola.")],
    first_day: Annotated[date, _DAY],
    last_day: Annotated[date, _DAY],
    passes_per_day: Annotated[int, typer.Option(help="Necessidade declarada, passes por dia.")],
    identity_seen: Annotated[bool, typer.Option("--identity-seen", help="Identidade vista hoje.")] = False,
    address_seen: Annotated[
        bool, typer.Option("--address-seen", help="Comprovante de endereço visto hoje.")
    ] = False,
    login: As = None,
) -> None:
    """Registra uma declaração de matrícula (Decreto 1.827, artigo 70)."""
    with acting(login) as now:
        declaration = Declaration(
            school,
            first_day,
            last_day,
            passes_per_day,
            now.today if identity_seen else None,
            now.today if address_seen else None,
        )
        register_enrolment(
            now.session, as_registrar(now.by), now.at, holder_id=holder, declaration=declaration
        )
        out.print(f"declaração do titular {holder} vale até {last_day:%d/%m/%Y}")


@_holders.command("death")
def death(holder: int, died_on: Annotated[date, _DAY], login: As = None) -> None:
    """Registra um falecimento: encerra os direitos e bloqueia os cartões."""
    with acting(login) as now:
        record_death(now.session, as_registrar(now.by), now.at, holder_id=holder, died_on=died_on)
        out.print(f"falecimento do titular {holder} registrado")


@_holders.command("alive")
def alive(holder: int, login: As = None) -> None:
    """Retira um falecimento registrado por engano; os cartões se desbloqueiam e os direitos se pedem de novo."""
    with acting(login) as now:
        withdraw_death(now.session, as_approver(now.by), now.at, holder_id=holder)
        out.print(
            f"falecimento do titular {holder} retirado; desbloqueie os cartões e peça os direitos de novo"
        )


@_holders.command("merge")
def merge(holder: int, into: int) -> None:
    """Ainda não existe."""
    refuse_merge()


@_rights.command("ask")
def ask(
    holder: int,
    category: Annotated[Category, typer.Option(help="Categoria.")],
    first_day: Annotated[date, _DAY],
    seen: Annotated[list[Evidence], typer.Option(help="Documento visto; repita para cada um.")],
    ended_on: Annotated[date | None, _DAY] = None,
    school: Annotated[int | None, typer.Option(help="Escola ou instituição.")] = None,
    note: Annotated[str | None, typer.Option(help="Observação; nunca um diagnóstico.")] = None,
    login: As = None,
) -> None:
    """Registra um direito; só vale depois que uma segunda pessoa aprovar."""
    with acting(login) as now:
        asked = Entitlement(category, first_day, frozenset(seen), now.today, ended_on, school, note)
        row = request_right(
            now.session, as_registrar(now.by), now.at, now.office.book, holder_id=holder, asked=asked
        )
        out.print(f"pedido {row.id} registrado; falta a aprovação de uma segunda pessoa")
        recorded = holders_as_recorded(now.session, [holder])[holder]
        _say_overlaps(overlapped_rights(now.office.book, recorded, row))


def _say_overlaps(rights: tuple[int, ...]) -> None:
    if rights:
        numbers = ", ".join(str(right) for right in rights)
        out.print(f"aviso: nesses dias já vale direito da mesma categoria: {numbers}", soft_wrap=True)


@_rights.command("pending")
def pending(login: As = None) -> None:
    """Mostra os pedidos sem decisão."""
    with acting(login) as now:
        for request in pending_requests(now.session, as_registrar(now.by), now.office.book):
            out.print(f"{request.id}\ttitular {request.holder_id}\t{request.category}\t{request.first_day}")
            _say_overlaps(request.overlaps)


@_rights.command("approve")
def approve(request: int, login: As = None) -> None:
    """Aprova um pedido que outra pessoa registrou."""
    with acting(login) as now:
        row = approve_right(now.session, as_approver(now.by), now.at, request_id=request)
        out.print(f"direito {row.id} aprovado")


@_rights.command("deny")
def deny(request: int, note: Annotated[str, _REASON], login: As = None) -> None:
    """Nega um pedido, com o motivo."""
    with acting(login) as now:
        deny_right(now.session, as_approver(now.by), now.at, request_id=request, note=note)
        out.print(f"pedido {request} negado")


@_rights.command("end")
def end(
    right: int, ended_on: Annotated[date, _DAY], reason: Annotated[str, _REASON], login: As = None
) -> None:
    """Encerra um direito: --ended-on é o primeiro dia sem ele."""
    with acting(login) as now:
        end_right(now.session, as_registrar(now.by), now.at, right_id=right, ended_on=ended_on, reason=reason)
        out.print(f"direito {right} encerrado em {ended_on:%d/%m/%Y}")


@_rights.command("suspend")
def suspend(
    right: int,
    first_day: Annotated[date, _DAY],
    reason: Annotated[str, _REASON],
    until: Annotated[
        date | None, typer.Option(parser=parse_day, metavar=DAY, help="Primeiro dia em que volta a valer.")
    ] = None,
    login: As = None,
) -> None:
    """Suspende um direito; --until é o primeiro dia em que volta a valer."""
    with acting(login) as now:
        by = as_registrar(now.by)
        suspend_right(
            now.session, by, now.at, right_id=right, first_day=first_day, until=until, reason=reason
        )
        out.print(f"direito {right} suspenso")


@_rights.command("resume")
def resume(
    right: int, from_day: Annotated[date, _DAY], reason: Annotated[str, _REASON], login: As = None
) -> None:
    """Retoma um direito suspenso."""
    with acting(login) as now:
        resume_right(
            now.session, as_registrar(now.by), now.at, right_id=right, from_day=from_day, reason=reason
        )
        out.print(f"direito {right} retomado")


@_cards.command("issue")
def issue(
    holder: int,
    kind: Annotated[CardKind, typer.Option(help="O que leva o código.")] = CardKind.QR,
    login: As = None,
) -> None:
    """Emite um cartão e mostra o seu código, uma vez só."""
    with acting(login) as now:
        by = as_desk(now.by)
        card = issue_card(
            now.session, by, now.at, now.office.chance, now.office.signer, holder_id=holder, kind=kind
        )
    _show_card(card)


@_cards.command("block")
def block(number: int, reason: Annotated[str, _REASON], login: As = None) -> None:
    """Bloqueia um cartão perdido ou furtado."""
    with acting(login) as now:
        block_card(now.session, as_desk(now.by), now.at, number=number, reason=reason)
        out.print(f"cartão {number} bloqueado")


@_cards.command("unblock")
def unblock(number: int, reason: Annotated[str, _REASON], login: As = None) -> None:
    """Desbloqueia um cartão que foi achado."""
    with acting(login) as now:
        unblock_card(now.session, as_desk(now.by), now.at, number=number, reason=reason)
        out.print(f"cartão {number} desbloqueado")


@_cards.command("replace")
def replace(number: int, reason: Annotated[str, _REASON], login: As = None) -> None:
    """Emite a segunda via; a anterior passa a ser recusada."""
    with acting(login) as now:
        card = replace_card(
            now.session, as_desk(now.by), now.at, now.office.signer, number=number, reason=reason
        )
    _show_card(card)


@_cards.command("uid")
def uid(number: int, uid: str, login: As = None) -> None:
    """Vincula um chip sem contato, pelo uid: paga com passe comum e vale-transporte, e não prova direito."""
    with acting(login) as now:
        bound = bind_uid(now.session, as_desk(now.by), now.at, number=number, uid=uid)
        out.print(f"chip {bound.uid} vinculado ao cartão {bound.number}, via {bound.issue}")


@_cards.command("uid-remove")
def uid_remove(number: int, uid: str, reason: Annotated[str, _REASON], login: As = None) -> None:
    """Desvincula um chip: passa a ser recusado como desconhecido."""
    with acting(login) as now:
        unbind_uid(now.session, as_desk(now.by), now.at, number=number, uid=uid, reason=reason)
        out.print(f"chip desvinculado do cartão {number}")


@_passes.command("sell")
def sell(
    holder: int,
    product: Annotated[Product, typer.Option(help="Produto.")],
    units: Annotated[int, typer.Option(help="Quantidade.")],
    network: Annotated[Network, typer.Option(help="Rede.")] = Network.URBAN,
    plan: Annotated[Plan | None, typer.Option(help="Plano do passe de estudante.")] = None,
    request: Annotated[str | None, typer.Option(help="Número do pedido: repetido, vende uma vez.")] = None,
    login: As = None,
) -> None:
    """Vende passes pelo preço do dia (Decreto 1.827, artigo 70)."""
    with acting(login) as now:
        order = Order(product, network, units, plan, request)
        row = sell_passes(
            now.session, as_desk(now.by), now.at, now.office.book, holder_id=holder, order=order
        )
        total = row.units * row.paid_cents
        out.print(
            f"venda {row.id}: {row.units} passes a {row.paid_cents} centavos, total {total // 100},{total % 100:02d}"
        )


@_passes.command("refund")
def refund(holder: int, units: int) -> None:
    """Ainda não existe."""
    refuse_refund()


def _show_card(card: IssuedCard) -> None:
    out.print(f"cartão {card.number}, via {card.issue}; o código aparece só agora:")
    out.print(card.token, soft_wrap=True)
