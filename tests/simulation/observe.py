"""Read what the product holds at the end into plain values for the auditor."""

from sqlalchemy import Engine, literal_column, select

from backoffice.persistence.base import Base, reading
from backoffice.persistence.tables import all_tables
from tests.simulation.facts import Facts, Observed
from tests.simulation.services import Services
from validator.records.keys import durable_key, usage_key
from validator.records.snapshot import unpack_durable
from validator.records.usage import unpack_usage

_TABLES = (
    "tap_keys",
    "boardings",
    "releases",
    "annulments",
    "rejected",
    "forks",
    "device_epochs",
    "rated_boardings",
    "claims",
    "claim_lines",
    "claim_entries",
)


def observe(engine: Engine, services: Services, facts: Facts, early_faults: list[str]) -> Observed:
    """Everything that the auditor compares."""
    observed = Observed(early_faults=early_faults)
    _read_rows(engine, observed)
    with services.client() as client:
        for hot_id in facts.people:
            data: bytes | None = client.get(usage_key(hot_id))  # type: ignore[assignment]
            if data is not None:
                usage = unpack_usage(data)
                observed.usage[hot_id] = {
                    "half": dict(usage.half_fare),
                    "used": dict(usage.used),
                    "returned": dict(usage.returned),
                    "last": None if usage.last is None else usage.last.boarding_id,
                }
        for device, epoch in facts.journals:
            record = unpack_durable(client.get(durable_key(device, epoch)))  # type: ignore[arg-type]
            observed.told[device, epoch] = (record.durable_seq, record.top_seq)
        for pattern in (b"*:seen:*", b"*:id:*"):
            for key in client.scan_iter(pattern, count=5_000):
                if client.ttl(key) < 0:  # type: ignore[operator]
                    observed.immortal.append(repr(key))
    return observed


def _read_rows(engine: Engine, observed: Observed) -> None:
    all_tables()
    with reading(engine) as session:
        for name in _TABLES:
            table = Base.metadata.tables[name]
            columns = [column for column in table.c if column.name not in ("effects", "document", "raw")]
            observed.rows[name] = [dict(row._mapping) for row in session.execute(select(*columns))]
        keys = Base.metadata.tables["tap_keys"].c
        came = session.execute(select(keys.device, keys.epoch, keys.seq).order_by(literal_column("rowid")))
        observed.order = {(key[0], key[1], key[2]): place for place, key in enumerate(came)}
        by_closing = dict(
            session.execute(select(Base.metadata.tables["month_closings"].c["id", "month"])).all()  # type: ignore[arg-type]
        )
    for row in observed.rows["rated_boardings"]:
        for name in ("verdict", "reason", "category"):
            value = row[name]
            row[name] = None if value is None else str(getattr(value, "value", value))
        row["closing_month"] = by_closing[row["closing_id"]]
