"""GTFS feeds, clean and dirty: idempotent, all or nothing, and every fault with its file and line."""

import io
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import func, select

from backoffice.adapters.csv_rows import FileFault
from backoffice.adapters.gtfs_feed import GtfsFeed
from backoffice.application.city_state import authorities
from backoffice.application.import_gtfs import ImportReport, import_gtfs
from backoffice.application.read_gtfs import LineRules, operator_code, read_gtfs, read_line_file
from backoffice.application.staff import as_city
from backoffice.persistence.base import reading
from backoffice.persistence.city import CityRow
from backoffice.persistence.lines import LineRow, TripRow
from tests.backoffice.register_city import NOW, TODAY, RegisterCity
from validator.domain.vocabulary import Network

FILES = {
    "agency.txt": "agency_id,agency_name,agency_url,agency_timezone\nA,Viação São João,http://a,America/Sao_Paulo\n",
    "routes.txt": "route_id,agency_id,route_short_name,route_long_name,route_type\n"
    "r1,A,11,Centro,3\nr2,A,91,Interior Norte,3\n",
    "trips.txt": "route_id,service_id,trip_id,trip_headsign,direction_id\nr1,s,t1,Sul,0\nr2,s,t2,,1\n",
    "stop_times.txt": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
    "t1,23:50:00,23:50:00,x,1\nt1,,,y,2\nt1,25:10:00,25:10:00,z,3\n",
}
NO_RULES = LineRules()


def feed_file(folder: Path, **changes: str | bytes | None) -> Path:
    """A feed with some files changed (`routes` for routes.txt); None leaves a file out."""
    path = folder / "feed.zip"
    files: dict[str, str | bytes | None] = {
        **FILES,
        **{f"{name}.txt": content for name, content in changes.items()},
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            if content is not None:
                file.writestr(name, content)
    return path


def load(city: RegisterCity, path: Path, rules: LineRules = NO_RULES) -> ImportReport:
    with GtfsFeed(path) as feed:
        contents = read_gtfs(feed, rules)
    with city.writing() as session:
        return import_gtfs(session, as_city(city.staff("city")), NOW, contents, from_day=TODAY)


def lines_of(city: RegisterCity) -> dict[str, tuple[Network, tuple[str, ...]]]:
    with reading(city.engine) as session:
        return {line.code: (line.network, line.operators) for line in authorities(session).lines_on(TODAY)}


def revision_of(city: RegisterCity) -> int:
    with reading(city.engine) as session:
        return session.scalars(select(CityRow.revision)).one()


def test_agencies_routes_and_trips_become_operators_lines_and_trips(city: RegisterCity, tmp_path: Path):
    report = load(city, feed_file(tmp_path), LineRules(interior=["9*"]))

    assert (report.operators, report.lines, report.trips) == (1, 2, 2)
    lines = lines_of(city)
    assert lines["11"] == (Network.URBAN, ("viacao-sao-joao",))
    assert lines["91"] == (Network.INTERIOR, ("viacao-sao-joao",))
    with reading(city.engine) as session:
        trip = session.scalars(select(TripRow).where(TripRow.code == "t1")).one()
    assert (trip.departs_s, trip.arrives_s) == (23 * 3600 + 50 * 60, 25 * 3600 + 10 * 60)
    assert (trip.headsign, trip.direction) == ("Sul", 0)


def test_importing_again_changes_nothing(city: RegisterCity, tmp_path: Path):
    path = feed_file(tmp_path)
    load(city, path)
    revision = revision_of(city)

    report = load(city, path)

    assert (report.operators, report.lines, report.trips, report.trips_changed) == (0, 0, 0, 0)
    assert report.unchanged == 4
    assert revision_of(city) == revision


def test_a_changed_time_changes_the_trip(sqlite_city: RegisterCity, tmp_path: Path):
    load(sqlite_city, feed_file(tmp_path))

    report = load(
        sqlite_city, feed_file(tmp_path, stop_times=FILES["stop_times.txt"].replace("25:10", "24:30"))
    )

    assert (report.trips, report.trips_changed) == (0, 1)


def test_a_registered_line_keeps_its_network(sqlite_city: RegisterCity, tmp_path: Path):
    load(sqlite_city, feed_file(tmp_path))

    report = load(sqlite_city, feed_file(tmp_path), LineRules(interior=["*"]))

    assert any("já registrada na rede URBAN" in notice for notice in report.notices)
    assert lines_of(sqlite_city)["11"][0] is Network.URBAN


def test_a_file_of_lines_sets_network_and_operator(sqlite_city: RegisterCity, tmp_path: Path):
    file = io.BytesIO("\ufeffline; network ;operator\nr1;INTERIOR;Empresa Dois\n91;urban;\n".encode())
    networks, operators = read_line_file("linhas.csv", file)

    load(sqlite_city, feed_file(tmp_path), LineRules(networks=networks, operators=operators))

    lines = lines_of(sqlite_city)
    assert lines["11"] == (Network.INTERIOR, ("empresa-dois",))
    assert lines["91"] == (Network.URBAN, ("viacao-sao-joao",))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"line,network\n11,SUBURBAN\n", "linhas.csv, linha 2: network é URBAN ou INTERIOR"),
        (b"line\n11\n", "falta a coluna network"),
        ("line,network\nSão,URBAN\n".encode("latin-1"), "linha 2: não está em UTF-8"),
    ],
)
def test_a_file_of_lines_that_cannot_be_read(content: bytes, says: str):
    with pytest.raises(FileFault, match=says):
        read_line_file("linhas.csv", io.BytesIO(content))


