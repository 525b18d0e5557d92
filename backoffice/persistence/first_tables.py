"""The tables as SQL, for the first migration: `python -m backoffice.persistence.first_tables` writes its files again.

Only until the first release; from then on every change of a table is a migration of its own. A test compares the files
with the tables, checks of the law included, which `alembic check` does not see.
"""

from pathlib import Path

from sqlalchemy import Dialect
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from backoffice.persistence.append_only import triggers
from backoffice.persistence.journal import DEFAULT_PARTITION
from backoffice.persistence.tables import all_tables

FOLDER = Path(__file__).parent / "migrations" / "versions"
DIALECTS: dict[str, Dialect] = {
    "postgresql": postgresql.dialect(),  # type: ignore[no-untyped-call]
    "sqlite": sqlite.dialect(),
}
END = ";\n\n"
"""What ends a statement in the files; it stands inside none."""


def sql_file(dialect: str) -> Path:
    """The file of the first tables for a database."""
    return FOLDER / f"first_tables.{dialect}.sql"


def statements(dialect: str) -> list[str]:
    """The statements of the file, in order."""
    return [part for part in sql_file(dialect).read_text(encoding="utf-8").split(END) if part.strip()]


def tables_as_sql(dialect: str) -> str:
    """All tables, indexes and triggers of the program as SQL of one database."""
    made = [str(statement) for statement in _statements(DIALECTS[dialect])]
    if dialect == "postgresql":
        made.append(DEFAULT_PARTITION)
    made += triggers(dialect)
    lines = ("\n".join(line.rstrip() for line in statement.strip().splitlines()) for statement in made)
    return END.join(lines) + END


def _statements(dialect: Dialect) -> list[object]:
    made: list[object] = []
    for table in all_tables().sorted_tables:
        made.append(CreateTable(table).compile(dialect=dialect))
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        made.extend(CreateIndex(index).compile(dialect=dialect) for index in indexes)
    return made


def write_files() -> None:
    """Write the files of all databases."""
    for dialect in DIALECTS:
        sql_file(dialect).write_text(tables_as_sql(dialect), encoding="utf-8")


if __name__ == "__main__":
    write_files()
