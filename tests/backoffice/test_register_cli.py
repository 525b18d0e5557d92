"""The command line: a city set up from nothing, and failures said in one line."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from backoffice.cli import main
from validator.records.card_token import CardToken, read_token

Run = Callable[..., str]

CNPJ = "12.ABC.345/01DE-35"
CPF = "529.982.247-25"
KEY = "11" * 32


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `catraca ...` in a data folder of its own; the exit code is asserted, the output returned."""
    monkeypatch.setenv("CATRACA_DATA_DIR", str(tmp_path / "data"))
    for name in ("CATRACA_DATABASE_URL", "CATRACA_REDIS_URL", "CATRACA_AS"):
        monkeypatch.delenv(name, raising=False)

    def catraca(*arguments: str, code: int = 0) -> str:
        monkeypatch.setattr("sys.argv", ["catraca", *arguments])
        ended: str | int | None = 0
        try:
            main()
        except SystemExit as exit_asked:
            ended = exit_asked.code or 0
        said = capsys.readouterr()
        assert ended == code, said.out + said.err
        return said.out + said.err

    return catraca


@pytest.fixture
def city(run: Run) -> Run:
    """A city with staff, an operator, a line, a fare and a school."""
    run("user", "add", "admin", "--name", "Administração", "--role", "ADMINISTRATOR")
    run("user", "add", "gestor", "--name", "Órgão Gestor", "--role", "CITY", "--as", "admin")
    for login, role in (("balcao", "DESK_CLERK"), ("chefe", "DESK_MANAGER")):
        run("user", "add", login, "--name", "Posto", "--role", role, "--desk", "centro", "--as", "admin")
    run("act", "add", "--kind", "DECREE", "--number", "9.001", "--signed-on", "20/12/2025", "--as", "gestor")
    run("operator", "add", "azul", "--name", "Viação Azul", "--document", CNPJ, "--as", "gestor")
    run(
        "line", "add", "101", "--name", "Centro", "--network", "URBAN", "--operator", "azul", "--as", "gestor"
    )
    run("vehicle", "add", "1201", "--operator", "azul", "--plate", "abc-1d23", "--as", "gestor")
    for network, cents in (("URBAN", "455"), ("INTERIOR", "700")):
        run(
            "fare", "add", "--network", network, "--cents", cents, "--first-day", "2026-01-01", "--act", "1",
            "--as", "gestor",
        )  # fmt: skip
    run("school", "add", "Escola Municipal", "--network", "PUBLIC_MUNICIPAL", "--as", "gestor")
    return run


def test_from_nothing_to_a_student_with_card_and_passes(city: Run, tmp_path: Path):
    city("holder", "add", "Estudante", "--birth-date", "2010-05-04", "--guardian-name", "Mãe",
         "--guardian-cpf", CPF, "--as", "balcao")  # fmt: skip
    city("right", "ask", "1", "--category", "STUDENT_50", "--first-day", "2026-02-01", "--school", "1",
         "--seen", "IDENTITY", "--seen", "ADDRESS", "--seen", "ENROLMENT", "--seen", "NEED",
         "--as", "balcao")  # fmt: skip
    assert "STUDENT_50" in city("right", "pending", "--as", "chefe")
    assert "segunda pessoa" not in city("right", "approve", "1", "--as", "chefe")
    city("holder", "enrol", "1", "--school", "1", "--first-day", "2026-02-01", "--last-day", "2027-01-31",
         "--passes-per-day", "2", "--identity-seen", "--address-seen", "--as", "balcao")  # fmt: skip
    card = city("card", "issue", "1", "--as", "balcao")
    sale = city(
        "pass", "sell", "1", "--product", "STUDENT", "--units", "40", "--plan", "MONTH", "--as", "balcao"
    )

    assert re.search(r"^[A-Z2-7]{132}$", card, re.MULTILINE)
    assert "40 passes a 227 centavos, total 90,80" in sale
    assert "WINDOW" not in sale
    full = city(
        "pass",
        "sell",
        "1",
        "--product",
        "STUDENT",
        "--units",
        "11",
        "--plan",
        "MONTH",
        "--as",
        "balcao",
        code=1,
    )
    assert "Hoje ainda cabem 10 passes" in full
    shown = city("holder", "show", "1", "--as", "balcao")
    assert '"STUDENT"' in shown
    assert '"LIVE"' in shown
    key_files = list((tmp_path / "data" / "keys").glob("city-*.key"))
    assert [path.stat().st_mode & 0o777 for path in key_files] == [0o600]