def test_a_file_of_lines_that_names_a_line_of_no_feed(sqlite_city: RegisterCity, tmp_path: Path):
    with pytest.raises(FileFault, match="cita a linha 999"):
        load(sqlite_city, feed_file(tmp_path), LineRules(networks={"999": Network.URBAN}))


def test_a_column_may_name_the_operator(sqlite_city: RegisterCity, tmp_path: Path):
    load(sqlite_city, feed_file(tmp_path), LineRules(operator_column="route_long_name"))

    assert lines_of(sqlite_city)["11"][1] == ("centro",)
    with pytest.raises(FileFault, match="não há coluna nada"):
        load(sqlite_city, feed_file(tmp_path), LineRules(operator_column="nada"))


@pytest.mark.parametrize(
    "changes",
    [
        {
            "agency": "\ufeff agency_name , agency_url\n Viação São João ,http://a\n"
        },  # BOM, blanks, no agency_id
        {"agency": FILES["agency.txt"] + "A,Viação São João,http://a,America/Sao_Paulo\n"},  # a row twice
        {"routes": "\ufeff" + FILES["routes.txt"].replace(",", " , ")},
        {"routes": FILES["routes.txt"].replace("r1,A,11", "r1,,11")},  # one agency: which one is clear
        {"routes": FILES["routes.txt"] + "\n , , , , \n\n"},
        {"routes": FILES["routes.txt"].replace("\n", "\r\n")},
        {"routes": FILES["routes.txt"].replace("3\n", "3,,,\n")},  # empty columns at the end
        {"routes": FILES["routes.txt"].replace(",3\n", "\n")},  # short rows
        {"calendar": "", "transfers": ""},
        {"stop_times": ""},
        {"stop_times": None},
        {"trips": FILES["trips.txt"].rstrip("\n")},
    ],
)
def test_what_may_be_forgiven_is_forgiven(
    sqlite_city: RegisterCity, tmp_path: Path, changes: dict[str, str | bytes | None]
):
    report = load(sqlite_city, feed_file(tmp_path, **changes))

    assert (report.operators, report.lines, report.trips) == (1, 2, 2)
    assert lines_of(sqlite_city)["11"] == (Network.URBAN, ("viacao-sao-joao",))


