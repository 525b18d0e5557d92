"""What the HTTP API works with; the bootstrap puts it together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from backoffice.application.ports import CardSigner, Chance
from validator.domain.rules import RuleBook


@dataclass(frozen=True, slots=True)
class ApiParts:
    """Database, law, keys, chance and clock of one process.

    Attributes:
        engine: The database.
        book: The rule table.
        signer: The city's keys.
        chance: Draws of numbers.
        clock: Tells the instant.
        is_current: Whether the database has this program's tables.
        gauges: Numbers for the metrics page, by name.
    """

    engine: Engine
    book: RuleBook
    signer: CardSigner
    chance: Chance
    clock: Callable[[], datetime]
    is_current: Callable[[Engine], bool]
    gauges: Callable[[], Mapping[str, float]] = dict
