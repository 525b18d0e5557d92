"""The straight way of ingest gives the rows of the careful way, and takes nothing that the careful way rejects."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from backoffice.adapters.journal_stream import StreamItem
from backoffice.application.ingest_plan import decode
from backoffice.application.ingest_rows import Unfit, boarding_row
from backoffice.application.ingest_straight import boarding_values, fitting
from backoffice.persistence.bulk import wire_of
from backoffice.persistence.journal import BoardingRow
from tests.backoffice.journal_play import NOW, boarding
from validator.records.journal import JournalEntry, pack_entry
from validator.records.packing import to_micros
from validator.records.usage import OwnEffect

SQLITE = wire_of("sqlite")
NUMBERS = st.sampled_from([0, 1, 450, -1, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, -(2**63)])
COUNTS = st.sampled_from([0, 1, 7, -1, 2**63 - 1, 2**63])
INSTANTS = st.sampled_from(
    [to_micros(NOW), 0, -1, -(2**61), 2**62, -1_700_000_000_000_001, 253_402_300_799_999_999]
)
TEXTS = st.sampled_from(["", "102", "a\tb\\N\n", "None", "\x00", "é\u2028"])
CODES = st.integers(-1, 13)
IDS = st.sampled_from([b"", b"\x01" * 15, b"\x01" * 16, b"\x01" * 17])
CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "kind": st.integers(0, 1),
    "device": TEXTS,
    "epoch": COUNTS,
    "seq": COUNTS,
    "digest": st.sampled_from([b"", b"\x02" * 32, b"\x02" * 33]),
    "received_micros": INSTANTS,
    "batch": st.booleans(),
    "boarding": st.none() | IDS,
    "occurred_micros": st.none() | INSTANTS,
    "dated_micros": st.none() | INSTANTS,
    "medium": st.none() | CODES,
    "keyed": st.none() | CODES,
    "holder": st.sampled_from(
        [None, "short", "00000000000000aa", 0xAA, 2**64 - 1, -1, "0000000\x00000000aa"]
    ),
    "reason": st.none() | st.integers(-1, 40),
    "category": st.none() | CODES,
    "turnstile": st.none() | CODES,
    "continues": st.none() | IDS,
    "flags": NUMBERS,
    "own": st.builds(
        OwnEffect, st.integers(0, 11), st.none() | st.integers(0, 5), st.booleans(), st.booleans()
    ),
    **dict.fromkeys(("line", "vehicle", "trip", "document", "rule", "rules"), st.none() | TEXTS),
    **dict.fromkeys(("tendered_cents", "card_number", "card_issue", "revision"), st.none() | NUMBERS),
    **dict.fromkeys(("city_revision", "month_boardings", "passes"), st.none() | NUMBERS),
    **dict.fromkeys(("fare_cents", "rider_cents", "city_cents", "operator_cents", "change_cents"), NUMBERS),
}


@st.composite
def entries(draw: st.DrawFn) -> JournalEntry:
    """A boarding with some fields changed, mostly few."""
    names = draw(st.lists(st.sampled_from(sorted(CHANGES)), max_size=4, unique=True))
    changes = {name: draw(CHANGES[name]) for name in names}
    ordinary = boarding("v-1", 1, draw(st.sampled_from([None, "00000000000000aa"])))
    return msgspec.structs.replace(ordinary, **changes)


@given(entries())
@example(boarding("v-1", 1, "00000000000000aa"))
def test_the_straight_way_gives_the_rows_of_the_careful_way(entry: JournalEntry) -> None:
    item = StreamItem(3, "5-0", pack_entry(entry), 7, 2)
    straight = fitting(item)
    careful = decode(item).entry
    try:
        row = None if careful is None else boarding_row(item, careful)
    except Unfit:
        row = None
    if straight is None:
        return
    assert row is not None, "the straight way takes what the careful way rejects"
    values = dict(zip(BoardingRow.__table__.c.keys(), boarding_values(item, straight, SQLITE), strict=True))
    assert values == {name: as_stored(name, value) for name, value in row.items()}


def as_stored(name: str, value: Any) -> Any:
    """A value as SQLite holds it."""
    if isinstance(value, datetime):
        return to_micros(value)
    return UUID(value).hex if name in ("boarding_id", "continues") and value is not None else value


def test_ordinary_boardings_go_the_straight_way_and_nothing_else_does() -> None:
    ordinary = boarding("v-1", 1, "00000000000000aa")
    assert fitting(StreamItem(3, "5-0", pack_entry(ordinary), 7, 2)) is not None
    release = msgspec.structs.replace(ordinary, kind=2)
    assert fitting(StreamItem(3, "5-0", pack_entry(release), 7, 2)) is None
    assert fitting(StreamItem(3, "5-0", b"\x02poison", 7, 2)) is None