def test_what_should_be_looked_at_is_a_notice(sqlite_city: RegisterCity, tmp_path: Path):
    path = feed_file(
        tmp_path,
        agency=FILES["agency.txt"] + "B,Outra,http://b,America/Sao_Paulo\nA,Nome Novo,http://a,x\n",
        routes=FILES["routes.txt"] + "r3,Z,13,Sem Dono,3\nr1,A,11,De Novo,3\n",
        trips=FILES["trips.txt"] + "r9,s,t9,,0\nr1,s,t1,,0\n",
    )

    report = load(sqlite_city, path)

    assert [notice for notice in report.notices if "linha 4: agency_id repetido" in notice]
    assert [notice for notice in report.notices if "linha 4: agency_id Z não está" in notice]
    assert [notice for notice in report.notices if "linha 5: route_id repetido" in notice]
    assert [
        notice for notice in report.notices if "2 viagens deixadas de lado" in notice and "4, 5" in notice
    ]
    assert lines_of(sqlite_city)["13"][1] == ()


def test_routes_that_share_a_short_name_are_told_apart_by_their_id(sqlite_city: RegisterCity, tmp_path: Path):
    load(sqlite_city, feed_file(tmp_path, routes=FILES["routes.txt"].replace("r2,A,91", "r2,A,11")))

    assert {"r1", "r2"} <= set(lines_of(sqlite_city))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"routes": None}, "falta routes.txt"),
        ({"agency": None}, "falta agency.txt"),
        ({"trips": None}, "falta trips.txt"),
        ({"routes": ""}, "routes.txt, linha 1: falta a coluna route_id"),
        ({"routes": "route_id,agency_id\n"}, "não há nenhuma linha de ônibus"),
        ({"agency": "agency_id,agency_name\n"}, "não há nenhum operador"),
        ({"agency": "agency_id,agency_name\nA,\n"}, "agency.txt, linha 2: agency_name está vazio"),
        ({"routes": FILES["routes.txt"].replace("r2,", ",")}, "routes.txt, linha 3: route_id está vazio"),
        ({"routes": FILES["routes.txt"] + "r3,A,1,x,3,extra\n"}, "routes.txt, linha 4: há 6 valores"),
        ({"routes": FILES["routes.txt"].encode("utf-16")}, "routes.txt, linha 1: não está em UTF-8"),
        ({"routes": FILES["routes.txt"].replace("Centro", "Estação").encode("latin-1")}, "routes.txt, linha 2: não"),
        ({"routes": FILES["routes.txt"].replace("Centro", '"Centro')}, "não é CSV"),
        ({"routes": "route_id,route_id\nr1,r1\n"}, "aparece duas vezes"),
        ({"routes": FILES["routes.txt"].replace("Centro", "a\0b")}, "routes.txt, linha 2: não é texto"),
        ({"routes": b"route_id,x\nr1," + b"9" * 1_000_001}, "longa demais"),
        ({"trips": FILES["trips.txt"].replace("Sul,0", "Sul,2")}, "trips.txt, linha 2: direction_id é 0 ou 1"),
        ({"trips": FILES["trips.txt"].replace("t2", "")}, "trips.txt, linha 3: trip_id"),
        ({"stop_times": FILES["stop_times.txt"].replace("25:10:00", "25:70:00")}, "stop_times.txt, linha 4"),
        ({"stop_times": FILES["stop_times.txt"].replace("23:50:00", "-1:50:00")}, "stop_times.txt, linha 2"),
    ],
)  # fmt: skip
def test_a_fault_is_named_and_nothing_is_written(
    sqlite_city: RegisterCity, tmp_path: Path, changes: dict[str, str | bytes | None], says: str
):
    with pytest.raises(FileFault, match=says):
        load(sqlite_city, feed_file(tmp_path, **changes))

    with reading(sqlite_city.engine) as session:
        assert session.scalar(select(func.count()).select_from(LineRow)) == 2
        assert session.scalar(select(func.count()).select_from(TripRow)) == 0


