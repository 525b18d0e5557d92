"""The founded city as files, made once in a process; each seed plays on a copy."""

import copy
import shutil
from dataclasses import dataclass
from pathlib import Path

from backoffice.persistence.base import make_engine
from backoffice.persistence.tables import all_tables
from tests.simulation.found_city import FOUNDED, City, Founder
from tests.simulation.services import Services


@dataclass(frozen=True)
class Template:
    """A database and a Redis file with the city in them, and what the founder knows."""

    folder: Path
    city: City


def make_template(folder: Path, copies: int = 1) -> Template:
    """Found the city and publish it."""
    folder.mkdir(parents=True, exist_ok=True)
    engine = make_engine(f"sqlite:///{folder / 'city.sqlite'}")
    with engine.execution_options(catraca_writes=True).begin() as connection:
        all_tables().create_all(connection)
    city = Founder(engine).found(copies)
    services = Services(engine, folder / "hot", lambda: FOUNDED)
    try:
        services.start(validators=0)
        services.server.stop()
    finally:
        services.stop()
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        engine.dispose()
    return Template(folder, city)


def copied(template: Template, folder: Path) -> City:
    """Put the files of a template into an empty folder, and give what the founder knows as a copy."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(template.folder / "city.sqlite", folder)
    kept = template.folder / "hot" / "redis" / "appendonlydir"
    shutil.copytree(kept, folder / "hot" / "redis" / "appendonlydir")
    return copy.deepcopy(template.city)
