"""Claims as files: what a spreadsheet in Brazil reads, and what never leaves in one."""

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from backoffice.adapters.claim_files import AnnexRide, annex_bytes, annex_digest, csv_bytes, masked, text_cell
from backoffice.application.errors import Conflict, NotFound
from backoffice.application.export_claim import ClaimFiles, export_claims
from backoffice.application.staff import as_claim_reader
from backoffice.domain.amounts_in_words import LARGEST, decimal_comma, figures, in_words
from backoffice.persistence.base import reading, writing
from backoffice.persistence.claims import ClaimRow, RatedRow
from tests.backoffice.claims_city import ClaimsCity, at, make_claims_city
from tests.backoffice.claims_month import MARCH, a_month, close, closer
from validator.domain.money import Cents
from validator.domain.service_time import Month


@pytest.fixture
def city(sqlite_url: str) -> Iterator[ClaimsCity]:
    made = make_claims_city(sqlite_url)
    a_month(made)
    made.store()
    yield made
    made.engine.dispose()


def exported(city: ClaimsCity, folder: Path) -> dict[str, ClaimFiles]:
    close(city)
    return {
        files.number: files
        for files in export_claims(city.engine, as_claim_reader(closer(city)), MARCH, folder)
    }


def rows_of(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""), delimiter=";"))


def test_a_csv_is_one_that_a_brazilian_spreadsheet_reads(city: ClaimsCity, tmp_path: Path) -> None:
    raw = exported(city, tmp_path)["azul-2026-0001"].csv.read_bytes()

    assert raw.startswith(b"\xef\xbb\xbfFATURA DE REEMBOLSO;azul-2026-0001\r\n")
    assert not re.search(rb"(?<!\r)\n", raw)
    assert b"sep=" not in raw
    assert b"SPECIAL_ED;Aluno de ensino especial;901;Linha 901;5;7,00;0,00;7,00;0,00;35,00;" in raw
    assert "Total por extenso;cento e setenta reais" in raw.decode("utf-8-sig")


def test_a_name_that_looks_like_a_formula_is_text(city: ClaimsCity, tmp_path: Path) -> None:
    rows = rows_of(exported(city, tmp_path)["verde-2026-0001"].csv)

    assert ["Operadora", """'=São João; "Verde\""""] in rows
    assert ["CNPJ ou CPF", "22.ABC.345/01DE-35"] in rows


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ('=HYPERLINK("http://x")', """'=HYPERLINK("http://x")"""),
        ("+55 46", "'+55 46"),
        ("-1", "'-1"),
        ("@x", "'@x"),
        ("\tx", "'x"),
        ("\r=x", "'=x"),
        ("linha\n101", "linha 101"),
        ("São João", "São João"),
        ("12-A", "12-A"),
    ],
)
def test_text_cells_are_safe(text: str, cell: str) -> None:
    assert text_cell(text) == cell


def test_negative_amounts_stay_numbers() -> None:
    assert decimal_comma(Cents(-225)) == "-2,25"
    assert decimal_comma(Cents(-5)) == "-0,05"


def test_the_annex_has_the_hash_of_the_claim_and_its_rows_sum_to_the_total(
    city: ClaimsCity, tmp_path: Path
) -> None:
    for files in exported(city, tmp_path).values():
        document = json.loads(files.json.read_bytes())
        header, *rows = rows_of(files.annex)
        billed = [row for row in rows if row[header.index("situação")] == "faturado"]
        sums = sum(int(row[header.index("reembolso")].replace(",", "")) for row in billed)

        assert hashlib.sha256(files.annex.read_bytes()).hexdigest() == document["annex"]["sha256"]
        assert (len(rows), len(billed)) == (document["annex"]["rows"], document["totals"]["rides"])
        assert sums == document["totals"]["total_cents"]
        assert files.annex.name == document["annex"]["file"]


def test_files_are_written_again_with_the_same_bytes(city: ClaimsCity, tmp_path: Path) -> None:
    first = exported(city, tmp_path / "a")
    city.tap(at("2026-03-31 07:00"), holder=None, medium="cash", category="FULL", ride_class="FULL")
    city.store()

    second = exported(city, tmp_path / "b")

    for number, files in first.items():
        for one, other in zip(
            (files.csv, files.json, files.annex),
            (second[number].csv, second[number].json, second[number].annex),
            strict=True,
        ):
            assert one.read_bytes() == other.read_bytes()
    assert not list((tmp_path / "b").glob("*.part"))


def test_json_is_canonical(city: ClaimsCity, tmp_path: Path) -> None:
    text = exported(city, tmp_path)["verde-2026-0001"].json.read_text(encoding="utf-8")

    assert text.endswith("}\n")
    assert text == json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False, indent=1) + "\n"
    assert '"name": "=São João;' in text


def test_no_personal_data_and_no_pseudonym_leaves_in_a_claim(city: ClaimsCity, tmp_path: Path) -> None:
    found = exported(city, tmp_path)
    with reading(city.engine) as session:
        hot_ids = {row.holder for row in session.query(RatedRow.holder) if row.holder}

    for files in found.values():
        for path in (files.csv, files.json, files.annex):
            text = path.read_text(encoding="utf-8-sig")
            assert not any(hot_id in text for hot_id in hot_ids)


def test_the_annex_never_says_which_rider_is_in_special_education(city: ClaimsCity, tmp_path: Path) -> None:
    files = exported(city, tmp_path)["azul-2026-0001"]

    header, *rows = rows_of(files.annex)

    assert "SPECIAL" not in files.annex.read_text(encoding="utf-8-sig")
    assert {row[header.index("classe")] for row in rows} == {"meia", "gratuita"}


