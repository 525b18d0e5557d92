"""Write operators, lines and trips of a GTFS feed that was read: all of it in one short transaction, nothing twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from sqlalchemy import insert, select, update

from backoffice.application.changes import CITY_REF, change_city, lock_city, log
from backoffice.application.city_state import authorities
from backoffice.application.read_gtfs import FeedContents, FeedLine, FeedTrip
from backoffice.application.staff import CityOffice
from backoffice.persistence.base import WriteSession
from backoffice.persistence.lines import LineOperatorRow, LineRow, TripRow
from backoffice.persistence.operators import OperatorKind, OperatorRow

_CHUNK = 1_000


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
    session: WriteSession, by: CityOffice | None, at: datetime, contents: FeedContents, *, from_day: date
) -> ImportReport:
    """Write what a feed says; a second import of the same feed changes nothing.

    Lines that are registered keep their network, which an act has set; a feed that says otherwise is a notice.

    Args:
        session: A writing session; the caller rolls it back on an error, and nothing is written.
        by: Who imports; None for the demonstration.
        at: The instant of recording.
        contents: What was read of the feed.
        from_day: First civil day on which the operators run the lines that are new.
    """
    report = ImportReport(notices=list(contents.notices))
    lock_city(session)
    operators = _write_operators(session, at, contents.operators, report)
    line_ids = _write_lines(session, at, contents.lines, report)
    runs = _write_runs(session, at, contents.lines, operators, line_ids, from_day)
    _write_trips(session, at, contents.trips, line_ids, report)
    if report.lines or runs:
        change_city(session, at)
    detail = f"operators={report.operators} lines={report.lines} trips={report.trips}"
    log(session, by, "import.gtfs", ("city", CITY_REF), at, detail)
    return report


def _write_operators(
    session: WriteSession, at: datetime, operators: Mapping[str, str], report: ImportReport
) -> dict[str, int]:
    """Ids of operators by code; those that are new have no document yet."""
    known = {row[0]: row[1] for row in session.execute(select(OperatorRow.code, OperatorRow.id))}
    for code, name in operators.items():
        if code in known:
            continue
        row = OperatorRow(
            code=code, name=name[:200], kind=OperatorKind.COMPANY, document=None, recorded_at=at
        )
        session.add(row)
        session.flush()
        known[code] = row.id
        report.operators += 1
        report.notices.append(f"operador {code} criado sem CNPJ: complete com catraca operator add")
    return known


def _write_lines(
    session: WriteSession, at: datetime, lines: Sequence[FeedLine], report: ImportReport
) -> dict[str, int]:
    """Ids of lines by code."""
    known = {row.code: row for row in session.scalars(select(LineRow))}
    for line in lines:
        row = known.get(line.code)
        if row is None:
            row = LineRow(code=line.code, name=line.name, network=line.network, recorded_at=at)
            session.add(row)
            known[line.code] = row
            report.lines += 1
            continue
        report.unchanged += 1
        if row.network is not line.network:
            report.notices.append(
                f"linha {line.code}: já registrada na rede {row.network}, e assim fica (o feed daria "
                f"{line.network})"
            )
    session.flush()
    return {line.code: known[line.code].id for line in lines}


def _write_runs(
    session: WriteSession,
    at: datetime,
    lines: Sequence[FeedLine],
    operators: Mapping[str, int],
    line_ids: Mapping[str, int],
    from_day: date,
) -> int:
    """Let operators run the lines that they do not run already; how many are new."""
    known = authorities(session)
    new = 0
    for line in lines:
        if line.operator is None or known.runs(line.operator, line.code, from_day):
            continue
        session.add(
            LineOperatorRow(
                line_id=line_ids[line.code],
                operator_id=operators[line.operator],
                from_day=from_day,
                runs=True,
                recorded_at=at,
            )
        )
        new += 1
    return new


def _write_trips(
    session: WriteSession,
    at: datetime,
    trips: Sequence[FeedTrip],
    line_ids: Mapping[str, int],
    report: ImportReport,
) -> None:
    known: dict[tuple[int, str], tuple[int, tuple[Any, ...]]] = {}
    for row in session.scalars(select(TripRow).where(TripRow.line_id.in_(set(line_ids.values())))):
        facts = (row.headsign, row.direction, row.departs_s, row.arrives_s)
        known[row.line_id, row.code] = (row.id, facts)
    new: list[dict[str, Any]] = []
    changed: list[dict[str, Any]] = []
    for trip in trips:
        facts = (trip.headsign, trip.direction, trip.departs_s, trip.arrives_s)
        values = dict(zip(("headsign", "direction", "departs_s", "arrives_s"), facts, strict=True))
        before = known.get((line_ids[trip.line], trip.code))
        if before is None:
            new.append({"line_id": line_ids[trip.line], "code": trip.code, "recorded_at": at, **values})
        elif before[1] != facts:
            changed.append({"id": before[0], **values})
        else:
            report.unchanged += 1
    for start in range(0, len(new), _CHUNK):
        session.execute(insert(TripRow), new[start : start + _CHUNK])
    if changed:
        session.execute(update(TripRow), changed)
    report.trips, report.trips_changed = len(new), len(changed)
