import json
import os
import re
import signal
import sqlite3
import subprocess
import time
import urllib.request
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.demonstration import COMMAND, Ended, demonstrate, demonstrating, marked
from validator.onboard.journal import Journal

SMALL = ("--holders", "120", "--seed", "7")


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """A small demonstration on embedded defaults."""
    return demonstrate(tmp_path_factory.mktemp("demo"), *SMALL)


def test_the_demonstration_agrees_with_its_own_count_and_leaves_no_process(on_sqlite: Ended):
    assert on_sqlite.code == 0, on_sqlite.said
    assert "Confere" in on_sqlite.said
    assert on_sqlite.orphans == []


def test_it_writes_a_claim_for_each_operator_whose_lines_sum_to_its_total(on_sqlite: Ended):
    claims = [json.loads(data) for name, data in on_sqlite.claims().items() if name.endswith(".json")]

    assert sorted(claim["operator"]["code"] for claim in claims) == ["araucaria", "pinhao"]
    for claim in claims:
        assert claim["totals"]["total_cents"] == sum(line["total_cents"] for line in claim["lines"]) > 0


def test_a_bus_without_network_is_driven_by_the_agent_on_the_signed_list_of_the_night(on_sqlite: Ended):
    versions, modes = set(), []
    for path in (on_sqlite.folder / "devices").glob("*/journal.sqlite"):
        with closing(sqlite3.connect(path)) as journal:
            modes += [
                (json.loads(exact)["mode"], json.loads(exact).get("list_version"))
                for (exact,) in journal.execute("SELECT exact FROM entries WHERE kind = 'release'")
            ]
        with closing(sqlite3.connect(path.with_name("city.sqlite"))) as city:
            versions.add(int(city.execute("SELECT value FROM facts WHERE name = 'version'").fetchone()[0]))
        checked = Journal(path)
        try:
            assert checked.check(1) >= 0
        finally:
            checked.close()

    alone = {version for mode, version in modes if mode == "offline" and version is not None}
    assert len(alone) > 5
    assert alone <= versions


def test_no_name_and_no_cpf_leaves_in_a_claim(on_sqlite: Ended):
    for name, data in on_sqlite.claims().items():
        assert b"Titular" not in data, name
        assert not re.search(rb"(?<!\d)99[89]\d{8}(?!\d)", data), name


def test_the_same_seed_gives_the_same_bytes_on_postgresql(
    on_sqlite: Ended, tmp_path: Path, postgres_url: str
):
    again = demonstrate(tmp_path, *SMALL, database_url=postgres_url)

    assert again.code == 0, again.said
    assert again.orphans == []
    assert again.claims() == on_sqlite.claims()


def test_it_plays_in_an_empty_database_only(tmp_path: Path, sqlite_url: str):
    environment = os.environ | {"CATRACA_DATABASE_URL": sqlite_url, "CATRACA_DATA_DIR": str(tmp_path)}
    for arguments in (["migrate"], ["user", "add", "admin", "--name", "Alguém", "--role", "ADMINISTRATOR"]):
        subprocess.run([*COMMAND, *arguments], env=environment, check=True, capture_output=True)

    ended = demonstrate(tmp_path, "--holders", "60", database_url=sqlite_url)

    assert ended.code == 1
    assert "banco vazio" in ended.said
    assert ended.orphans == []


def test_ctrl_c_ends_the_running_back_office_and_everything_else(tmp_path: Path):
    with demonstrating(tmp_path, "--holders", "60") as (process, mark):
        said = ""
        while "Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        address = re.search(r"http://127\.0\.0\.1:\d+", said).group()
        with urllib.request.urlopen(f"{address}/v1/health/live") as answer:
            status = answer.status
        process.send_signal(signal.SIGINT)
        code = process.wait(60)

    assert status == 200
    assert code == 0
    assert marked(mark) == []


def test_ctrl_c_in_the_middle_of_the_month_ends_everything(tmp_path: Path):
    with demonstrating(tmp_path, "--holders", "300") as (process, mark):
        while len(marked(mark)) < 5:
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        code = process.wait(60)

    assert code == 130
    assert marked(mark) == []


def feed(path: Path) -> Path:
    """A feed of two agencies and three routes, one of them to the interior."""
    files = {
        "agency.txt": "agency_id,agency_name,agency_url,agency_timezone\n"
        "a,Viação Um Demonstração,http://example.org,America/Sao_Paulo\n"
        "b,Viação Dois Demonstração,http://example.org,America/Sao_Paulo\n",
        "routes.txt": "route_id,agency_id,route_short_name,route_long_name,route_type\n"
        "r1,a,10,Centro,3\nr2,b,20,Bairro,3\nr3,b,30,Interior Norte,3\n",
        "trips.txt": "route_id,service_id,trip_id\nr1,s,t1\nr2,s,t2\nr3,s,t3\n",
        "stop_times.txt": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
        "t1,07:00:00,07:00:00,x,1\nt1,07:30:00,07:30:00,y,2\n"
        "t2,23:50:00,23:50:00,x,1\nt2,24:20:00,24:20:00,y,2\n"
        "t3,06:00:00,06:00:00,x,1\nt3,07:00:00,07:00:00,y,2\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_it_plays_on_the_lines_of_a_feed(tmp_path: Path):
    ended = demonstrate(tmp_path, "--holders", "60", "--gtfs", str(feed(tmp_path / "feed.zip")))

    assert ended.code == 0, ended.said
    claims = [json.loads(data) for name, data in ended.claims().items() if name.endswith(".json")]
    assert {line["line"] for claim in claims for line in claim["lines"]} <= {"10", "20", "30"}
    assert sorted(claim["operator"]["code"] for claim in claims) == [
        "viacao-dois-demonstracao",
        "viacao-um-demonstracao",
    ]


@pytest.mark.outside
def test_it_plays_on_the_lines_of_bage(tmp_path: Path, outside_data: Path):
    ended = demonstrate(
        tmp_path, "--holders", "300", "--gtfs", str(outside_data / "data" / "gtfs" / "bage_rs.zip")
    )

    assert ended.code == 0, ended.said
    claims = [json.loads(data) for name, data in ended.claims().items() if name.endswith(".json")]
    assert sorted(claim["operator"]["code"] for claim in claims) == ["anversa", "stadtbus"]