def test_a_key_is_followed_by_another_and_ends_at_the_instant_from_which_others_had_it(city: Run):
    for name in ("Um", "Dois"):
        city("holder", "add", name, "--birth-date", "2010-05-04", "--guardian-name", "Mãe",
             "--guardian-cpf", CPF, "--as", "balcao")  # fmt: skip
    first = token_in(city("card", "issue", "1", "--as", "balcao"))

    assert "chave 2 criada" in city("key", "rotate", "--as", "gestor")
    second = token_in(city("card", "issue", "2", "--as", "balcao"))
    ahead = city("key", "retire", "1", "--until", "2199-01-01T00:00:00-03:00", "--compromised",
                 "--as", "gestor", code=1)  # fmt: skip
    assert "deixa de valer já" in ahead
    assert "chave 1 retirada" in city("key", "retire", "1", "--until", "2026-03-01T08:00:00-03:00",
                                      "--compromised", "--as", "gestor")  # fmt: skip
    assert "já foi retirada" in city("key", "retire", "1", "--as", "gestor", code=1)
    renewed = token_in(
        city("card", "replace", str(first.card_number), "--reason", "chave furtada", "--as", "balcao")
    )

    assert [card.key_id for card in (first, second, renewed)] == [1, 2, 2]
    assert (renewed.card_number, renewed.issue) == (first.card_number, 2)


def token_in(said: str) -> CardToken:
    found = re.search(r"^[A-Z2-7]{132}$", said, re.MULTILINE)
    assert found is not None, said
    return read_token(found[0])


def test_a_chip_is_bound_to_a_card_and_let_go(city: Run):
    city("holder", "add", "Passageira", "--cpf", CPF, "--as", "balcao")
    number = re.search(r"cartão (\d+)", city("card", "issue", "1", "--as", "balcao"))
    assert number is not None
    card = number[1]

    bound = city("card", "uid", card, "04:a2:b3:c4:d5:e6:80", "--as", "balcao")
    taken = city("card", "uid", card, "04A2B3C4D5E680", "--as", "balcao", code=1)
    shown = city("holder", "show", "1", "--as", "balcao")
    gone = city("card", "uid-remove", card, "04A2B3C4D5E680", "--reason", "perdido", "--as", "balcao")

    assert f"chip 04A2B3C4D5E680 vinculado ao cartão {card}, via 1" in bound
    assert f"já está vinculado ao cartão {card}, via 1; desvincule-o antes" in taken
    assert '"04A2B3C4D5E680"' in shown
    assert f"chip desvinculado do cartão {card}" in gone
    assert "04A2B3C4D5E680" not in city("holder", "show", "1", "--as", "balcao")
    assert "8, 14 ou 20 dígitos" in city("card", "uid", card, "04A2", "--as", "balcao", code=1)


def test_a_device_is_enrolled_installed_again_and_revoked(city: Run, tmp_path: Path):
    enrolled = city(
        "device",
        "enrol",
        "v-1",
        "--operator",
        "azul",
        "--vehicle",
        "1201",
        "--public-key",
        KEY,
        "--as",
        "admin",
    )
    again = city("device", "reinstall", "v-1", "--generate", str(tmp_path / "v1.key"), "--as", "admin")
    listed = city("device", "list", "--as", "gestor")
    city("device", "revoke", "v-1", "--reason", "furtado", "--as", "admin")

    assert re.search(r"^v-1\.\S{43}$", enrolled, re.MULTILINE)
    assert "época 2" in again
    assert listed.split() == ["v-1", "azul", "1201", "época", "2", "ativo"]
    assert "revogado" in city("device", "list", "--as", "gestor")
    assert (tmp_path / "v1.key").stat().st_mode & 0o777 == 0o600
    assert "já existe" in city(
        "device",
        "enrol",
        "v-2",
        "--operator",
        "azul",
        "--generate",
        str(tmp_path / "v1.key"),
        "--as",
        "admin",
        code=1,
    )


