"""Claims as files: CSV as Brazilian spreadsheets read it, and the annex of boardings that a claim's hash covers.

`;` between cells, decimal comma, dd/mm/aaaa, UTF-8 with byte order mark, CRLF. A text that a spreadsheet would take for
a formula is led by an apostrophe; numbers are left alone. No `sep=` line, which would disable the byte order mark.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from backoffice.domain.amounts_in_words import decimal_comma, figures
from validator.domain.money import Cents
from validator.domain.service_time import SAO_PAULO

BOM = b"\xef\xbb\xbf"
_DANGEROUS = ("=", "+", "-", "@", "\t", "\r")

Row = list[str]

ANNEX_HEADER = (
    "embarque",
    "data",
    "hora",
    "linha",
    "veículo",
    "validador",
    "época",
    "sequência",
    "classe",
    "passageiro",
    "tarifa",
    "pago pelo passageiro",
    "reembolso",
    "a cargo da operadora",
    "situação",
    "motivo",
)
SITUATIONS = {"billable": "faturado", "excluded": "excluído"}


class AnnexRide(NamedTuple):
    """One boarding of the annex: billed, or excluded with a reason.

    It shows the class that the device saw and never the category, which may tell of a rider's health (LGPD, art. 11).
    `rider` numbers the riders of this claim in the order of their first boarding, so that it links no two claims.
    """

    boarding_id: str
    dated_at: datetime
    line: str | None
    vehicle: str | None
    device: str
    epoch: int
    seq: int
    fare_cents: Cents
    rider_cents: Cents
    city_cents: Cents
    operator_cents: Cents
    verdict: str
    ride_class: str
    rider: int | None
    reason: str


@lru_cache(maxsize=4_096)
def text_cell(value: str) -> str:
    """A text that no spreadsheet takes for a formula, on one line."""
    flat = " ".join(value.split()) if any(mark in value for mark in "\r\n\t") else value
    return f"'{flat}" if value.startswith(_DANGEROUS) or flat.startswith(_DANGEROUS) else flat


def day_cell(instant: datetime) -> str:
    """The civil day of an instant: dd/mm/aaaa."""
    return instant.astimezone(SAO_PAULO).strftime("%d/%m/%Y")


def time_cell(instant: datetime) -> str:
    """The time of day of an instant in the city, to the microsecond where it has any."""
    return instant.astimezone(SAO_PAULO).time().isoformat()


def csv_bytes(rows: Iterable[Row]) -> Iterator[bytes]:
    """Rows as bytes of a CSV file, its byte order mark first."""
    yield BOM
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=";", lineterminator="\r\n", quoting=csv.QUOTE_MINIMAL)
    for number, row in enumerate(rows, start=1):
        writer.writerow(row)
        if number % 1_000 == 0:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


def annex_bytes(rides: Iterable[AnnexRide]) -> Iterator[bytes]:
    """The annex of a claim as bytes."""
    return csv_bytes(_annex_rows(rides))


def _annex_rows(rides: Iterable[AnnexRide]) -> Iterator[Row]:
    yield list(ANNEX_HEADER)
    money = lru_cache(maxsize=4_096)(decimal_comma)
    for ride in rides:
        here = ride.dated_at.astimezone(SAO_PAULO)
        yield [
            ride.boarding_id,
            f"{here.day:02}/{here.month:02}/{here.year:04}",
            here.time().isoformat(),
            text_cell(ride.line or ""),
            text_cell(ride.vehicle or ""),
            text_cell(ride.device),
            str(ride.epoch),
            str(ride.seq),
            ride.ride_class,
            "" if ride.rider is None else str(ride.rider),
            money(ride.fare_cents),
            money(ride.rider_cents),
            money(ride.city_cents),
            money(ride.operator_cents),
            SITUATIONS[ride.verdict],
            text_cell(ride.reason),
        ]


@dataclass(frozen=True, slots=True)
class AnnexDigest:
    """Length and SHA-256 of an annex."""

    rows: int
    sha256: str


def annex_digest(rides: Iterable[AnnexRide]) -> AnnexDigest:
    """Length and hash of an annex, without holding it."""
    count = 0

    def counted() -> Iterator[AnnexRide]:
        nonlocal count
        for ride in rides:
            count += 1
            yield ride

    digest = hashlib.sha256()
    for chunk in annex_bytes(counted()):
        digest.update(chunk)
    return AnnexDigest(count, digest.hexdigest())


def claim_csv(document: Mapping[str, Any]) -> bytes:
    """A claim's document as CSV: heading, lines, subtotals, adjustments, totals and what stands beside them."""
    return b"".join(csv_bytes(_claim_rows(document)))


def _claim_rows(document: Mapping[str, Any]) -> Iterator[Row]:
    yield from _heading(document)
    yield from _lines(document)
    yield from _totals(document)
    yield from _beside(document)


def _heading(document: Mapping[str, Any]) -> Iterator[Row]:
    operator, month = document["operator"], document["month"]
    closed = datetime.fromisoformat(document["closed_at"])
    yield ["FATURA DE REEMBOLSO", document["number"]]
    yield ["Espécie", "principal" if document["kind"] == "MAIN" else f"complementar {document['part'] - 1}"]
    yield ["Competência", f"{month[5:]}/{month[:4]}"]
    yield ["Operadora", text_cell(operator["name"])]
    yield ["Código da operadora", operator["code"]]
    yield ["CNPJ ou CPF", masked(operator["document"])]
    yield ["Destinatário", document["addressee"]]
    yield ["Fechada em", f"{day_cell(closed)} {time_cell(closed)}"]
    yield ["Fechada por", text_cell(document["closed_by"])]
    yield ["Versão das regras", document["rules_version"]]
    yield ["SHA-256 das tarifas", document["fares_sha256"]]
    yield ["Base do reembolso", document["basis"]]


