"""The claim as it is printed: one mapping, made once at the closing, and the canonical JSON that is kept of it.

Files are written from these bytes, so that a closed claim reads the same for ever. It holds no personal data.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from backoffice.application.month_completeness import JournalState
from backoffice.domain.amounts_in_words import in_words
from backoffice.domain.claims import (
    LABELS,
    Adjustment,
    ClaimLine,
    ClaimTally,
    Subtotal,
    groups_in_order,
    label_of,
    printed_number,
    subtotals,
)
from backoffice.domain.exclusions import ExclusionReason
from validator.domain.money import Cents
from validator.domain.rules import RuleRow, Status
from validator.domain.service_time import SAO_PAULO, Month

FORMAT = "catraca-claim-1"
"""Name of this form; fields are only added."""

ADDRESSEE = "Prefeitura Municipal – Órgão Gestor do transporte coletivo (Lei 1.055/91, art. 65)"
BASIS = (
    "Reembolso por embarque realizado e registrado em diário assinado do validador. Meia passagem: tarifa de face do "
    "passe usado menos o preço pago por ele. Gratuidade reembolsada: tarifa do dia."
)
STATUS_NOTES = {
    Status.FIRM: "base legal firme",
    Status.DISPUTED: "base legal controvertida (ver docs/law.md)",
    Status.NONE: "sem reembolso",
}
SIGNATURES = ("Operadora", "Fiscal do contrato", "Órgão Gestor")


@dataclass(frozen=True, slots=True)
class ClaimHeading:
    """What stands at the top of a claim.

    Attributes:
        operator: Code of the operator.
        name: Its name at the closing.
        document: Its CNPJ or CPF, None where nobody has registered it.
        year, number: Its number.
        month: The month (competência).
        part: 1 for the month's own claim.
        closed_at, closed_by: The closing.
        rules_version, fares_sha256: Versions of the law and of the fares.
    """

    operator: str
    name: str
    document: str | None
    year: int
    number: int
    month: Month
    part: int
    closed_at: datetime
    closed_by: str
    rules_version: str
    fares_sha256: str

    @property
    def printed(self) -> str:
        """The number as printed."""
        return printed_number(self.operator, self.year, self.number)


def claim_document(
    heading: ClaimHeading,
    tally: ClaimTally,
    *,
    line_names: Mapping[str, str],
    journals: Iterable[JournalState],
    adjustments: list[Adjustment],
    annex: Mapping[str, Any],
) -> dict[str, Any]:
    """The whole claim as a mapping of plain values; amounts in centavos, instants in the city's time."""
    lines = tally.lines()
    journals = list(journals)
    adjusted = Cents(sum(adjustment.cents for adjustment in adjustments))
    total = Cents(tally.city_cents + adjusted)
    return {
        "format": FORMAT,
        "number": heading.printed,
        "kind": "MAIN" if heading.part == 1 else "COMPLEMENTARY",
        "part": heading.part,
        "month": heading.month,
        "operator": {"code": heading.operator, "name": heading.name, "document": heading.document},
        "addressee": ADDRESSEE,
        "closed_at": local(heading.closed_at),
        "closed_by": heading.closed_by,
        "rules_version": heading.rules_version,
        "fares_sha256": heading.fares_sha256,
        "basis": BASIS,
        "lines": [_line(line, line_names) for line in lines],
        "subtotals": [_subtotal(subtotal) for subtotal in subtotals(lines)],
        "adjustments": [_adjustment(adjustment) for adjustment in adjustments],
        "totals": {
            "rides": tally.billed,
            "rider_cents": sum(line.quantity * line.rider_cents for line in lines),
            "lines_cents": tally.city_cents,
            "adjustments_cents": adjusted,
            "total_cents": total,
            "total_words": in_words(total),
        },
        "events": {
            "first_at": None if tally.first_at is None else local(tally.first_at),
            "last_at": None if tally.last_at is None else local(tally.last_at),
        },
        "statistical": _statistical(tally),
        "excluded": _excluded(tally),
        "turnstile": [
            {"line": line, "turned": turns.turned, "not_turned": turns.not_turned}
            for line, turns in sorted(tally.turns.items())
        ],
        "completeness": [_journal(state) for state in journals],
        "warnings": _warnings(tally, journals),
        "annex": dict(annex),
        "signatures": list(SIGNATURES),
    }


