"""Our own database holds names and CPFs: its files are their owner's alone, whatever the folder is."""

import os
from pathlib import Path

import pytest

from backoffice.bootstrap import build
from backoffice.cli import main
from backoffice.settings import Settings


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.glob("catraca.sqlite*")}


def test_a_database_in_a_folder_of_everybody_is_its_owners_alone(tmp_path: Path):
    tmp_path.chmod(0o755)
    before = os.umask(0o022)
    try:
        office = build(Settings(data_dir=tmp_path))
        with office.engine.connect() as connection:
            connection.exec_driver_sql("SELECT 1")
            found = modes(tmp_path)
        office.engine.dispose()
    finally:
        os.umask(before)

    assert found == {0o600}


def test_migrate_makes_it_in_the_same_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CATRACA_DATA_DIR", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["catraca", "migrate"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 0
    assert modes(tmp_path) == {0o600}
