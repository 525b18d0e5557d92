"""A tap: what the reader saw, where, and when."""

from datetime import datetime
from typing import NamedTuple

from validator.domain.money import ZERO, Cents
from validator.domain.vocabulary import Category, MediumKind, Network


class Medium(NamedTuple):
    """How the rider presented himself: a card or uid of a holder, a document, a driver's key, or cash in centavos."""

    kind: MediumKind
    category: Category | None = None
    tendered_cents: Cents = ZERO


CARD = Medium(MediumKind.CARD)
UID = Medium(MediumKind.UID)


class Continued(NamedTuple):
    """The boarding that a breakdown cut short, resolved from its id (Lei art. 48, VI)."""

    occurred_at: datetime
    vehicle: str
    category: Category


class Tap(NamedTuple):
    """What the reader saw and when; `network` is None for a line that nobody knows."""

    boarding_id: str
    occurred_at: datetime
    line: str
    network: Network | None
    vehicle: str
    medium: Medium
    continues: Continued | None = None
