"""What a Redis process that was started again may lack although its counters agree with SQL: records and usage."""

from datetime import datetime

from sqlalchemy import Engine

from backoffice.adapters.hot_state import HotState
from backoffice.application.publish import Law
from backoffice.application.publish_records import (
    all_devices,
    all_holders,
    all_uid_publications,
    device_publications,
    holder_publications,
)
from backoffice.application.rebuild import durable_records, publish_city
from backoffice.persistence.base import reading
from validator.domain.service_time import civil_date
from validator.records.keys import device_key, holder_key, holder_shard
from validator.records.packing import revision_of

_CHUNK = 2_000


def shards_without_usage(engine: Engine, hot: HotState) -> set[int]:
    """Shards of holders who were published and have no usage: a loss, never zero."""
    with reading(engine) as session:
        published = [hot_id for _, hot_id, _, revision in all_holders(session) if revision > 0]
    lost: set[int] = set()
    for start in range(0, len(published), _CHUNK):
        lost.update(holder_shard(hot_id) for hot_id in hot.without_usage(published[start : start + _CHUNK]))
    return lost


def repair_register(engine: Engine, hot: HotState, law: Law, now: datetime) -> None:
    """Publish every holder, chip, device and city whose record in Redis is older than SQL, and all that is durable."""
    with reading(engine) as session:
        holders = all_holders(session)
        for start in range(0, len(holders), _CHUNK):
            chunk = holders[start : start + _CHUNK]
            held = hot.published_revisions([holder_key(hot_id) for _, hot_id, _, _ in chunk])
            stale = [
                holder_id
                for (holder_id, _, revision, _), stands in zip(chunk, held, strict=True)
                if stands < revision
            ]
            built = holder_publications(session, law.book, stale, civil_date(now))
            hot.publish([publication for _, _, publication in built])
        chips = [record for _, record in all_uid_publications(session)]
        held = hot.published_revisions([chip.key for chip in chips])
        hot.publish([c for c, stands in zip(chips, held, strict=True) if stands < revision_of(c.record)])
        devices = all_devices(session)
        held = hot.published_revisions([device_key(device) for device, _ in devices])
        old = [device for (device, revision), stands in zip(devices, held, strict=True) if stands < revision]
        hot.publish([publication for _, _, publication in device_publications(session, old)])
        hot.write_durable(durable_records(session))
    publish_city(engine, hot, law, now)
