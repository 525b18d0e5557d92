"""CPF and CNPJ vectors of other libraries: where all agree, so do we."""

import csv
from pathlib import Path

import pytest

from backoffice.adapters.documents import DocumentError, read_cnpj, read_cpf

pytestmark = pytest.mark.outside

READERS = {"cpf": read_cpf, "cnpj": read_cnpj}


def is_read(kind: str, text: str) -> bool:
    try:
        READERS[kind](text)
    except DocumentError:
        return False
    return True


def test_every_vector_with_a_verdict_is_judged_the_same(outside_data: Path):
    path = outside_data / "data" / "documents" / "cpf_cnpj_vectors.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["expected_valid"]]

    wrong = [row for row in rows if is_read(row["kind"], row["input"]) != (row["expected_valid"] == "1")]

    assert len(rows) > 50
    assert wrong == []
