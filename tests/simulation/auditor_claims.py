"""The closed claims against the auditor's own rating: verdicts, bills, lines and totals."""

from collections.abc import Iterator

from tests.simulation.auditor_law import STUDENT
from tests.simulation.auditor_month import Rated
from tests.simulation.facts import Observed


def claims_agree(observed: Observed, rated: list[Rated]) -> Iterator[str]:
    """Verdicts, bills, lines and totals of the closed claims against the auditor's own."""
    wanted = {one.boarding: one for one in rated}
    said = {row["boarding_id"]: row for row in observed.rows["rated_boardings"]}
    for boarding in sorted(wanted.keys() ^ said.keys()):
        where = "the closing rates" if boarding in said else "the closing leaves out"
        yield f"{where} {boarding}: {wanted.get(boarding) or said.get(boarding)}"
    for boarding in sorted(wanted.keys() & said.keys()):
        one, row = wanted[boarding], said[boarding]
        own = (one.month, one.operator, one.verdict, one.reason, one.category, one.fare, one.rider, one.city)
        cents = ("fare_cents", "rider_cents", "city_cents")
        names = ("month", "operator", "verdict", "reason", "category", *cents)
        if own != tuple(row[name] for name in names):
            yield f"{boarding}: the closing says {tuple(row[name] for name in names)}, the auditor {own}"
    yield from _sums(observed, rated)


def _sums(observed: Observed, rated: list[Rated]) -> Iterator[str]:
    totals, halves = dict[tuple[str, str], int](), dict[tuple[str, str], int]()
    for one in rated:
        if one.verdict == "billable":
            key = (one.operator, one.month)
            totals[key] = totals.get(key, 0) + one.city
    holders = {row["boarding_id"]: row["holder"] for row in observed.rows["boardings"]}
    months = {row["boarding_id"]: row["month"] for row in observed.rows["rated_boardings"]}
    categories = {row["boarding_id"]: row["category"] for row in observed.rows["rated_boardings"]}
    bills: dict[object, int] = {}
    claims = {row["id"]: row for row in observed.rows["claims"]}
    lines: dict[object, int] = {}
    for row in observed.rows["claim_lines"]:
        lines[row["claim_id"]] = lines.get(row["claim_id"], 0) + int(row["total_cents"])  # type: ignore[call-overload]
    seen: set[object] = set()
    for row in observed.rows["claim_entries"]:
        boarding = str(row["boarding_id"])
        if boarding in seen:
            yield f"{boarding} is billed twice"
        seen.add(boarding)
        bills[row["claim_id"]] = bills.get(row["claim_id"], 0) + int(row["cents"])  # type: ignore[call-overload]
        if categories[boarding] == STUDENT:
            half = (str(holders[boarding]), str(months[boarding]))
            halves[half] = halves.get(half, 0) + 1
    for key, count in halves.items():
        if count > 50:
            yield f"holder {key[0]} is billed {count} half fares in {key[1]}"
    for number, claim in claims.items():
        key = (str(claim["operator"]), str(claim["month"]))
        sums = (claim["total_cents"], claim["lines_cents"], lines.get(number, 0), bills.get(number, 0))
        if len({*sums, totals.get(key, 0)}) != 1:
            yield f"claim of {key}: total, lines and bills are {sums}, the auditor has {totals.get(key, 0)}"
    for key in totals.keys() - {(str(c["operator"]), str(c["month"])) for c in claims.values()}:
        yield f"no claim for {key}, where {totals[key]} centavos are due"