def test_riders_are_numbered_by_claim(city: ClaimsCity, tmp_path: Path) -> None:
    found = exported(city, tmp_path)

    for files in found.values():
        header, *rows = rows_of(files.annex)
        numbers = [int(row[header.index("passageiro")]) for row in rows]
        assert sorted(set(numbers)) == list(range(1, max(numbers) + 1))
        assert list(dict.fromkeys(numbers)) == sorted(set(numbers))


def test_only_the_operator_asked_for_is_written(city: ClaimsCity, tmp_path: Path) -> None:
    close(city)

    files = export_claims(city.engine, as_claim_reader(closer(city)), MARCH, tmp_path, operator="verde")

    assert [one.number for one in files] == ["verde-2026-0001"]
    with pytest.raises(NotFound, match="não há fatura da operadora roxa"):
        export_claims(city.engine, as_claim_reader(closer(city)), MARCH, tmp_path, operator="roxa")
    with pytest.raises(NotFound, match="feche-a primeiro"):
        export_claims(city.engine, as_claim_reader(closer(city)), Month("2026-02"), tmp_path)


def test_boardings_that_were_altered_after_the_closing_are_not_exported(
    city: ClaimsCity, tmp_path: Path
) -> None:
    close(city)
    with writing(city.engine) as session:
        session.execute(update(RatedRow).where(RatedRow.line == "202").values(line="203"))

    with pytest.raises(Conflict, match="SHA-256 diferente"):
        export_claims(city.engine, as_claim_reader(closer(city)), MARCH, tmp_path, operator="verde")

    assert list(tmp_path.glob("*anexo*")) == []
    with reading(city.engine) as session:
        assert session.get(ClaimRow, 1) is not None


def test_an_empty_annex_has_its_header() -> None:
    assert b"".join(annex_bytes([])).startswith(b"\xef\xbb\xbfembarque;data;hora;")
    assert annex_digest([]).rows == 0


def test_a_long_annex_is_written_in_pieces() -> None:
    ride = AnnexRide(
        boarding_id="b",
        dated_at=at("2026-03-02 07:15:02.123"),
        line="101",
        vehicle="1201",
        device="d",
        epoch=1,
        seq=1,
        fare_cents=Cents(450),
        rider_cents=Cents(225),
        city_cents=Cents(225),
        operator_cents=Cents(0),
        ride_class="meia",
        rider=1,
        verdict="billable",
        reason="",
    )

    pieces = list(annex_bytes([ride] * 2_500))

    assert len(pieces) == 4
    assert (
        b"b;02/03/2026;07:15:02.123000;101;1201;d;1;1;meia;1;4,50;2,25;2,25;0,00;faturado;\r\n" in pieces[1]
    )


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), min_size=1, max_size=4))
def test_any_text_comes_back_from_a_csv_on_one_line_and_is_no_formula(texts: list[str]) -> None:
    cells = [text_cell(text) for text in texts]

    raw = b"".join(csv_bytes([cells])).decode("utf-8-sig")

    assert list(csv.reader(io.StringIO(raw, newline=""), delimiter=";", strict=True)) == [cells]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)
    assert not any("\n" in cell or "\r" in cell for cell in cells)


@pytest.mark.parametrize(
    ("document", "printed"),
    [
        ("12ABC34501DE35", "12.ABC.345/01DE-35"),
        ("00000000191", "000.000.001-91"),
        (None, "não cadastrado"),
    ],
)
def test_documents_keep_their_mask(document: str | None, printed: str) -> None:
    assert masked(document) == printed


@pytest.mark.parametrize(
    ("cents", "words"),
    [
        (0, "zero reais"),
        (1, "um centavo"),
        (100, "um real"),
        (199, "um real e noventa e nove centavos"),
        (1_600, "dezesseis reais"),
        (2_100, "vinte e um reais"),
        (10_000, "cem reais"),
        (10_101, "cento e um reais e um centavo"),
        (100_000, "mil reais"),
        (100_100, "mil e um reais"),
        (110_000, "mil e cem reais"),
        (110_100, "mil cento e um reais"),
        (123_456, "mil duzentos e trinta e quatro reais e cinquenta e seis centavos"),
        (200_000, "dois mil reais"),
        (100_000_000, "um milhão de reais"),
        (100_000_001, "um milhão de reais e um centavo"),
        (100_100_000, "um milhão e mil reais"),
        (123_456_700, "um milhão duzentos e trinta e quatro mil quinhentos e sessenta e sete reais"),
        (200_000_000_000, "dois bilhões de reais"),
        (-225, "menos dois reais e vinte e cinco centavos"),
    ],
)  # fmt: skip
def test_amounts_in_words(cents: int, words: str) -> None:
    assert in_words(Cents(cents)) == words


def test_amounts_in_figures() -> None:
    assert [figures(Cents(cents)) for cents in (0, 5, 123_456, 123_456_789, -225)] == [
        "R$ 0,00",
        "R$ 0,05",
        "R$ 1.234,56",
        "R$ 1.234.567,89",
        "-R$ 2,25",
    ]


@given(st.integers(0, LARGEST))
def test_every_amount_has_words(cents: int) -> None:
    words = in_words(Cents(cents))

    assert words == words.strip()
    assert "  " not in words
    assert words.endswith(("reais", "real", "centavo", "centavos"))


def test_beyond_a_trillion_there_are_no_words() -> None:
    with pytest.raises(ValueError, match="no words"):
        in_words(Cents(LARGEST + 1))
