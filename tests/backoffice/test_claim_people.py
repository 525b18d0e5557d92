"""`catraca claim`: who may close and read, and that no month is closed over a journal that SQL has not read."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from sqlalchemy import select
from typer.testing import CliRunner

from backoffice.application.errors import Forbidden, NotBuilt, NotFound
from backoffice.application.journal_behind import JournalBehind
from backoffice.cli import build_app
from backoffice.persistence.base import make_engine, reading
from backoffice.persistence.claims import ClosingRow
from backoffice.persistence.migrate import migrate
from backoffice.persistence.users import AuditRow
from tests.backoffice.claims_city import LONG_AGO, ClaimsCity, at, fill_claims_city
from validator.records.keys import journal_key

CLOSE = ("claim", "close", "2026-03", "--at", "2026-04-03T09:00:00-03:00")


@pytest.fixture
def city(tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClaimsCity]:
    """A city with a ride of each operator, people of every role, and a Redis that answers."""
    monkeypatch.setenv("CATRACA_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("CATRACA_REDIS_URL", redis_url)
    for name in ("CATRACA_DATABASE_URL", "CATRACA_LAW_FILE", "CATRACA_AS"):
        monkeypatch.delenv(name, raising=False)
    engine = make_engine(f"sqlite:///{tmp_path / 'catraca.sqlite'}")
    migrate(engine)
    made = fill_claims_city(ClaimsCity(engine))
    for number, (login, role, more) in enumerate(
        [
            ("azul", "OPERATOR_FINANCE", {"operator_id": 1}),
            ("auditor", "AUDITOR", {}),
            ("admin", "ADMINISTRATOR", {}),
            ("desk", "DESK_MANAGER", {"desk": "centro"}),
        ],
        start=3,
    ):
        made.register("users", **_user(number, login, role), **more)
    student = made.student()
    made.tap(at("2026-03-02 07:00"), holder=student)
    made.tap(at("2026-03-02 09:00"), holder=student, device="d-verde", line="202", vehicle="2201")
    made.store()
    yield made
    engine.dispose()


def _user(number: int, login: str, role: str) -> dict[str, Any]:
    return {
        "id": number,
        "login": login,
        "name": login,
        "role": role,
        "token_sha256": login,
        "valid_from": LONG_AGO,
        "recorded_at": LONG_AGO,
    }


def run(*arguments: str) -> str:
    result = CliRunner().invoke(build_app(), arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def closings(city: ClaimsCity) -> list[str]:
    with reading(city.engine) as session:
        return list(session.scalars(select(ClosingRow.closed_by)))


def logged(city: ClaimsCity) -> list[tuple[int | None, str, str | None]]:
    with reading(city.engine) as session:
        rows = session.scalars(select(AuditRow).order_by(AuditRow.id))
        return [(row.user_id, row.action, row.detail) for row in rows]


def test_closing_is_the_citys_and_is_recorded_with_who_did_it(city: ClaimsCity) -> None:
    run(*CLOSE, "--as", "clerk")

    assert closings(city) == ["clerk"]
    assert logged(city) == [(1, "month.close", "part=1")]


@pytest.mark.parametrize("login", ["azul", "auditor", "admin", "desk"])
def test_nobody_else_closes_a_month(city: ClaimsCity, login: str) -> None:
    with pytest.raises(Forbidden, match=r"cabe a: Órgão Gestor \(CITY\)"):
        run(*CLOSE, "--as", login)

    assert closings(city) == []


def test_closing_asks_who_acts(city: ClaimsCity) -> None:
    with pytest.raises(Forbidden, match="diga quem age"):
        run(*CLOSE)
    with pytest.raises(NotFound, match="não há usuário ninguem"):
        run(*CLOSE, "--as", "ninguem")


def test_an_operator_exports_its_own_claim_only(city: ClaimsCity, tmp_path: Path) -> None:
    run(*CLOSE, "--as", "clerk")

    run("claim", "export", "2026-03", "--as", "azul", "--out", str(tmp_path / "azul"))
    run("claim", "export", "2026-03", "--as", "auditor", "--out", str(tmp_path / "all"))

    assert len(list((tmp_path / "azul").glob("fatura-azul-*.json"))) == 1
    assert list((tmp_path / "azul").glob("*verde*")) == []
    assert len(list((tmp_path / "all").glob("*.json"))) == 2
    with pytest.raises(NotFound):
        run("claim", "export", "2026-03", "--as", "azul", "--operator", "verde")
    with pytest.raises(Forbidden):
        run("claim", "export", "2026-03", "--as", "desk")


def test_the_list_tells_open_months_and_closed_claims(city: ClaimsCity) -> None:
    before = run("claim", "list", "--as", "auditor")
    run(*CLOSE, "--as", "clerk")
    after = run("claim", "list", "--as", "azul")

    assert before.split() == ["2026-03", "aberta", "0", "fechamentos"]
    month, claim = after.splitlines()
    assert month.split() == ["2026-03", "fechada", "1", "fechamento"]
    assert claim.split() == [
        "azul-2026-0001",
        "2026-03",
        "fechada",
        "R$",
        "2,25",
        "03/04/2026",
        "09:00",
        "por",
        "clerk",
    ]


@pytest.mark.parametrize("step", ["send", "attest", "cut", "pay"])
def test_steps_after_the_closing_say_that_they_are_not_there_yet(city: ClaimsCity, step: str) -> None:
    run(*CLOSE, "--as", "clerk")

    with pytest.raises(NotBuilt, match="ainda não se registra aqui"):
        run("claim", step, "azul-2026-0001", "--as", "clerk")
    with pytest.raises(NotFound):
        run("claim", step, "azul-2026-0099", "--as", "clerk")


def test_a_month_is_not_closed_over_a_journal_that_was_not_read(city: ClaimsCity, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        for shard in (3, 3, 40):
            client.xadd(journal_key(shard), {"e": b"x", "n": 1, "g": 1})

    with pytest.raises(JournalBehind, match="3 registros do diário ainda não chegaram"):
        run(*CLOSE, "--as", "clerk", "--wait", "0.3")
    assert closings(city) == []

    shown = run(*CLOSE, "--as", "clerk", "--incomplete")

    assert "3 registros do diário não estão no banco" in shown
    assert (1, "month.close_incomplete", "waiting=3") in logged(city)
    assert closings(city) == ["clerk"]


def test_closing_waits_for_what_was_there_and_not_for_what_comes_meanwhile(
    city: ClaimsCity, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url) as client:
        last = client.xadd(journal_key(7), {"e": b"x", "n": 1, "g": 1})

        def read_late() -> None:
            time.sleep(0.7)
            client.xadd(journal_key(7), {"e": b"later", "n": 2, "g": 1})
            client.xdel(journal_key(7), last)

        reader = threading.Thread(target=read_late)
        reader.start()
        run(*CLOSE, "--as", "clerk", "--wait", "30")
        reader.join()

        assert client.xlen(journal_key(7)) == 1
    assert closings(city) == ["clerk"]


def test_a_month_that_is_closed_is_shown_again_whatever_waits(city: ClaimsCity, redis_url: str) -> None:
    run(*CLOSE, "--as", "clerk")
    with redis.Redis.from_url(redis_url) as client:
        client.xadd(journal_key(7), {"e": b"x", "n": 1, "g": 1})

    assert "já estava fechada" in run(*CLOSE, "--as", "clerk", "--wait", "0")
    with pytest.raises(JournalBehind):
        run(*CLOSE, "--as", "clerk", "--complementary", "--wait", "0")


def test_without_redis_nobody_knows_what_is_missing(
    city: ClaimsCity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATRACA_REDIS_URL", "redis://127.0.0.1:9/0")

    with pytest.raises(JournalBehind, match="o Redis não respondeu"):
        run(*CLOSE, "--as", "clerk")

    assert "não se sabe quantos registros" in run(*CLOSE, "--as", "clerk", "--incomplete")
    assert (1, "month.close_incomplete", "waiting=unknown") in logged(city)
