"""Assemble the back office from its settings: database, law, keys, clock and chance."""

import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog
from fastapi import FastAPI
from sqlalchemy import Engine

from backoffice.adapters.chance import SystemChance
from backoffice.adapters.city_keys import CityKeys
from backoffice.adapters.embedded_redis import EmbeddedRedis
from backoffice.adapters.file_clock import file_clock
from backoffice.adapters.law_file import law_from, law_mapping_from
from backoffice.api.app import create_api
from backoffice.api.parts import ApiParts
from backoffice.application.ingest_lag import lag
from backoffice.application.ports import CardSigner, Chance
from backoffice.application.publish import Law
from backoffice.persistence.base import make_engine
from backoffice.persistence.migrate import is_current, migrate
from backoffice.settings import Settings
from validator.domain.rules import RuleBook

Clock = Callable[[], datetime]
"""Tells the instant, with offset."""


class DatabaseOutdated(RuntimeError):
    """The database has not the tables of this program; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Backoffice:
    """All that the commands and the HTTP API work with.

    Attributes:
        settings: What was set.
        engine: The database.
        book: The rule table.
        signer: The city's keys.
        chance: Draws of numbers.
        clock: Tells the instant.
    """

    settings: Settings
    engine: Engine
    book: RuleBook
    signer: CardSigner
    chance: Chance
    clock: Clock


def system_clock() -> datetime:
    """The instant by this machine's clock, in UTC."""
    return datetime.now(UTC)


def clock_of(settings: Settings) -> Clock:
    """The machine's clock, or the demonstration's, which plays a month that is not now."""
    return system_clock if settings.demo_clock_file is None else file_clock(settings.demo_clock_file)


def open_database(settings: Settings) -> Engine:
    """The database with the tables of this program; our own SQLite is made and migrated here.

    Raises:
        DatabaseOutdated: a database that somebody named has other tables.
    """
    engine = make_engine(reserve_database(settings))
    try:
        current = is_current(engine)
    except BaseException:
        engine.dispose()
        raise
    if not current:
        if not settings.embedded_database:
            engine.dispose()
            raise DatabaseOutdated(
                "o banco de dados não tem as tabelas deste programa; rode: catraca migrate"
            )
        migrate(engine)
    return engine


def reserve_database(settings: Settings) -> str:
    """The database's address. Our own file is made first, for its owner alone: it holds names and CPFs.

    The folder may be anybody's who named it; what SQLite adds beside the file takes the file's mode.
    """
    if settings.embedded_database:
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(settings.embedded_file, os.O_RDWR | os.O_CREAT, 0o600))
    return settings.database


def law_of(settings: Settings) -> Law:
    """The rule table for the publisher and the ingester.

    Raises:
        LawError: it breaks its form.
    """
    return Law(law_from(settings.law_file), law_mapping_from(settings.law_file))


def configure_logs(settings: Settings) -> None:
    """One JSON object a line on standard error, also of what the libraries say."""
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    to_json = structlog.processors.JSONRenderer(ensure_ascii=False)
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, *shared, to_json],
        wrapper_class=structlog.make_filtering_bound_logger(settings.log_level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )
    libraries = logging.StreamHandler(sys.stderr)
    libraries.setFormatter(structlog.stdlib.ProcessorFormatter(to_json, foreign_pre_chain=shared))
    logging.basicConfig(handlers=[libraries], level=settings.log_level.upper(), force=True)
    for chatty in ("alembic", "httpx", "httpx2"):
        logging.getLogger(chatty).setLevel(logging.WARNING)  # an address of theirs may name a person


def create_app() -> FastAPI:
    """The HTTP API of one process.

    Raises:
        DatabaseOutdated, LawError: see `build`.
    """
    office = build()
    redis_url = office.settings.redis_url or EmbeddedRedis(office.settings.data_dir).url

    def gauges() -> dict[str, float]:
        return lag(office.engine, redis_url, office.clock())

    return create_api(
        ApiParts(office.engine, office.book, office.signer, office.chance, office.clock, is_current, gauges)
    )


def build(
    settings: Settings | None = None,
    *,
    clock: Clock | None = None,
    chance: Chance | None = None,
    signer: CardSigner | None = None,
) -> Backoffice:
    """The back office of these settings; without any, those of the environment.

    Raises:
        DatabaseOutdated: see `open_database`.
        LawError: the rule table breaks its form.
    """
    settings = settings or Settings()
    return Backoffice(
        settings=settings,
        engine=open_database(settings),
        book=law_from(settings.law_file),
        signer=signer or CityKeys(settings.keys_dir),
        chance=chance or SystemChance(),
        clock=clock or clock_of(settings),
    )