def test_a_feed_in_a_folder_of_the_zip_is_found(sqlite_city: RegisterCity, tmp_path: Path):
    path = tmp_path / "folder.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name, content in FILES.items():
            file.writestr(f"gtfs/{name}", content)
            file.writestr(f"__MACOSX/gtfs/._{name}", "rubbish")

    assert load(sqlite_city, path).lines == 2


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04rubbish", b"not a zip at all"])
def test_what_is_no_zip_is_said(tmp_path: Path, content: bytes):
    path = tmp_path / "broken.zip"
    path.write_bytes(content)

    with pytest.raises(FileFault, match="não é um zip"):
        GtfsFeed(path)


def test_a_zip_that_was_cut_off_writes_nothing(sqlite_city: RegisterCity, tmp_path: Path):
    path = feed_file(tmp_path, stop_times=FILES["stop_times.txt"] * 5_000)
    whole = bytearray(path.read_bytes())
    place = whole.index(b"stop_times.txt") + 40
    whole[place : place + 200] = bytes(200)
    path.write_bytes(whole)

    with pytest.raises(FileFault, match=r"stop_times.txt"):
        load(sqlite_city, path)

    assert set(lines_of(sqlite_city)) == {"101", "901"}


def test_progress_counts_every_byte(tmp_path: Path):
    counted: dict[str, int] = {}

    def count(name: str, read: int) -> None:
        counted[name] = counted.get(name, 0) + read

    with GtfsFeed(feed_file(tmp_path), count) as feed:
        list(feed.routes())
        feed.trip_times()

        assert counted == {name: feed.size(name) for name in ("routes.txt", "stop_times.txt")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Companhia Municipal de Transporte Urbano Leste", "Companhia Municipal de Transporte Urbano Oeste"),
        ("Empresa de Transportes Coletivos Norte", "Empresa de Transportes Coletivos"),
        ("交通", "巴士"),
    ],
)
def test_two_operators_never_become_one(sqlite_city: RegisterCity, tmp_path: Path, one: str, other: str):
    agencies = f"agency_id,agency_name\nA,{one}\nB,{other}\n"
    routes = "route_id,agency_id,route_short_name\nr1,A,11\nr2,B,12\n"

    with pytest.raises(FileFault, match="teriam ambos o código"):
        load(sqlite_city, feed_file(tmp_path, agency=agencies, routes=routes))

    assert lines_of(sqlite_city).keys().isdisjoint({"12"})


@pytest.mark.parametrize("content", [None, "", "trip_id,arrival_time\n"])
def test_trips_may_be_without_times(sqlite_city: RegisterCity, tmp_path: Path, content: str | None):
    load(sqlite_city, feed_file(tmp_path, stop_times=content))

    with reading(sqlite_city.engine) as session:
        trip = session.scalars(select(TripRow).where(TripRow.code == "t1")).one()
    assert (trip.departs_s, trip.arrives_s) == (None, None)


def test_one_operator_spelt_in_two_ways_is_one(sqlite_city: RegisterCity, tmp_path: Path):
    agencies = "agency_id,agency_name\nA,Viação São João\nB,VIACAO SAO JOAO\n"
    routes = "route_id,agency_id,route_short_name\nr1,A,11\nr2,B,12\n"

    assert load(sqlite_city, feed_file(tmp_path, agency=agencies, routes=routes)).operators == 1


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Viação São João Ltda.", "viacao-sao-joao-ltda"),
        ("  --  ", "operador"),
        ("交通", "operador"),
        ("A" * 80, "a" * 32),
    ],
)
def test_an_operators_code_comes_from_its_name(name: str, code: str):
    assert operator_code(name) == code


def test_desks_go_on_selling_while_a_feed_is_read(city: RegisterCity, tmp_path: Path):
    holders = []

    def told(name: str, _: int) -> None:
        if name == "stop_times.txt" and not holders:
            holders.append(city.holder())  # a transaction of its own, which a lock of the import would stop

    with GtfsFeed(feed_file(tmp_path), told) as feed:
        contents = read_gtfs(feed, NO_RULES)

    assert len(holders) == 1
    with city.writing() as session:
        report = import_gtfs(session, as_city(city.staff("city")), NOW, contents, from_day=TODAY)
    assert report.trips == len(contents.trips) > 0
