"""`catraca journal`: what is missing of a device's journal, and the declaration that it is lost."""

from pathlib import Path

import pytest

from backoffice.adapters.journal_stream import StreamItem
from backoffice.application.ingest_write import JournalWriter
from backoffice.cli import main
from tests.backoffice.journal_play import boarding
from tests.backoffice.register_city import make_city
from validator.records.journal import pack_entry


def test_a_gap_is_shown_and_declared_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'city.sqlite'}"
    city = make_city(url, tmp_path)
    items = [StreamItem(0, f"{n}-0", pack_entry(boarding("v-1", n)), n, 1) for n in (1, 2, 5)]
    JournalWriter(city.engine).write(items, {}, {})
    city.engine.dispose()
    monkeypatch.setenv("CATRACA_DATABASE_URL", url)
    monkeypatch.setenv("CATRACA_DATA_DIR", str(tmp_path))

    def catraca(*arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["catraca", *arguments])
        try:
            main()
        except SystemExit:
            pass
        said = capsys.readouterr()
        return said.out + said.err

    assert "falta: 3-4" in catraca("journal", "status", "--as", "auditor")
    assert "erro" in catraca("journal", "lost", "v-1", "1", "3", "4", "--as", "clerk")
    assert "2 sequências" in catraca("journal", "lost", "v-1", "1", "1", "4", "--as", "city")
    assert "falta: nada" in catraca("journal", "status", "--as", "auditor")
    assert "erro: intervalo" in catraca("journal", "lost", "v-1", "1", "9", "4", "--as", "city")
