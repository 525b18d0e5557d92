"""`catraca journal`: what is missing or false of a device's journal, and what a person declares about it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from backoffice.adapters.journal_stream import StreamItem
from backoffice.application.ingest_write import JournalWriter
from backoffice.cli import main
from backoffice.persistence.base import reading
from backoffice.persistence.journal import SignedHeadRow
from backoffice.persistence.users import AuditRow
from tests.backoffice.journal_play import boarding, head
from tests.backoffice.register_city import RegisterCity, make_city
from tests.backoffice.test_ingest_heads import register_device
from validator.records.journal import JournalEntry, pack_entry

Catraca = Callable[..., str]


@pytest.fixture
def city(tmp_path: Path) -> RegisterCity:
    return make_city(f"sqlite:///{tmp_path / 'city.sqlite'}", tmp_path)


@pytest.fixture
def catraca(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Catraca:
    """Runs a command and gives what it says."""
    monkeypatch.setenv("CATRACA_DATABASE_URL", f"sqlite:///{tmp_path / 'city.sqlite'}")
    monkeypatch.setenv("CATRACA_DATA_DIR", str(tmp_path))

    def run(*arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["catraca", *arguments])
        try:
            main()
        except SystemExit:
            pass
        said = capsys.readouterr()
        return said.out + said.err

    return run


def write(city: RegisterCity, entries: dict[int, JournalEntry]) -> None:
    """Ingest entries by the number of their commit."""
    items = [StreamItem(0, f"{n}-0", pack_entry(entry), n, 1) for n, entry in entries.items()]
    JournalWriter(city.engine).write(items, {}, {})


def test_a_gap_is_shown_and_declared_lost(city: RegisterCity, catraca: Catraca) -> None:
    write(city, {n: boarding("v-1", n) for n in (1, 2, 5)})

    assert "falta: 3-4" in catraca("journal", "status", "--as", "auditor")
    assert "erro" in catraca("journal", "lost", "v-1", "1", "3", "4", "--as", "clerk")
    assert "2 sequências" in catraca("journal", "lost", "v-1", "1", "1", "4", "--as", "city")
    assert "falta: nada" in catraca("journal", "status", "--as", "auditor")
    assert "erro: intervalo" in catraca("journal", "lost", "v-1", "1", "9", "4", "--as", "city")


def test_a_false_head_is_settled_once_a_true_one_covers_it(city: RegisterCity, catraca: Catraca) -> None:
    register_device(city.engine, "v-1")
    taps = [boarding("v-1", seq) for seq in (1, 2, 3)]
    digests = [tap.digest for tap in taps]
    false = head("v-1", [digests[0], b"\x00" * 32])
    settle = ("journal", "settle", "v-1", "1")
    write(city, dict(enumerate(taps, start=1)))

    assert "não está quebrada" in catraca(*settle, "teste", "--as", "city")
    write(city, {4: false})
    assert "CADEIA QUEBRADA" in catraca("journal", "status", "--as", "auditor")
    assert "o fecho falso vai até a sequência 2" in catraca(*settle, "defeito de memória", "--as", "city")
    write(city, {5: head("v-1", digests)})
    assert "erro" in catraca(*settle, "defeito de memória", "--as", "clerk")
    assert "erro: motivo" in catraca(*settle, " ", "--as", "city")
    assert "CADEIA QUEBRADA" in catraca("journal", "status", "--as", "auditor")

    assert "1 fecho falso resolvido" in catraca(*settle, "defeito de memória", "--as", "city")

    assert "CADEIA QUEBRADA" not in catraca("journal", "status", "--as", "auditor")
    with reading(city.engine) as session:
        verdicts = session.execute(select(SignedHeadRow.seq, SignedHeadRow.verdict)).all()
        said = session.scalars(select(AuditRow.detail).where(AuditRow.action == "journal.settle")).all()
    assert dict(map(tuple, verdicts)) == {2: "SETTLED", 3: "VALID"}
    assert said == ["epoch=1 heads=2 defeito de memória"]
    write(city, {6: head("v-1", [b"\x01" * 32, digests[1]])})
    assert "CADEIA QUEBRADA" in catraca("journal", "status", "--as", "auditor")
