"""The straight way of ingest, for the nine entries in ten that are taps with nothing odd about them.

Three steps, each in compiled code: MessagePack decodes into a type whose bounds are those of the columns (`fitting`),
its fields become the values of one row in the form that the database's driver wants (`boarding_values`), and the rows
of a round go in at once (`bulk.insert_values`). Whatever does not fit, and every round that the database refuses, goes
the careful way (`ingest_plan`, `ingest_rows`), which gives the same rows and says why where it gives others.
"""

from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from backoffice.adapters.journal_stream import StreamItem
from backoffice.application.ingest_rows import month_at
from backoffice.persistence.bulk import Wire
from backoffice.persistence.journal_effects import pack_effects
from validator.domain.reasons import Reason
from validator.records.codes import CATEGORIES, MEDIA, TURNSTILES, EntryKind
from validator.records.journal import JournalEntry, whole_effects
from validator.records.packing import Packed, RecordError, unpack

_Int = Annotated[int, Meta(ge=-(2**31 - 1), le=2**31 - 1)]
_Big = Annotated[int, Meta(ge=-(2**63 - 1), le=2**63 - 1)]
_Count = Annotated[int, Meta(ge=1, le=2**63 - 1)]
_Micros = Annotated[int, Meta(ge=-1_700_000_000_000_000, le=250_000_000_000_000_000)]
"""From 1916 to 9892: on both sides of it the careful way decides what an instant is."""
_Digest = Annotated[bytes, Meta(min_length=32, max_length=32)]
_Uuid = Annotated[bytes, Meta(min_length=16, max_length=16)]

_KIND = {int(kind): kind.name for kind in EntryKind}
_REASON = {int(reason): reason.name for reason in Reason}
_MEDIUM: dict[int | None, str | None] = {None: None, **{code: word.value for code, word in enumerate(MEDIA)}}
_CATEGORY: dict[int | None, str | None] = {
    None: None,
    **{code: word.value for code, word in enumerate(CATEGORIES)},
}
_TURNSTILE: dict[int | None, str | None] = {
    None: None,
    **{code: word.value for code, word in enumerate(TURNSTILES)},
}
_CODES: dict[str, dict[Any, Any]] = {
    "reason": _REASON,
    "medium": _MEDIUM,
    "keyed": _CATEGORY,
    "category": _CATEGORY,
    "turnstile": _TURNSTILE,
}
"""Fields that hold a code, with the word for each code that there is."""


_FITS: dict[str, Any] = {
    "kind": Literal[0, 1],
    "device": Annotated[str, Meta(min_length=1)],
    "epoch": _Count,
    "seq": _Count,
    "digest": _Digest,
    "received_micros": _Micros,
    "boarding": _Uuid,
    "occurred_micros": _Micros | None,
    "dated_micros": _Micros | None,
    "holder": Annotated[int, Meta(ge=0)] | Annotated[str, Meta(min_length=16, max_length=16)] | None,
    "card_issue": _Int | None,
    "continues": _Uuid | None,
    "flags": _Int,
}
_BY_TYPE: dict[Any, Any] = {int: _Big, int | None: _Big | None}


def _bounded(field: msgspec.structs.FieldInfo) -> tuple[str, Any] | tuple[str, Any, Any]:
    words = _CODES.get(field.name)
    kind = (
        _FITS.get(field.name, _BY_TYPE.get(field.type, field.type))
        if words is None
        else Literal[tuple(words)]
    )
    return (field.name, kind) if field.required else (field.name, kind, field.default)


_Fitting = msgspec.defstruct(
    "_Fitting",
    [_bounded(field) for field in msgspec.structs.fields(JournalEntry)],
    bases=(Packed,),
    namespace={name: getattr(JournalEntry, name) for name in ("holder_id", "rules_version")},
    frozen=True,
)
_decoder: Any = msgspec.msgpack.Decoder(_Fitting)


def fitting(item: StreamItem) -> JournalEntry | None:
    """The entry of an item where it is a boarding or refusal whose fields fit their columns; None for all others."""
    try:
        entry: JournalEntry = unpack(item.entry, _decoder)
    except RecordError:
        return None
    # The decoder looks at no default: an entry that ends early has no reason.
    if entry.reason is None or (entry.dated_micros is None and entry.occurred_micros is None):
        return None
    given = f"{entry.device}{entry.line}{entry.vehicle}{entry.trip}{entry.document}{entry.holder}"
    return None if "\x00" in f"{given}{entry.rule}{entry.rules}" else entry


def boarding_values(item: StreamItem, entry: JournalEntry, wire: Wire) -> tuple[Any, ...]:
    """The row of a fitting entry: the values that `boarding_row` gives, in the order of the table's columns."""
    origin, as_id = wire
    occurred = entry.occurred_micros
    dated = cast("int", occurred if entry.dated_micros is None else entry.dated_micros)
    return (
        month_at(dated),
        entry.device,
        entry.epoch,
        entry.seq,
        _KIND[entry.kind],
        as_id(cast("bytes", entry.boarding)),
        entry.digest,
        entry.received_micros - origin,
        entry.batch,
        None if occurred is None else occurred - origin,
        dated - origin,
        entry.line,
        entry.vehicle,
        entry.trip,
        _MEDIUM[entry.medium],
        _CATEGORY[entry.keyed],
        entry.document,
        entry.tendered_cents,
        entry.holder_id,
        entry.card_number,
        entry.card_issue,
        entry.revision,
        entry.city_revision,
        _REASON[cast("int", entry.reason)],
        _CATEGORY[entry.category],
        entry.rule,
        entry.rules_version,
        entry.fare_cents,
        entry.rider_cents,
        entry.city_cents,
        entry.operator_cents,
        entry.change_cents,
        _TURNSTILE[entry.turnstile],
        entry.month_boardings,
        entry.passes,
        pack_effects(whole_effects(entry)),
        None if entry.continues is None else as_id(entry.continues),
        entry.flags,
        item.shard,
        min(item.generation, 2**31 - 1),
        item.commit_no,
    )