def test_whoever_registered_a_right_does_not_approve_it(city: Run):
    city("holder", "add", "Professora", "--birth-date", "1980-01-01", "--cpf", CPF, "--as", "chefe")
    city("right", "ask", "1", "--category", "TEACHER", "--first-day", "2026-02-01", "--school", "1",
         "--seen", "IDENTITY", "--seen", "APPOINTMENT", "--as", "chefe")  # fmt: skip

    assert "segunda pessoa" in city("right", "approve", "1", "--as", "chefe", code=1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("holder", "merge", "1", "2"), "ainda não existe"),
        (("pass", "refund", "1", "5"), "ainda não existe"),
        (("act", "list"), "--as LOGIN"),
        (("act", "list", "--as", "nobody"), "ainda não há nenhum usuário"),
        (("law", "check"), "falta o argumento"),
        (("import", "gtfs", "nowhere.zip", "--as", "gestor"), "não existe"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(run: Run, arguments: tuple[str, ...], says: str):
    said = run(*arguments, code=2 if "falta" in says else 1)

    assert says in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("fare add --network URBAN --cents 500 --first-day 2026-01-01 --act 1", "já há tarifa"),
        ("fare add --network URBAN --cents -1 --first-day 2026-05-01 --act 1", "0 a 100000"),
        ("fare add --network URBAN --cents 500 --first-day 2026-05-01 --act 7", "não há ato"),
        (f"operator add Azul! --name X --document {CNPJ}", "minúsculas"),
        (f"operator add verde --name X --document {CNPJ}", "já é do operador azul"),
        ("operator add verde --name X --document 12.ABC.345/01DE-36", "verificadores"),
        ("line add 101 --name X --network URBAN", "já há uma linha 101"),
        ("vehicle add 1 --operator nada", "não há operador nada"),
        ("vehicle add 1 --operator azul --plate 12", "placa"),
        ("school add X --network PRIVATE --inep 123", "8 algarismos"),
        ("school year 1 2026 --days 0", "dias letivos"),
        ("school year 1 2026 --days 200 --extra 10", "exigem um ato"),
        ("user add x --name X --role SCHOOL", "escola"),
        ("vehicle repaired 1201", "não está em pane"),
        ("key retire 9", "não há chave"),
    ],
)
def test_wrong_values_are_refused_with_what_to_do(city: Run, command: str, says: str):
    login = "admin" if command.startswith("user") else "gestor"

    assert says in city(*command.split(), "--as", login, code=1)


@pytest.mark.parametrize(
    "command",
    ["user add x --name X --role DESK_MANAGER --desk centro", "user token admin", "user end admin"],
)
def test_the_city_makes_itself_no_second_person(city: Run, command: str):
    assert "administração (ADMINISTRATOR)" in city(*command.split(), "--as", "gestor", code=1)


def test_a_database_without_our_tables_asks_for_migrate(
    run: Run, monkeypatch: pytest.MonkeyPatch, postgres_url: str
):
    monkeypatch.setenv("CATRACA_DATABASE_URL", postgres_url)

    assert "catraca migrate" in run("act", "list", "--as", "x", code=1)
    assert "tabelas em dia" in run("migrate")
    assert "ainda não há nenhum usuário" in run("act", "list", "--as", "x", code=1)


def test_a_database_that_is_away_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CATRACA_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")

    said = run("act", "list", "--as", "x", code=1)

    assert "banco de dados não respondeu" in said
    assert "Traceback" not in said


def test_the_last_administrator_cannot_be_ended(run: Run):
    run("user", "add", "admin", "--name", "Administração", "--role", "ADMINISTRATOR")
    run("user", "add", "gestor", "--name", "Órgão Gestor", "--role", "CITY", "--as", "admin")

    said = run("user", "end", "admin", "--as", "admin", code=1)

    assert "admin é a última pessoa administradora; cadastre outra antes" in said
    run("user", "add", "outra", "--name", "Outra", "--role", "ADMINISTRATOR", "--as", "admin")
    run("user", "end", "admin", "--as", "admin")
    assert "última pessoa administradora" in run("user", "end", "outra", "--as", "outra", code=1)


def test_the_first_user_is_added_by_nobody(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CATRACA_AS", "admin")
    first = ("user", "add", "admin", "--name", "Administração", "--role", "ADMINISTRATOR")

    said = run(*first, code=1)

    assert "ainda não há nenhum usuário" in said
    assert "sem a variável CATRACA_AS" in said
    monkeypatch.delenv("CATRACA_AS")
    assert "usuário admin cadastrado" in run(*first)
