"""Take operators, lines and trips from a GTFS feed: all of it in one transaction, and nothing twice."""

import fnmatch
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, BinaryIO

from sqlalchemy import insert, select, update

from backoffice.adapters.csv_rows import FileFault, csv_rows
from backoffice.adapters.gtfs_feed import GtfsFeed, Route, Trip
from backoffice.application.changes import CITY_REF, change_city, lock_city, log
from backoffice.application.city_state import authorities
from backoffice.application.staff import CityOffice
from backoffice.persistence.base import WriteSession
from backoffice.persistence.lines import LineOperatorRow, LineRow, TripRow
from backoffice.persistence.operators import OperatorKind, OperatorRow
from validator.domain.vocabulary import Network

_CHUNK = 1_000
_SHOWN = 5
_LONGEST_CODE = 64
_LONGEST_OPERATOR = 32


@dataclass(frozen=True, slots=True)
class LineRules:
    """How routes become lines.

    Attributes:
        interior: Patterns such as `9*`; a route whose code, short or long name fits one is of the interior.
        networks: Network by route id or line code, from a file; it goes before the patterns.
        operators: Operator's name by route id or line code, from the same file.
        operator_column: Column of routes.txt that names the operator, such as `route_desc`; None for the agency.
    """

    interior: Sequence[str] = ()
    networks: Mapping[str, Network] = field(default_factory=dict)
    operators: Mapping[str, str] = field(default_factory=dict)
    operator_column: str | None = None


def read_line_file(name: str, file: BinaryIO) -> tuple[dict[str, Network], dict[str, str]]:
    """Networks and operators by line, from a CSV file with the columns line, network and, if wanted, operator.

    Raises:
        FileFault: with file and line.
    """
    start = file.readline(4096)
    file.seek(0)
    delimiter = ";" if start.count(b";") > start.count(b",") else ","
    networks: dict[str, Network] = {}
    operators: dict[str, str] = {}
    for line, row in csv_rows(name, file, ["line", "network"], delimiter=delimiter):
        try:
            networks[row["line"]] = Network(row["network"].upper())
        except ValueError:
            raise FileFault(
                f"{name}, linha {line}: network é URBAN ou INTERIOR, não {row['network']!r}"
            ) from None
        if row.get("operator"):
            operators[row["line"]] = row["operator"]
    return networks, operators


@dataclass(slots=True)
class ImportReport:
    """What an import did.

    Attributes:
        operators: Operators that are new.
        lines: Lines that are new.
        trips: Trips that are new.
        trips_changed: Trips whose times or headsign changed.
        unchanged: Lines and trips that were there already, as they are.
        notices: What somebody should look at, in Portuguese.
    """

    operators: int = 0
    lines: int = 0
    trips: int = 0
    trips_changed: int = 0
    unchanged: int = 0
    notices: list[str] = field(default_factory=list)


def import_gtfs(
    session: WriteSession,
    by: CityOffice | None,
    at: datetime,
    feed: GtfsFeed,
    rules: LineRules,
    *,
    from_day: date,
) -> ImportReport:
    """Import a feed; a second import of the same feed changes nothing.

    Lines that are registered keep their network, which an act has set; a feed that says otherwise is a notice.

    Args:
        session: A writing session; the caller rolls it back on an error, and nothing is written.
        by: Who imports; None for the demonstration.
        at: The instant of recording.
        feed: The open feed.
        rules: How routes become lines.
        from_day: First civil day on which the operators run the lines that are new.

    Raises:
        FileFault: the feed, or the file of lines, cannot be read; with file and line.
    """
    report = ImportReport()
    lock_city(session)
    routes = _routes(feed, rules, report)
    agencies = _agencies(feed, report)
    names = {route.id: _operator_name(route, code, rules, agencies, report) for route, code in routes}
    operators = _write_operators(session, at, [name for name in names.values() if name], report)
    line_ids = _write_lines(session, at, routes, rules, report)
    runs = _write_runs(session, at, routes, names, operators, line_ids, from_day)
    _write_trips(session, at, feed, {route.id: line_ids[code] for route, code in routes}, report)
    if report.lines or runs:
        change_city(session, at)
    detail = f"operators={report.operators} lines={report.lines} trips={report.trips}"
    log(session, by, "import.gtfs", ("city", CITY_REF), at, detail)
    return report


