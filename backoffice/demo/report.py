"""What the demonstration says on the screen, in Portuguese."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from backoffice.demo.compare import Comparison
from backoffice.demo.device import Tally
from backoffice.demo.month_plan import Mishap
from backoffice.demo.play import Happened
from backoffice.demo.stage import Stage
from backoffice.domain.exclusions import ExclusionReason
from validator.domain.reasons import Reason
from validator.domain.service_time import Month

_MISHAPS = {
    Mishap.DUPLICATE: "enviados duas vezes, com a mesma resposta",
    Mishap.LOST_ANSWER: "com a resposta perdida, reenviados em lote",
    Mishap.ANNULLED: "anulados, porque a catraca não girou",
    Mishap.ANNULLED_LATE: "anulados tarde demais, sem efeito",
    Mishap.HELD: "aceitos, mas retidos pelo motorista",
    Mishap.TAPS_TWICE: "repetidos pelo mesmo cartão em seguida",
    Mishap.FORGED: "com cartão falsificado",
    Mishap.FIRST_VIA: "com cartão já substituído ou falso",
    Mishap.FOREIGN_LINE: "em linha de outra operadora",
    Mishap.UNKNOWN_LINE: "em linha que ninguém conhece",
}


def reais(cents: int) -> str:
    """Centavos as Brazilians write reais: `R$ 1.234,56`."""
    whole, rest = divmod(abs(cents), 100)
    sign = "-" if cents < 0 else ""
    return f"{sign}R$ {thousands(whole)},{rest:02}"


def thousands(number: int) -> str:
    """A number as Brazilians write it: `1.234`."""
    return f"{number:,}".replace(",", ".")


def say_beginning(console: Console, month: Month, stage: Stage) -> None:
    """What is going to happen, and where."""
    console.print("Catraca: demonstração com uma cidade inventada", style="bold")
    console.print(f"Competência {month}. Pasta desta demonstração: {stage.folder}", soft_wrap=True)
    console.print(
        "Nenhuma pessoa ou empresa é real. O relógio é o da demonstração; os processos são os do produto.\n",
        soft_wrap=True,
    )


def say_month(console: Console, happened: Happened, tallies: Sequence[Tally]) -> None:
    """What happened in the month."""
    table = _table("O mês, como os validadores o viveram")
    table.show_header = False
    table.add_column("fato")
    table.add_column("quantos", justify="right")
    accepted = happened.answers.pop("OK", 0)
    refused = sum(happened.answers.values())
    rows = [
        ("Toques", happened.taps),
        ("  respondidos: aceitos", accepted),
        ("  respondidos: recusados", refused),
        *((f"    {_reason(name)}", count) for name, count in happened.answers.most_common()),
        ("  sem rede, decididos pelo agente com a lista assinada", happened.offline),
        ("Entre eles:", None),
        *((f"  {text}", happened.mishaps[mishap]) for mishap, text in _MISHAPS.items()),
        ("  com identificador já usado (409)", happened.conflicts),
        ("  com o relógio adiantado, datados pelo serviço", happened.skewed),
        ("  com o relógio perdido, em quarentena", happened.undated),
        ("  de validador furtado, em quarentena", happened.from_revoked),
        ("Pedidos HTTP", sum(tally.posted for tally in tallies)),
        ("  lotes", sum(tally.batches for tally in tallies)),
        (
            "  registros em lotes (liberações e reenvios incluídos)",
            sum(tally.batch_items for tally in tallies),
        ),
    ]
    for text, number in rows:
        table.add_row(text, "" if number is None else thousands(number))
    console.print()
    console.print(table)


def _reason(name: str) -> str:
    return Reason[name].display.lower()


def say_end(console: Console, stage: Stage, happened: Happened, comparison: Comparison) -> bool:
    """The claims beside the count; whether everything agrees."""
    for table in (_boardings, _excluded, _categories, _claims):
        console.print(table(comparison))
    console.print(f"Faturas em {stage.folder / 'claims'}:")
    for name in comparison.files:
        console.print(f"  {name}")
    differences = [*happened.differences, *comparison.differences]
    for difference in differences:
        console.print(f"difere: {difference}", style="red", soft_wrap=True)
    if differences:
        console.print("\nNÃO CONFERE com a contagem própria da demonstração.", style="bold red")
        return False
    total = sum(row.city_cents for row in comparison.operators)
    console.print(
        f"\nConfere: cada resposta, cada linha e {reais(total)} são iguais na contagem própria da demonstração.",
        style="bold",
    )
    return True


def _claims(comparison: Comparison) -> Table:
    table = _table("Faturas de reembolso")
    table.show_footer = True
    rows = comparison.operators
    table.add_column("fatura", "total")
    table.add_column("embarques", thousands(sum(row.rides for row in rows)), justify="right")
    table.add_column("a cidade paga", reais(sum(row.city_cents for row in rows)), justify="right")
    table.add_column("contagem própria", reais(sum(row.counted_cents for row in rows)), justify="right")
    table.add_column("")
    for row in rows:
        agrees = "confere" if row.agrees else "NÃO CONFERE"
        table.add_row(
            row.number, thousands(row.rides), reais(row.city_cents), reais(row.counted_cents), agrees
        )
    return table


def _boardings(comparison: Comparison) -> Table:
    table = _table("Embarques do mês")
    table.add_column("operadora")
    for title in ("faturados", "sem cobrança", "excluídos"):
        table.add_column(title, justify="right")
    for row in comparison.operators:
        numbers = (row.rides, row.statistical, row.excluded)
        table.add_row(row.name, *(thousands(number) for number in numbers))
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)


def _categories(comparison: Comparison) -> Table:
    table = _table("Por categoria")
    table.add_column("categoria")
    table.add_column("embarques", justify="right")
    table.add_column("a cidade reembolsa", justify="right")
    for label, (rides, cents) in comparison.categories.items():
        table.add_row(label, thousands(rides), reais(cents))
    return table


def _excluded(comparison: Comparison) -> Table:
    table = _table("Embarques fora da fatura")
    table.add_column("motivo", max_width=50)
    table.add_column("na fatura", justify="right")
    table.add_column("contagem própria", justify="right")
    for reason, (closed, counted) in comparison.excluded.items():
        table.add_row(ExclusionReason(reason).sentence, thousands(closed), thousands(counted))
    return table


def say_address(console: Console, stage: Stage, token: str) -> None:
    """Where the running back office is, and how to talk to it."""
    console.print(f"\nA retaguarda continua no ar: {stage.backoffice_url}  (documentação da API: /docs)")
    console.print(f"O validador: {stage.validator_url}")
    console.print("Perfil do Órgão Gestor, só desta demonstração:")
    console.print(f"  Authorization: Bearer {token}", soft_wrap=True)
    console.print("Ctrl-C encerra tudo.")
