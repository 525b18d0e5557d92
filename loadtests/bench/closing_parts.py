"""The parts of `closing` that run in processes of their own: `python -m loadtests.bench.closing_parts PART CPUS`."""

import json
import os
import resource
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from backoffice.adapters.law_file import packaged_law
from backoffice.application.close_month import close_month
from backoffice.application.collector import no_search_for_cycles
from backoffice.application.ingest import rebuild_all
from backoffice.application.month_rides import JournalMonth
from backoffice.application.rebuild import no_progress
from backoffice.application.staff import as_city, staff_by_login
from backoffice.persistence.base import make_engine
from backoffice.persistence.claims import RatedRow
from loadtests.bench.city import city_view, holder_of_category, usage_of_category
from loadtests.bench.ingest import law
from loadtests.bench.machine import pin
from loadtests.bench.month import MONTH
from loadtests.demand import CATEGORIES
from validator.domain.boarding import CARD, Medium, Tap, decide
from validator.domain.money import Cents
from validator.domain.service_time import Month
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category, MediumKind

_AT = datetime(2026, 4, 3, 12, tzinfo=UTC)
_CASH = Medium(MediumKind.CASH, tendered_cents=Cents(500))
_PAGE = 500


def stream(engine: Engine) -> dict[str, float]:
    """Read every row of the month through the same driver and statements, and decide it: the least that can be done."""
    view = city_view()
    holders = {category: holder_of_category(category) for category in CATEGORIES}
    usages = {category: usage_of_category(category) for category in CATEGORIES}
    began, count = time.perf_counter(), 0
    with no_search_for_cycles(), Session(engine) as session:  # as closing does
        journal = JournalMonth(session, Month(MONTH), _AT, {})
        names = journal.holders()
        pages = (journal.of_holders(names[start : start + _PAGE]) for start in range(0, len(names), _PAGE))
        rides = (row for page in pages for rows in page.values() for row in rows)
        for row in rides:
            count += 1
            category = Category(row.category or "FULL")
            network = view.networks.get(row.line or "")
            tap = Tap(row.boarding_id, row.dated_at, row.line or "", network, row.vehicle or "", CARD)
            decide(tap, holders[category], usages[category], view.city)
        for rows in journal.of_nobody():
            for row in rows:
                count += 1
                network = view.networks.get(row.line or "")
                tap = Tap(row.boarding_id, row.dated_at, row.line or "", network, row.vehicle or "", _CASH)
                decide(tap, None, Usage(), view.city)
    return {"seconds": time.perf_counter() - began, "rows": count}


def close(engine: Engine) -> dict[str, float]:
    """Close the month."""
    with Session(engine) as session:
        by = as_city(staff_by_login(session, "gestor", _AT))
    began = time.perf_counter()
    close_month(engine, packaged_law(), Month(MONTH), at=_AT, by=by)
    seconds = time.perf_counter() - began
    peak_mb = _peak_mb()
    with Session(engine) as session:
        rated = session.scalar(select(func.count()).select_from(RatedRow)) or 0
    return {"seconds": seconds, "peak_mb": peak_mb, "rated": rated}


def _peak_mb() -> float:
    """The most memory that this process has held; `ru_maxrss` would tell that of its parent, from before `exec`."""
    status = Path("/proc/self/status")
    if status.exists():
        kilobytes = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(kilobytes.split()[1]) / 1_024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # macOS: bytes


def rebuild(engine: Engine, redis_url: str) -> dict[str, float]:
    """Rebuild an empty Redis."""
    began = time.perf_counter()
    rebuild_all(engine, redis_url, law(), lambda: _AT, no_progress)
    return {"seconds": time.perf_counter() - began}


def main() -> None:
    """Run the part that the arguments name, and print what it found as one line of JSON."""
    part, cpus, database, *more = sys.argv[1:]
    pin(os.getpid(), frozenset(int(cpu) for cpu in cpus.split(",") if cpu))
    engine = make_engine(database)
    told = rebuild(engine, *more) if part == "rebuild" else {"stream": stream, "close": close}[part](engine)
    engine.dispose()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
