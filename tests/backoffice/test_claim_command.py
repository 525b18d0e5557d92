"""`catraca claim`: what a clerk types, sees and gets."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from typer.testing import CliRunner

from backoffice.application.errors import Invalid, NotFound
from backoffice.cli import claims
from backoffice.persistence.base import make_engine, writing
from backoffice.persistence.migrate import migrate
from backoffice.persistence.tables import all_tables
from tests.backoffice.claims_city import ClaimsCity, at, fill_claims_city
from tests.backoffice.claims_month import a_month

CLOSE = ["claim", "close", "2026-03", "--at", "2026-04-03T09:00:00-03:00"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("CATRACA_DATA_DIR", str(data))
    monkeypatch.setenv("CATRACA_AS", "clerk")
    for name in ("CATRACA_DATABASE_URL", "CATRACA_LAW_FILE", "CATRACA_REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    return data


@pytest.fixture
def city(folder: Path) -> Iterator[ClaimsCity]:
    engine = make_engine(f"sqlite:///{folder / 'catraca.sqlite'}")
    migrate(engine)
    made = fill_claims_city(ClaimsCity(engine))
    a_month(made)
    made.store()
    yield made
    engine.dispose()


def run(*arguments: str) -> str:
    app = typer.Typer()
    claims.add_to(app)
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_closing_shows_each_claim_and_writes_its_files(city: ClaimsCity, folder: Path) -> None:
    shown = run(*CLOSE)

    assert "Fatura azul-2026-0001" in shown
    assert "Total: R$ 170,00 (cento e setenta reais)" in shown
    assert "aviso: fora da fatura: 1 × CLOCK_INVALID" in shown
    assert sorted(path.name for path in (folder / "claims" / "2026-03").iterdir()) == [
        "fatura-azul-2026-0001-anexo.csv",
        "fatura-azul-2026-0001.csv",
        "fatura-azul-2026-0001.json",
        "fatura-verde-2026-0001-anexo.csv",
        "fatura-verde-2026-0001.csv",
        "fatura-verde-2026-0001.json",
    ]


def test_closing_again_says_so_and_changes_no_byte(city: ClaimsCity, tmp_path: Path) -> None:
    run(*CLOSE, "--out", str(tmp_path / "a"))

    shown = run("claim", "close", "2026-03", "--operator", "verde", "--out", str(tmp_path / "b"))

    assert "já estava fechada" in shown
    assert "azul-2026" not in shown
    names = sorted(path.name for path in (tmp_path / "b").iterdir())
    assert len(names) == 3
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in names)


def test_a_complementary_closing_writes_its_own_claim(city: ClaimsCity, tmp_path: Path) -> None:
    run(*CLOSE)
    assert "não há fatura complementar" in run("claim", "close", "2026-03", "--complementary").replace(
        "\n", " "
    )
    received = at("2026-04-04 06:00")
    city.cash(at("2026-03-31 07:00"), offline=True, received=received)
    city.store()

    run("claim", "close", "2026-03", "--complementary", "--at", "2026-04-10T09:00:00-03:00")
    shown = run("claim", "export", "2026-03", "--out", str(tmp_path / "all"))

    assert "fatura-azul-2026-0002.json" in shown
    assert len(list((tmp_path / "all").glob("*.json"))) == 3


@pytest.mark.parametrize("change", ["UPDATE {table} SET {column} = {column}", "DELETE FROM {table}"])
@pytest.mark.parametrize(
    "table",
    [
        "month_closings",
        "rated_boardings",
        "holder_end_states",
        "claims",
        "claim_lines",
        "claim_entries",
        "claim_states",
    ],
)
def test_the_database_never_changes_what_a_closing_wrote(city: ClaimsCity, table: str, change: str) -> None:
    run(*CLOSE)
    column = next(iter(all_tables().tables[table].columns)).name

    with pytest.raises(IntegrityError, match="never changed"), writing(city.engine) as session:
        session.execute(text(change.format(table=table, column=column)))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["2026-3"], "AAAA-MM"),
        (["2026-13"], "AAAA-MM"),
        (["2026-03", "--at", "2199-01-01T00:00:00-03:00"], "ainda não chegou"),
        (["2026-03", "--at", "2026-03-31T23:59:59-03:00"], "ainda não terminou"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(city: ClaimsCity, arguments: list[str], sentence: str) -> None:
    with pytest.raises(Invalid, match=sentence):
        run("claim", "close", *arguments)


def test_an_open_month_has_nothing_to_export(city: ClaimsCity) -> None:
    with pytest.raises(NotFound, match="feche-a primeiro"):
        run("claim", "export", "2026-03")


@pytest.mark.parametrize(
    "instant",
    ["2026-04-03T09:00:00", "amanhã", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "2026-04-31"],
)
def test_an_instant_is_one_of_our_time_with_its_offset(city: ClaimsCity, instant: str) -> None:
    app = typer.Typer()
    claims.add_to(app)

    result = CliRunner().invoke(app, ["claim", "close", "2026-03", "--at", instant])

    assert result.exit_code == 2
    assert "--at" in result.output
