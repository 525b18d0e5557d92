"""Read a GTFS feed into the operators, lines and trips that it names, with all that is wrong in it: no database yet.

A large feed takes a minute to read; it is read and judged before anything is locked.
"""

import fnmatch
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from backoffice.adapters.csv_rows import FileFault, csv_rows
from backoffice.adapters.gtfs_feed import GtfsFeed, Route, Trip
from validator.domain.vocabulary import Network

_SHOWN = 5
LONGEST_CODE = 64
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


@dataclass(frozen=True, slots=True)
class FeedLine:
    """A line of the feed.

    Attributes:
        code: Its code in the register.
        name: Its name.
        network: What the rules make of it.
        operator: Code of who runs it; None where the feed names nobody.
    """

    code: str
    name: str
    network: Network
    operator: str | None


@dataclass(frozen=True, slots=True)
class FeedTrip:
    """A trip of a line; times in seconds after midnight of the operational day."""

    line: str
    code: str
    headsign: str | None
    direction: int | None
    departs_s: int | None
    arrives_s: int | None


@dataclass(frozen=True, slots=True)
class FeedContents:
    """What a feed says, read whole.

    Attributes:
        operators: Names of operators by code, in the order of the feed.
        lines: Lines, each code once.
        trips: Trips, each code once.
        notices: What somebody should look at, in Portuguese.
    """

    operators: Mapping[str, str]
    lines: Sequence[FeedLine]
    trips: Sequence[FeedTrip]
    notices: Sequence[str]


def read_gtfs(feed: GtfsFeed, rules: LineRules) -> FeedContents:
    """Read a feed whole.

    Args:
        feed: The open feed.
        rules: How routes become lines.

    Raises:
        FileFault: the feed, or the file of lines, cannot be read; with file and line.
    """
    notices: list[str] = []
    routes = _routes(feed, rules, notices)
    agencies = _agencies(feed, notices)
    names = {route.id: _operator_name(route, code, rules, agencies, notices) for route, code in routes}
    operators = _operators(name for name in names.values() if name)
    lines = []
    for route, code in routes:
        name, operator = route.long_name or route.short_name or code, names[route.id]
        network = _network(route, code, rules)
        lines.append(
            FeedLine(code, name[:200], network, None if operator is None else operator_code(operator))
        )
    times = feed.trip_times()
    trips = []
    for trip, code in _known_trips(feed, {route.id: code for route, code in routes}, notices):
        departs, arrives = times.get(trip.id, (None, None))
        trips.append(FeedTrip(code, trip.id, trip.headsign[:200] or None, trip.direction, departs, arrives))
    return FeedContents(operators, lines, trips, notices)


def operator_code(name: str) -> str:
    """The code of an operator's name: `Viação São João` becomes `viacao-sao-joao`; always the same."""
    return _hyphened(name)[:_LONGEST_OPERATOR].strip("-") or "operador"


def _hyphened(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def _operators(names: Iterable[str]) -> dict[str, str]:
    """Names of operators by code.

    Raises:
        FileFault: two operators of the feed would have one code, and so one claim.
    """
    first_of: dict[str, str] = {}
    for name in dict.fromkeys(names):
        code = operator_code(name)
        first = first_of.setdefault(code, name)
        if (_hyphened(first) or first) != (_hyphened(name) or name):
            raise FileFault(
                f"os operadores {first[:200]!r} e {name[:200]!r} teriam ambos o código {code}; dê-lhes nomes mais "
                "curtos e distintos na coluna operator do arquivo de redes"
            )
    return first_of


def _routes(feed: GtfsFeed, rules: LineRules, notices: list[str]) -> list[tuple[Route, str]]:
    """The routes with the codes of their lines: the short name where it is the only one, else the route id."""
    routes: dict[str, Route] = {}
    for route in feed.routes():
        if route.id in routes:
            notices.append(f"routes.txt, linha {route.line}: route_id repetido; vale a primeira linha")
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
        if len(code) > LONGEST_CODE or not code.isprintable():
            raise FileFault(
                f"routes.txt, linha {route.line}: o código da linha tem até {LONGEST_CODE} caracteres imprimíveis"
            )
        coded.append((route, code))
    unknown = sorted(set(rules.networks) - known - {code for _, code in coded})
    if unknown:
        raise FileFault(f"o arquivo de redes cita a linha {unknown[0]}, que o feed não tem")
    return coded


def _agencies(feed: GtfsFeed, notices: list[str]) -> dict[str, str]:
    """Names of agencies by id; of repeated rows the first counts."""
    names: dict[str, str] = {}
    for agency in feed.agencies():
        known = names.setdefault(agency.id, agency.name)
        if known != agency.name:
            notices.append(
                f"agency.txt, linha {agency.line}: agency_id repetido com outro nome; vale o primeiro"
            )
    if not names:
        raise FileFault("agency.txt: não há nenhum operador no arquivo")
    return names


def _operator_name(
    route: Route, code: str, rules: LineRules, agencies: Mapping[str, str], notices: list[str]
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
    notices.append(
        f"routes.txt, linha {route.line}: agency_id {route.agency_id or 'vazio'} não está em agency.txt; a linha "
        "fica sem operador"
    )
    return None


def _network(route: Route, code: str, rules: LineRules) -> Network:
    named = rules.networks.get(route.id) or rules.networks.get(code)
    if named is not None:
        return named
    words = (code, route.id, route.short_name, route.long_name)
    interior = any(fnmatch.fnmatchcase(word, pattern) for word in words for pattern in rules.interior)
    return Network.INTERIOR if interior else Network.URBAN


def _known_trips(
    feed: GtfsFeed, code_of: Mapping[str, str], notices: list[str]
) -> Iterator[tuple[Trip, str]]:
    """The trips of known routes, each id once; the others are notices."""
    seen: set[str] = set()
    passed_over: list[int] = []
    for trip in feed.trips():
        code = code_of.get(trip.route_id)
        if code is None or trip.id in seen or len(trip.id) > LONGEST_CODE or not trip.id.isprintable():
            passed_over.append(trip.line)
            continue
        seen.add(trip.id)
        yield trip, code
    if passed_over:
        lines = ", ".join(str(line) for line in passed_over[:_SHOWN])
        notices.append(
            f"trips.txt: {len(passed_over)} viagens deixadas de lado (rota desconhecida, código repetido ou longo "
            f"demais), nas linhas {lines}{' ...' if len(passed_over) > _SHOWN else ''}"
        )