def operator_code(name: str) -> str:
    """The code of an operator's name: `Viação São João` becomes `viacao-sao-joao`; always the same."""
    return _hyphened(name)[:_LONGEST_OPERATOR].strip("-") or "operador"


def _hyphened(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def _routes(feed: GtfsFeed, rules: LineRules, report: ImportReport) -> list[tuple[Route, str]]:
    """The routes with the codes of their lines: the short name where it is the only one, else the route id."""
    routes: dict[str, Route] = {}
    for route in feed.routes():
        if route.id in routes:
            report.notices.append(f"routes.txt, linha {route.line}: route_id repetido; vale a primeira linha")
            continue
        if rules.operator_column is not None and rules.operator_column not in route.columns:
            raise FileFault(f"routes.txt: não há coluna {rules.operator_column}")
        routes[route.id] = route
    if not routes:
        raise FileFault("routes.txt: não há nenhuma linha de ônibus no arquivo")
    shorts = Counter(route.short_name for route in routes.values())
    known = set(routes)
    coded = []
    for route in routes.values():
        short = route.short_name
        own = shorts[short] == 1 and (short not in known or short == route.id)
        code = short if short and own else route.id
        if len(code) > _LONGEST_CODE or not code.isprintable():
            raise FileFault(
                f"routes.txt, linha {route.line}: o código da linha tem até {_LONGEST_CODE} caracteres imprimíveis"
            )
        coded.append((route, code))
    unknown = sorted(set(rules.networks) - known - {code for _, code in coded})
    if unknown:
        raise FileFault(f"o arquivo de redes cita a linha {unknown[0]}, que o feed não tem")
    return coded


def _agencies(feed: GtfsFeed, report: ImportReport) -> dict[str, str]:
    """Names of agencies by id; of repeated rows the first counts."""
    names: dict[str, str] = {}
    for agency in feed.agencies():
        known = names.setdefault(agency.id, agency.name)
        if known != agency.name:
            report.notices.append(
                f"agency.txt, linha {agency.line}: agency_id repetido com outro nome; vale o primeiro"
            )
    if not names:
        raise FileFault("agency.txt: não há nenhum operador no arquivo")
    return names


def _operator_name(
    route: Route, code: str, rules: LineRules, agencies: Mapping[str, str], report: ImportReport
) -> str | None:
    named = rules.operators.get(route.id) or rules.operators.get(code)
    if named:
        return named
    if rules.operator_column is not None and route.columns[rules.operator_column]:
        return route.columns[rules.operator_column]
    if route.agency_id in agencies:
        return agencies[route.agency_id]
    if len(agencies) == 1 and (not route.agency_id or "" in agencies):
        return next(iter(agencies.values()))
    report.notices.append(
        f"routes.txt, linha {route.line}: agency_id {route.agency_id or 'vazio'} não está em agency.txt; a linha "
        "fica sem operador"
    )
    return None


def _write_operators(
    session: WriteSession, at: datetime, names: Iterable[str], report: ImportReport
) -> dict[str, int]:
    """Ids of operators by name; those that are new have no document yet.

    Raises:
        FileFault: two operators of the feed would have one code, and so one claim.
    """
    known = {row[0]: row[1] for row in session.execute(select(OperatorRow.code, OperatorRow.id))}
    ids: dict[str, int] = {}
    first_of: dict[str, str] = {}
    for name in dict.fromkeys(names):
        code = operator_code(name)
        first = first_of.setdefault(code, name)
        if (_hyphened(first) or first) != (_hyphened(name) or name):
            raise FileFault(
                f"os operadores {first[:200]!r} e {name[:200]!r} teriam ambos o código {code}; dê-lhes nomes mais "
                "curtos e distintos na coluna operator do arquivo de redes"
            )
        if code not in known:
            row = OperatorRow(
                code=code, name=name[:200], kind=OperatorKind.COMPANY, document=None, recorded_at=at
            )
            session.add(row)
            session.flush()
            known[code] = row.id
            report.operators += 1
            report.notices.append(f"operador {code} criado sem CNPJ: complete com catraca operator add")
        ids[name] = known[code]
    return ids


def _write_lines(
    session: WriteSession,
    at: datetime,
    routes: Sequence[tuple[Route, str]],
    rules: LineRules,
    report: ImportReport,
) -> dict[str, int]:
    """Ids of lines by code."""
    known = {row.code: row for row in session.scalars(select(LineRow))}
    for route, code in routes:
        network = _network(route, code, rules)
        row = known.get(code)
        if row is None:
            name = route.long_name or route.short_name or code
            row = LineRow(code=code, name=name[:200], network=network, recorded_at=at)
            session.add(row)
            known[code] = row
            report.lines += 1
            continue
        report.unchanged += 1
        if row.network is not network:
            report.notices.append(
                f"linha {code}: já registrada na rede {row.network}, e assim fica (o feed daria {network})"
            )
    session.flush()
    return {code: known[code].id for _, code in routes}


def _network(route: Route, code: str, rules: LineRules) -> Network:
    named = rules.networks.get(route.id) or rules.networks.get(code)
    if named is not None:
        return named
    words = (code, route.id, route.short_name, route.long_name)
    interior = any(fnmatch.fnmatchcase(word, pattern) for word in words for pattern in rules.interior)
    return Network.INTERIOR if interior else Network.URBAN


def _write_runs(
    session: WriteSession,
    at: datetime,
    routes: Sequence[tuple[Route, str]],
    names: Mapping[str, str | None],
    operators: Mapping[str, int],
    line_ids: Mapping[str, int],
    from_day: date,
) -> int:
    """Let operators run the lines that they do not run already; how many are new."""
    codes = {row_id: code for code, row_id in session.execute(select(OperatorRow.code, OperatorRow.id))}
    known = authorities(session)
    new = 0
    for route, code in routes:
        name = names[route.id]
        if name is None or known.runs(codes[operators[name]], code, from_day):
            continue
        session.add(
            LineOperatorRow(
                line_id=line_ids[code],
                operator_id=operators[name],
                from_day=from_day,
                runs=True,
                recorded_at=at,
            )
        )
        new += 1
    return new


def _write_trips(
    session: WriteSession, at: datetime, feed: GtfsFeed, line_of: Mapping[str, int], report: ImportReport
) -> None:
    times = feed.trip_times()
    known: dict[tuple[int, str], tuple[int, tuple[Any, ...]]] = {}
    for row in session.scalars(select(TripRow).where(TripRow.line_id.in_(set(line_of.values())))):
        facts = (row.headsign, row.direction, row.departs_s, row.arrives_s)
        known[row.line_id, row.code] = (row.id, facts)
    new: list[dict[str, Any]] = []
    changed: list[dict[str, Any]] = []
    for trip, line_id in _known_trips(feed, line_of, report):
        departs, arrives = times.get(trip.id, (None, None))
        facts = (trip.headsign[:200] or None, trip.direction, departs, arrives)
        values = dict(zip(("headsign", "direction", "departs_s", "arrives_s"), facts, strict=True))
        before = known.get((line_id, trip.id))
        if before is None:
            new.append({"line_id": line_id, "code": trip.id, "recorded_at": at, **values})
        elif before[1] != facts:
            changed.append({"id": before[0], **values})
        else:
            report.unchanged += 1
    for start in range(0, len(new), _CHUNK):
        session.execute(insert(TripRow), new[start : start + _CHUNK])
    if changed:
        session.execute(update(TripRow), changed)
    report.trips, report.trips_changed = len(new), len(changed)


def _known_trips(
    feed: GtfsFeed, line_of: Mapping[str, int], report: ImportReport
) -> Iterator[tuple[Trip, int]]:
    """The trips of known routes, each id once; the others are notices."""
    seen: set[str] = set()
    passed_over: list[int] = []
    for trip in feed.trips():
        line_id = line_of.get(trip.route_id)
        if line_id is None or trip.id in seen or len(trip.id) > _LONGEST_CODE or not trip.id.isprintable():
            passed_over.append(trip.line)
            continue
        seen.add(trip.id)
        yield trip, line_id
    if passed_over:
        lines = ", ".join(str(line) for line in passed_over[:_SHOWN])
        report.notices.append(
            f"trips.txt: {len(passed_over)} viagens deixadas de lado (rota desconhecida, código repetido ou longo "
            f"demais), nas linhas {lines}{' ...' if len(passed_over) > _SHOWN else ''}"
        )
