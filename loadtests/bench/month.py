"""A city's month in PostgreSQL, large enough to be closed with a watch in hand."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

import psycopg
from sqlalchemy import create_engine

from backoffice.persistence.journal_effects import pack_effects
from backoffice.persistence.migrate import migrate
from backoffice.persistence.partitions import ensure_partitions
from loadtests.demand import CATEGORIES, HOURS
from validator.domain.vocabulary import Category, class_of
from validator.records.codes import CATEGORY_CODE, PURSE_CODE
from validator.records.keys import holder_shard
from validator.records.usage import EffectRecord, LastRecord

MONTH = "2026-03"
RIDES = 25
"""Rides of one holder in the month; students stay under their cap."""

_SPENDS = {Category.VT: "VT", Category.PREPAID: "PREPAID", Category.STUDENT_50: "STUDENT"}
_AT_MICROS = 1_772_700_000_000_000


@dataclass(frozen=True, slots=True)
class CityMonth:
    """How large the month is."""

    holders: int
    cash: int

    @property
    def boardings(self) -> int:
        """All boardings of the month."""
        return self.holders * RIDES + self.cash


def month_of_size(boardings: int) -> CityMonth:
    """A month with about so many boardings, a quarter of them paid in money as in real demand."""
    cash = round(boardings * CATEGORIES[Category.FULL] / sum(CATEGORIES.values()))
    return CityMonth(max(1, (boardings - cash) // RIDES), cash)


def write_month(database: str, month: CityMonth) -> None:
    """Make the tables in an empty database and fill them."""
    engine = create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    migrate(engine)
    ensure_partitions(engine, [MONTH])
    engine.dispose()
    _write_homes(database, month.holders)
    _run(database, _text("month.sql", holders_sql=_holders(1, month.holders), **_values(month)), "ANALYZE")


def add_idle_holders(database: str, month: CityMonth, total: int) -> None:
    """Register more holders, who do not ride in this month, until there are so many."""
    if total > month.holders:
        _run(database, _holders(month.holders + 1, total), "ANALYZE")


def remove_idle_holders(database: str, month: CityMonth) -> None:
    """Take them out again."""
    tables = ("sales", "enrolments", "rights", "right_requests", "lives")
    statements = [f"DELETE FROM {name} WHERE holder_id > {month.holders}" for name in tables]  # noqa: S608
    statements.append(f"DELETE FROM holders WHERE id > {month.holders}")  # noqa: S608 - a number of our own
    _run(database, *statements, "VACUUM ANALYZE")


def _holders(first: int, last: int) -> str:
    return _text("holders.sql", first=str(first), last=str(last), category=_category("n"))


def _text(name: str, **values: str) -> str:
    text = (resources.files("loadtests.bench") / name).read_text(encoding="utf-8")
    for word, value in values.items():
        text = text.replace("{" + word + "}", value)
    return text


def _run(database: str, *statements: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SET work_mem = '256MB'")
        connection.execute("SET session_replication_role = replica")  # the rows are right by construction
        for statement in statements:
            connection.execute(statement.encode())


def _write_homes(database: str, holders: int) -> None:
    """The shard of each holder, which the database cannot compute: a rebuild finds a holder's rides in his own."""
    _run(database, "CREATE UNLOGGED TABLE bench_homes (holder int PRIMARY KEY, shard int)")
    with (
        psycopg.connect(database, autocommit=True) as connection,
        connection.cursor() as cursor,
        cursor.copy("COPY bench_homes FROM STDIN") as copy,
    ):
        for number in range(1, holders + 1):
            hot_id = hashlib.md5(f"h{number}".encode(), usedforsecurity=False).hexdigest()[:16]
            copy.write_row((number, holder_shard(hot_id)))


def _values(month: CityMonth) -> dict[str, str]:
    return {
        "holders": str(month.holders),
        "rides": str(RIDES),
        "cash": str(month.cash),
        "category_of_h": _category("h"),
        "shares": "\n".join(_shares()),
        "hours": f"ARRAY[{','.join(map(str, _hours()))}]",
    }


def _category(number: str) -> str:
    """SQL for the category of a holder by number, in the proportions of real demand."""
    with_card = {name: count for name, count in CATEGORIES.items() if name is not Category.FULL}
    total, reached, cases = sum(with_card.values()), 0, []
    for name, count in with_card.items():
        reached += count
        cases.append(
            f"WHEN {number}::bigint * 7919 % 1000 < {1000 * reached / total:.0f} THEN '{name.value}'"
        )
    return f"(CASE {' '.join(cases)} ELSE 'VT' END)"


def _shares() -> Iterator[str]:
    for category in CATEGORIES:
        effects = "NULL" if category is Category.FULL else f"'\\x{_effects(category).hex()}'"
        values = f"('{category.value}', '{class_of(category).value}', {effects})"
        yield f"INSERT INTO bench_shares VALUES {values};"  # noqa: S608 - words of our own


def _effects(category: Category) -> bytes:
    """What such a ride did to its holder's usage; all name one boarding, which a fold does not mind."""
    purse = _SPENDS.get(category)
    boarding = LastRecord(
        bytes.fromhex("0193c0de7b0a70008000000000000001"), _AT_MICROS, "1000", CATEGORY_CODE[category]
    )
    uses = None if purse is None else PURSE_CODE[purse]
    student = category is Category.STUDENT_50
    packed = pack_effects((EffectRecord(202603, uses, student, boarding, purse is None or student),))
    assert packed is not None
    return packed


def _hours() -> list[int]:
    """A thousand hours of the day in the proportions of real demand."""
    total = sum(HOURS)
    hours = [hour for hour, count in enumerate(HOURS) for _ in range(round(1000 * count / total))]
    return (hours + [17] * 1000)[:1000]
