"""What truly happened in a simulated city: plain facts, for the auditor. Standard library only.

The player writes them down as things happen, whatever the product makes of them. Instants carry an offset.
"""

from dataclasses import dataclass, field
from datetime import date, datetime


@dataclass(frozen=True)
class RightGiven:
    """A right was recorded, from a first civil day until the first day without it."""

    right: int
    category: str
    first: date
    until: date | None = None


@dataclass(frozen=True)
class RightEnded:
    """The first civil day without a right was recorded; the last record counts."""

    right: int
    until: date


@dataclass(frozen=True)
class RightPaused:
    """A right was suspended over [first, until); `replaces` names the suspension whose days this corrects."""

    pause: int
    right: int
    first: date
    until: date | None
    replaces: int | None = None


@dataclass(frozen=True)
class PassesSold:
    """Passes were sold: face fare and price paid in centavos, each."""

    product: str
    network: str
    units: int
    face: int
    paid: int


@dataclass(frozen=True)
class CardSet:
    """A card's issue got a state: LIVE, BLOCKED or REPLACED. A new issue begins LIVE."""

    number: int
    issue: int
    state: str


Change = RightGiven | RightEnded | RightPaused | PassesSold | CardSet


@dataclass
class Recorded:
    """A change of the register: when it was recorded, and when validators could first see it."""

    at: datetime
    change: Change
    shown: datetime | None = None


@dataclass
class Person:
    """A holder: hot id, birth date, and all that was recorded, in order."""

    hot_id: str
    birth: date | None
    record: list[Recorded] = field(default_factory=list)


@dataclass(frozen=True)
class Token:
    """A card's token text: whose it says it is, and whether the city signed it."""

    hot_id: str
    number: int
    issue: int
    signed: bool = True


@dataclass(frozen=True)
class FareSet:
    """A fare in centavos; `last` only for days of their own."""

    network: str
    first: date
    last: date | None
    cents: int


@dataclass(frozen=True)
class Attempt:
    """Bytes that reached the service: one tap, one annulment, or a batch of sequences first..last.

    Attributes:
        received: The service's own instant, different for each attempt.
        sent: The device's clock when it sent them.
    """

    kind: str
    device: str
    epoch: int
    first: int
    last: int
    received: datetime
    sent: datetime


@dataclass(frozen=True)
class Answer:
    """What the service answered to one tap: everything but `replayed`, `durable_seq` and `missing`."""

    boarding: str
    digest: bytes
    received: datetime
    outcome: str
    reason: str
    ride_class: str | None
    fare: int
    rider: int
    change: int
    turnstile: str
    left_in_month: int | None
    passes: int | None
    purse: str | None


@dataclass(frozen=True)
class Revoked:
    """A device was revoked, as stolen at this instant; validators knew at once."""

    at: datetime


@dataclass
class Mended:
    """A broken bus runs again; when validators could first see it."""

    at: datetime
    shown: datetime | None = None


@dataclass
class BrokeDown:
    """A bus was declared broken, since an instant; when validators could first see it."""

    vehicle: str
    since: datetime
    shown: datetime | None = None
    mended: Mended | None = None


@dataclass
class Journal:
    """All entries that one device ever wrote in one epoch, in order: exact bytes; `covered` by a signed head."""

    device: str
    epoch: int
    entries: list[bytes] = field(default_factory=list)


@dataclass
class Facts:
    """A city and everything that happened in it.

    Attributes:
        lines: Network and operator by line.
        vehicles: Operator by vehicle.
        devices: Operator by device.
        hangs_in: Vehicle by device, by registration.
        revoked: The stolen devices.
        losses: Instants at which Redis lost commits that had been answered.
    """

    seed: int = 0
    lines: dict[str, tuple[str, str]] = field(default_factory=dict)
    vehicles: dict[str, str] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)
    hangs_in: dict[str, str] = field(default_factory=dict)
    fares: list[FareSet] = field(default_factory=list)
    people: dict[str, Person] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    journals: dict[tuple[str, int], Journal] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    losses: list[datetime] = field(default_factory=list)
    revoked: dict[str, Revoked] = field(default_factory=dict)
    broken: list[BrokeDown] = field(default_factory=list)


@dataclass
class Observed:
    """What the product holds at the end, as plain values.

    Attributes:
        rows: SQL rows by table, as dictionaries.
        order: The place of each (device, epoch, sequence) in the order in which they came into SQL.
        usage: What Redis says of each holder: `half` by month, `used` and `returned` by purse, `last` boarding id.
        told: (durable_seq, top_seq) in Redis by (device, epoch).
        immortal: Keys of Redis that should have a time to live and have none.
        closings: By month: claims by operator as (total_cents, line rows, sum of entries).
    """

    rows: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    order: dict[tuple[str, int, int], int] = field(default_factory=dict)
    usage: dict[str, dict[str, object]] = field(default_factory=dict)
    told: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    immortal: list[str] = field(default_factory=list)
    early_faults: list[str] = field(default_factory=list)
