"""Answers to restore: what `seen` said of boardings before Redis lost it, from their rows."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from backoffice.adapters.hot_state import KeptAnswer, shards_of_boarding
from backoffice.persistence.journal import AnnulmentRow, BoardingRow, DeviceEpochRow, ReleaseRow, TapKeyRow
from backoffice.persistence.journal_effects import unpack_effects
from validator.domain.reasons import Reason
from validator.domain.vocabulary import Category, Turnstile
from validator.records.codes import CATEGORY_CODE, TURNSTILE_CODE, Flag
from validator.records.journal import AnswerRecord, pack_answer, pack_id
from validator.records.keys import DURABLE_SECONDS
from validator.records.packing import to_digits, to_micros
from validator.records.usage import EffectRecord

_CHUNK = 300
_INERT = int(Flag.SEEN_GONE | Flag.ANNUL_LATE | Flag.REVOKED_DEVICE)
_OF_NOBODY = (Reason.TOKEN_INVALID, Reason.CARD_UNKNOWN, Reason.CLOCK_INVALID)
"""Refusals of taps whose token names a holder whom nobody has proved: they count for nobody."""


def kept_answers(session: Session, shards: set[int], now: datetime) -> Generator[list[KeptAnswer]]:
    """Answers whose `id` or `seen` lives in these shards, in portions.

    Restored are the boardings above their device's `durable_seq`, which must be answered as before, and those
    received within the last day, which may still be released or annulled.
    """
    durable = {
        (device, epoch): durable_seq
        for device, epoch, durable_seq in session.execute(
            select(DeviceEpochRow.device, DeviceEpochRow.epoch, DeviceEpochRow.durable_seq)
        )
    }
    done: set[str] = set()
    since = now - timedelta(seconds=DURABLE_SECONDS)
    for rows in _portions(session, since):
        wanted = [
            row
            for row in rows
            if row.boarding_id not in done
            and not shards.isdisjoint(shards_of_boarding(row.boarding_id, row.shard))
        ]
        done.update(row.boarding_id for row in wanted)
        later = _later_facts(session, [row.boarding_id for row in wanted])
        yield [
            KeptAnswer(
                row.boarding_id,
                row.shard,
                pack_id(row.digest, row.shard),
                pack_answer(_answer(row, later.get(row.boarding_id, ()))),
                durable=row.seq <= durable.get((row.device, row.epoch), 0),
            )
            for row in wanted
        ]


def _portions(session: Session, since: datetime) -> Iterator[Sequence[Any]]:
    yield from _above_durable(session)
    for shard in session.scalars(select(BoardingRow.shard).distinct().order_by(BoardingRow.shard)).all():
        yield from _received_since(session, shard, since)


def _above_durable(session: Session) -> Iterator[Sequence[Any]]:
    """Boardings that are rows while an earlier sequence of their device is missing."""
    places = session.execute(
        select(TapKeyRow.month, TapKeyRow.device, TapKeyRow.epoch, TapKeyRow.seq)
        .join(
            DeviceEpochRow,
            (DeviceEpochRow.device == TapKeyRow.device)
            & (DeviceEpochRow.epoch == TapKeyRow.epoch)
            & (TapKeyRow.seq > DeviceEpochRow.durable_seq),
        )
        .where(TapKeyRow.boarding_id.is_not(None), DeviceEpochRow.top_seq > DeviceEpochRow.durable_seq)
    ).all()
    table = BoardingRow.__table__
    key = tuple_(table.c.month, table.c.device, table.c.epoch, table.c.seq)
    for start in range(0, len(places), _CHUNK):
        chunk = [tuple(place) for place in places[start : start + _CHUNK]]
        yield session.execute(select(table).where(key.in_(chunk))).all()


def _received_since(session: Session, shard: int, since: datetime) -> Iterator[Sequence[Any]]:
    """Boardings of a shard from the newest commit back to the first that was received before an instant."""
    table = BoardingRow.__table__
    newest = (
        select(table)
        .where(table.c.shard == shard)
        .order_by(table.c.generation.desc(), table.c.commit_no.desc())
        .execution_options(yield_per=_CHUNK)
    )
    # Closed here and not when it is collected: it is left before its end, and a server keeps its cursor until then.
    with session.execute(newest) as result:
        for rows in result.partitions(_CHUNK):
            recent = [row for row in rows if row.received_at >= since]
            yield recent
            if len(recent) < len(rows):
                return


def _later_facts(session: Session, boarding_ids: Sequence[str]) -> dict[str, list[Any]]:
    """Releases and annulments of boardings, in the order in which they were committed."""
    facts: dict[str, list[Any]] = {}
    for start in range(0, len(boarding_ids), _CHUNK):
        ids = boarding_ids[start : start + _CHUNK]
        for table in (ReleaseRow.__table__, AnnulmentRow.__table__):
            for row in session.execute(select(table).where(table.c.boarding_id.in_(ids))):
                facts.setdefault(row.boarding_id, []).append(row)
    for rows in facts.values():
        rows.sort(key=lambda row: (row.generation, row.commit_no))
    return facts


def _answer(row: Any, later: Iterable[Any]) -> AnswerRecord:
    """The answer that was kept for a boarding, with what releases and annulments made of it."""
    effects = unpack_effects(row.effects)
    standing: EffectRecord | None = effects[-1] if effects else None
    undone = False
    released: bool | None = None
    for fact in later:
        if fact.device != row.device or fact.flags & _INERT:
            continue
        if "released" not in fact._fields:  # an annulment
            undone = True
        elif released is None:
            released = fact.released
            undone = undone or bool(fact.flags & Flag.HELD_OVER_ACCEPTANCE)
            changes = unpack_effects(fact.effects)
            if released and changes:
                standing = None if changes[-1].undone else changes[-1]
    reason = Reason[row.reason]
    holder = None if reason in _OF_NOBODY else row.holder
    return AnswerRecord(
        reason=int(reason),
        category=None if row.category is None else CATEGORY_CODE[Category(row.category)],
        fare_cents=row.fare_cents,
        rider_cents=row.rider_cents,
        change_cents=row.change_cents,
        turnstile=TURNSTILE_CODE[Turnstile(row.turnstile or Turnstile.HOLD)],
        month_boardings=row.month_boardings,
        passes=row.passes,
        rules=to_digits(row.rules or ""),
        device=row.device,
        holder=None if holder is None else to_digits(holder),
        occurred_micros=to_micros(row.occurred_at or row.dated_at),
        vehicle=(row.vehicle or "") if holder is not None else "",
        effect=None if standing is None else standing.own(),
        undone=undone,
        released=released,
        dated_micros=None if row.dated_at == row.occurred_at else to_micros(row.dated_at),
        city_cents=row.city_cents,
        flags=row.flags,
        purse=effects[-1].uses if effects else None,
    )