def _lines(document: Mapping[str, Any]) -> Iterator[Row]:
    yield []
    yield ["LINHAS DA FATURA"]
    yield [
        "categoria",
        "descrição",
        "linha",
        "nome da linha",
        "quantidade",
        "tarifa",
        "pago pelo passageiro",
        "reembolso unitário",
        "a cargo da operadora",
        "total",
        "base legal",
        "situação",
        "regra",
    ]
    for line in document["lines"]:
        yield [
            line["category"],
            line["label"],
            text_cell(line["line"]),
            text_cell(line["line_name"]),
            str(line["quantity"]),
            decimal_comma(line["fare_cents"]),
            decimal_comma(line["rider_cents"]),
            decimal_comma(line["city_cents"]),
            decimal_comma(line["operator_cents"]),
            decimal_comma(line["total_cents"]),
            line["basis"],
            STATUS_WORDS[line["status"]],
            line["rule"],
        ]


STATUS_WORDS = {"firm": "firme", "disputed": "controvertida", "none": "sem reembolso"}


def _totals(document: Mapping[str, Any]) -> Iterator[Row]:
    totals = document["totals"]
    yield []
    yield ["SUBTOTAIS POR CATEGORIA"]
    yield [
        "categoria",
        "descrição",
        "quantidade",
        "pago pelo passageiro",
        "reembolso",
        "base legal",
        "situação",
    ]
    for row in document["subtotals"]:
        yield [
            row["category"],
            row["label"],
            str(row["quantity"]),
            decimal_comma(row["rider_cents"]),
            decimal_comma(row["total_cents"]),
            row["basis"],
            row["status_note"],
        ]
    yield []
    yield ["AJUSTES DE COMPETÊNCIAS ANTERIORES"]
    yield ["fatura", "competência", "espécie", "motivo", "quantidade", "valor"]
    for row in document["adjustments"]:
        month = f"{row['month'][5:]}/{row['month'][:4]}"
        cents = decimal_comma(row["cents"])
        yield [row["claim"], month, row["kind"], text_cell(row["reason"]), str(row["quantity"]), cents]
    yield []
    yield ["TOTAIS"]
    yield ["Embarques faturados", str(totals["rides"])]
    yield ["Total das linhas", decimal_comma(totals["lines_cents"])]
    yield ["Total dos ajustes", decimal_comma(totals["adjustments_cents"])]
    yield ["Total da fatura", decimal_comma(totals["total_cents"])]
    yield ["Total em algarismos", text_cell(figures(totals["total_cents"]))]
    yield ["Total por extenso", totals["total_words"]]


def _beside(document: Mapping[str, Any]) -> Iterator[Row]:
    yield []
    yield ["EMBARQUES SEM REEMBOLSO (ESTATÍSTICA)"]
    yield ["categoria", "descrição", "quantidade"]
    yield from ([row["category"], row["label"], str(row["quantity"])] for row in document["statistical"])
    yield []
    yield ["EMBARQUES EXCLUÍDOS"]
    yield ["motivo", "descrição", "quantidade"]
    yield from ([row["reason"], row["sentence"], str(row["quantity"])] for row in document["excluded"])
    yield []
    yield ["CATRACA"]
    yield ["linha", "com giro", "sem giro"]
    for row in document["turnstile"]:
        yield [text_cell(row["line"]), str(row["turned"]), str(row["not_turned"])]
    yield []
    yield ["DIÁRIOS DOS VALIDADORES"]
    yield [
        "validador",
        "época",
        "embarques",
        "última sequência",
        "coberto até",
        "faltam",
        "perdidas",
        "fim conhecido",
    ]
    for row in document["completeness"]:
        numbers = (
            row["epoch"],
            row["rides"],
            row["top_seq"],
            row["covered_seq"],
            row["missing_count"],
            row["lost"],
        )
        yield [text_cell(row["device"]), *map(str, numbers), "sim" if row["tail_known"] else "não"]
    yield []
    yield ["AVISOS"]
    yield from ([text_cell(warning)] for warning in document["warnings"])
    yield []
    yield ["ANEXO"]
    yield ["Primeiro embarque faturado", _moment(document["events"]["first_at"])]
    yield ["Último embarque faturado", _moment(document["events"]["last_at"])]
    yield ["Registros no anexo", str(document["annex"]["rows"])]
    yield ["SHA-256 do anexo", document["annex"]["sha256"]]
    yield []
    yield ["ASSINATURAS"]
    yield from ([name, ""] for name in document["signatures"])


def _moment(text: str | None) -> str:
    if text is None:
        return ""
    instant = datetime.fromisoformat(text)
    return f"{day_cell(instant)} {time_cell(instant)}"


def masked(document: str | None) -> str:
    """A CNPJ (letters allowed) or CPF with its mask, which keeps leading zeros in a spreadsheet."""
    if document is None:
        return "não cadastrado"
    if len(document) == 14:
        return f"{document[:2]}.{document[2:5]}.{document[5:8]}/{document[8:12]}-{document[12:]}"
    return f"{document[:3]}.{document[3:6]}.{document[6:9]}-{document[9:]}"


def write_file(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