def canonical(document: Mapping[str, Any]) -> str:
    """A mapping as the one JSON text that it has: keys sorted, newline at the end."""
    return json.dumps(document, ensure_ascii=False, sort_keys=True, indent=1) + "\n"


def local(instant: datetime) -> str:
    """An instant in the city's time, ISO 8601 with offset."""
    return instant.astimezone(SAO_PAULO).isoformat()


def legal_basis(rule: RuleRow) -> str:
    """The articles of a rule, with the law that amended them."""
    return rule.article if rule.amended_by is None else f"{rule.article} (redação: {rule.amended_by})"


def _line(line: ClaimLine, names: Mapping[str, str]) -> dict[str, Any]:
    rule = line.rule
    return {
        "category": rule.category.value,
        "label": LABELS[rule.category.value],
        "rule": rule.id,
        "basis": legal_basis(rule),
        "status": rule.status.value,
        "line": line.line,
        "line_name": names.get(line.line, ""),
        "quantity": line.quantity,
        "fare_cents": line.fare_cents,
        "rider_cents": line.rider_cents,
        "operator_cents": line.operator_cents,
        "city_cents": line.city_cents,
        "total_cents": line.total_cents,
    }


def _subtotal(subtotal: Subtotal) -> dict[str, Any]:
    rule = subtotal.rule
    return {
        "category": rule.category.value,
        "label": LABELS[rule.category.value],
        "rule": rule.id,
        "basis": legal_basis(rule),
        "status": rule.status.value,
        "status_note": STATUS_NOTES[rule.status],
        "quantity": subtotal.quantity,
        "rider_cents": subtotal.rider_cents,
        "total_cents": subtotal.city_cents,
    }


def _adjustment(adjustment: Adjustment) -> dict[str, Any]:
    return {
        "claim": adjustment.claim,
        "month": adjustment.month,
        "kind": adjustment.kind,
        "reason": adjustment.reason,
        "quantity": adjustment.quantity,
        "cents": adjustment.cents,
    }


def _statistical(tally: ClaimTally) -> list[dict[str, Any]]:
    return [
        {"category": name, "label": label_of(name), "quantity": tally.statistical[name]}
        for name in groups_in_order(tally.statistical)
        if tally.statistical[name]
    ]


def _excluded(tally: ClaimTally) -> list[dict[str, Any]]:
    return [
        {
            "reason": reason.value,
            "sentence": reason.sentence,
            "quantity": tally.excluded[reason],
            "may_be_settled": reason.may_be_settled,
        }
        for reason in ExclusionReason
        if tally.excluded[reason]
    ]


def _journal(state: JournalState) -> dict[str, Any]:
    return {
        "device": state.device,
        "epoch": state.epoch,
        "rides": state.rides,
        "top_seq": state.top_seq,
        "covered_seq": state.covered_seq,
        "missing": [list(pair) for pair in state.missing],
        "missing_count": state.missing_count,
        "lost": state.lost,
        "forks": state.forks,
        "tail_known": state.tail_known,
        "chain_broken": state.chain_broken,
    }


def _warnings(tally: ClaimTally, journals: Iterable[JournalState]) -> list[str]:
    waiting = [
        f"fora da fatura: {tally.excluded[reason]} × {reason.value} ({reason.sentence})"
        for reason in ExclusionReason
        if reason.may_be_settled and tally.excluded[reason]
    ]
    return waiting + [warning for state in journals for warning in state.warnings()]
