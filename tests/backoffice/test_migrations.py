"""The tables of a database are those of the program, on SQLite and PostgreSQL."""

import concurrent.futures

import pytest
from alembic.util.exc import CommandError
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError

from backoffice.persistence.append_only import TABLES
from backoffice.persistence.base import make_engine
from backoffice.persistence.first_tables import sql_file, tables_as_sql
from backoffice.persistence.migrate import check_tables, is_current, migrate
from backoffice.persistence.tables import all_tables
from tests.backoffice.register_city import RegisterCity

NOT_FILLED = {
    "datings",
    "device_code_uses",
    "device_codes",
    "breakdowns",
    "claim_entries",
    "claim_lines",
    "claim_states",
    "claims",
    "device_keys",
    "device_revocations",
    "holder_end_states",
    "month_closings",
    "operator_endings",
    "rated_boardings",
    "repairs",
    "right_endings",
    "right_suspensions",
    "school_years",
}
"""Tables that the small city of the tests leaves empty."""


def test_a_migrated_database_has_the_tables_of_the_program(database_url: str):
    engine = make_engine(database_url)

    migrate(engine)

    check_tables(engine)
    assert is_current(engine)
    assert set(all_tables().tables) <= set(inspect(engine).get_table_names())
    engine.dispose()


def test_an_empty_database_is_not_current(database_url: str):
    engine = make_engine(database_url)

    assert not is_current(engine)
    with pytest.raises(CommandError):
        check_tables(engine)
    engine.dispose()


def test_migrating_again_changes_nothing(database_url: str):
    engine = make_engine(database_url)
    migrate(engine)

    migrate(engine)

    assert is_current(engine)
    engine.dispose()


def test_processes_that_migrate_at_once_do_not_disturb_each_other(database_url: str):
    engines = [make_engine(database_url) for _ in range(3)]

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(migrate, engines))

    assert is_current(engines[0])
    for engine in engines:
        engine.dispose()


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_the_first_migration_is_what_the_tables_say_checks_included(dialect: str):
    written = sql_file(dialect).read_text(encoding="utf-8")

    assert written == tables_as_sql(dialect)


@pytest.mark.parametrize("change", ["UPDATE {table} SET {column} = {column}", "DELETE FROM {table}"])
def test_rows_of_money_and_rights_are_never_changed(city: RegisterCity, change: str):
    city.sell(city.student(), 5)
    city.bind(city.card(1).number, "04A2B3C4D5E680")

    filled = [table for table in TABLES if table not in NOT_FILLED]

    for table in filled:
        column = next(iter(all_tables().tables[table].columns)).name
        with pytest.raises(IntegrityError, match="never changed"), city.writing() as session:
            session.execute(text(change.format(table=table, column=column)))
