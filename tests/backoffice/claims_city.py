"""A city with a month of journalled boardings, written straight into the tables: what rating and closing read."""

import hashlib
import itertools
import random
import uuid
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Engine, insert

from backoffice.adapters.law_file import packaged_law
from backoffice.persistence.base import Base, make_engine, writing
from backoffice.persistence.tables import all_tables
from validator.domain.service_time import SAO_PAULO, civil_date, month_of
from validator.records.codes import Flag

BOOK = packaged_law()
LONG_AGO = datetime(2026, 1, 5, 12, tzinfo=UTC)
CLOSING = datetime(2026, 4, 3, 12, tzinfo=UTC)
HASH = b"\x01" * 32


def at(text: str) -> datetime:
    """An instant of the city: `2026-03-02 07:00` or with seconds."""
    return datetime.fromisoformat(text).replace(tzinfo=SAO_PAULO).astimezone(UTC)


@dataclass
class ClaimsCity:
    """Rows in the making; `store` writes them, in any order of arrival."""

    engine: Engine
    rows: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    seqs: dict[str, int] = field(default_factory=dict)
    covered: dict[str, int] = field(default_factory=dict)
    boardings: int = 0
    holders: int = 0
    ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def add(self, table: str, **values: Any) -> None:
        self.rows.append((table, values))

    def register(self, table: str, **values: Any) -> None:
        """Write one row of the register at once."""
        with writing(self.engine) as session:
            session.execute(insert(Base.metadata.tables[table]), [values])

    def holder(
        self,
        *rights: tuple[str, str, str | None],
        birth: date | None = date(2008, 5, 4),
        lots: tuple[tuple[str, str, int, int, int], ...] = (),
        recorded_at: datetime = LONG_AGO,
    ) -> str:
        """A holder with rights (category, first day, ended on) and lots (product, network, units, face, paid)."""
        self.holders += 1
        number = self.holders
        hot_id = hashlib.sha256(str(number).encode()).hexdigest()[:16]
        self.register(
            "holders",
            id=number,
            hot_id=hot_id,
            revision=1,
            published_revision=1,
            created_at=LONG_AGO,
        )
        self.register(
            "lives", holder_id=number, birth_date=birth, died_on=None, recorded_at=recorded_at, revision=1
        )
        for category, first, ended in rights:
            self.right(number, category, first, ended, recorded_at)
        for product, network, units, face, paid in lots:
            self.sale(number, product, network, units, face, paid, recorded_at=recorded_at)
        return hot_id

    def right(
        self,
        holder: int,
        category: str,
        first: str,
        ended: str | None,
        recorded_at: datetime,
        revision: int = 1,
    ) -> None:
        request = next(self.ids)
        days = {
            "first_day": date.fromisoformat(first),
            "ended_on": None if ended is None else date.fromisoformat(ended),
        }
        self.register(
            "right_requests",
            id=request,
            holder_id=holder,
            category=category,
            registered_by=1,
            recorded_at=recorded_at,
            **days,
        )
        self.register(
            "rights",
            id=request,
            holder_id=holder,
            request_id=request,
            category=category,
            registered_by=1,
            approved_by=2,
            recorded_at=recorded_at,
            revision=revision,
            **days,
        )

    def sale(
        self,
        holder: int,
        product: str,
        network: str,
        units: int,
        face: int,
        paid: int,
        *,
        recorded_at: datetime = LONG_AGO,
        revision: int = 1,
    ) -> None:
        self.register(
            "sales",
            holder_id=holder,
            product=product,
            network=network,
            units=units,
            face_cents=face,
            paid_cents=paid,
            enrolment_id=1 if product == "STUDENT" else None,
            fare_id=1,
            sold_on=civil_date(recorded_at),
            recorded_at=recorded_at,
            desk="centro",
            sold_by=1,
            revision=revision,
        )

    def student(self, units: int = 100, face: int = 450, paid: int | None = None, **options: Any) -> str:
        lot = ("STUDENT", "URBAN", units, face, face // 2 if paid is None else paid)
        return self.holder(("STUDENT_50", "2026-02-01", None), lots=(lot,), **options)

    def tap(
        self,
        when: datetime,
        *,
        holder: str | None = None,
        device: str = "d-azul",
        category: str | None = "STUDENT_50",
        ride_class: str | None = "HALF",
        purse: str | None = None,
        refused: str | None = None,
        offline: bool = False,
        released: bool | None = True,
        annulled_after: float | None = None,
        received: datetime | None = None,
        **seen: Any,
    ) -> str:
        """One tap of a device, with its release and perhaps its annulment; `seen` are other fields of the row."""
        self.boardings += 1
        cites = {
            "boarding_id": str(uuid.UUID(int=(self.boardings << 64) + 7)),
            "received_at": received or when,
            "holder": holder,
            **of_device(device),
        }
        row = {
            **cites,
            "seq": self._seq(device),
            "month": month_of(civil_date(when)),
            "batch": offline,
            "occurred_at": when,
            "dated_at": when,
            "category": None if refused else category,
            **ANSWER,
            **({"kind": "REFUSAL", "reason": refused, "turnstile": "HOLD"} if refused else {}),
            **_seen(seen, holder),
        }
        self.add("boardings", **row)
        key = ("device", "epoch", "seq", "kind", "boarding_id", "month")
        self.add("tap_keys", **{name: row[name] for name in key})
        if released is not None:
            release = {"released": released, "ride_class": ride_class, "purse": purse, "online": not offline}
            self.add("releases", seq=self._seq(device), **cites, **release)
        if annulled_after is not None:
            annulled_at = when + timedelta(seconds=annulled_after)
            self.add("annulments", seq=self._seq(device), **cites, batch=offline, occurred_at=annulled_at)
        return str(cites["boarding_id"])

    def cash(self, when: datetime, **options: Any) -> str:
        return self.tap(when, category="FULL", ride_class="FULL", medium="cash", **options)

    def _seq(self, device: str) -> int:
        self.seqs[device] = self.seqs.get(device, 0) + 1
        return self.seqs[device]

    def store(
        self, *, shuffled: int | None = None, cover: bool = True, heads_at: datetime = LONG_AGO
    ) -> None:
        """Write the rows, and heads that cover every device's journal."""
        rows = list(self.rows)
        self.rows.clear()
        if shuffled is not None:
            random.Random(shuffled).shuffle(rows)
        with writing(self.engine) as session:
            for table, values in rows:
                session.execute(insert(Base.metadata.tables[table]), [values])
        if cover:
            self.cover(heads_at)

    def cover(self, heads_at: datetime = LONG_AGO) -> None:
        for device, seq in self.seqs.items():
            if self.covered.get(device) == seq:
                continue
            self.covered[device] = seq
            head = hashlib.sha256(f"{device}{seq}".encode()).digest()
            self.register(
                "signed_heads",
                device=device,
                epoch=1,
                seq=seq,
                head=head,
                signature=head * 2,
                closing=False,
                received_at=heads_at,
                verdict="VALID",
            )


def make_claims_city(database_url: str) -> ClaimsCity:
    """A city in an empty database."""
    engine = make_engine(database_url)
    all_tables().create_all(engine)
    return fill_claims_city(ClaimsCity(engine))


def fill_claims_city(city: ClaimsCity) -> ClaimsCity:
    """Two operators with lines and buses, staff, a school, and fares since 2023."""
    add = city.register
    for number, login in ((1, "clerk"), (2, "manager")):
        add(
            "users",
            id=number,
            login=login,
            name=login,
            role="CITY",
            token_sha256=login,
            valid_from=LONG_AGO,
            recorded_at=LONG_AGO,
        )
    add("acts", id=1, kind="DECREE", number="9.001", signed_on=date(2023, 10, 10), recorded_at=LONG_AGO)
    _add_fleet(city)
    add(
        "fares",
        id=1,
        network="URBAN",
        first_day=date(2023, 10, 16),
        cents=450,
        act_id=1,
        recorded_at=LONG_AGO,
    )
    add(
        "fares",
        id=2,
        network="INTERIOR",
        first_day=date(2018, 6, 17),
        cents=700,
        act_id=1,
        recorded_at=LONG_AGO,
    )
    add("schools", id=1, name="Escola", network="PUBLIC_STATE", recorded_at=LONG_AGO)
    add("holders", id=999, hot_id="f" * 16, revision=1, published_revision=1, created_at=LONG_AGO)
    add(
        "enrolments",
        id=1,
        holder_id=999,
        school_id=1,
        first_day=date(2026, 1, 1),
        last_day=date(2026, 12, 20),
        passes_per_day=2,
        recorded_by=1,
        recorded_at=LONG_AGO,
    )
    return city


def _add_fleet(city: ClaimsCity) -> None:
    """Operators azul and verde, lines 101 and 901 of the one and 202 of the other, their buses and devices."""
    add = city.register
    names = {"azul": "Viação Azul Ltda.", "verde": '=São João; "Verde"'}
    for number, (code, name) in enumerate(names.items(), start=1):
        document = f"{number}2ABC34501DE35"
        add(
            "operators",
            id=number,
            code=code,
            name=name,
            kind="COMPANY",
            document=document,
            recorded_at=LONG_AGO,
        )
    for number, (code, network) in enumerate(
        (("101", "URBAN"), ("901", "INTERIOR"), ("202", "URBAN")), start=1
    ):
        add("lines", id=number, code=code, name=f"Linha {code}", network=network, recorded_at=LONG_AGO)
    since = date(2023, 1, 1)
    for line, operator in ((1, 1), (2, 1), (3, 2)):
        add(
            "line_operators",
            line_id=line,
            operator_id=operator,
            from_day=since,
            runs=True,
            recorded_at=LONG_AGO,
        )
    for vehicle, operator in (("1201", 1), ("1202", 1), ("2201", 2)):
        add("vehicles", number=vehicle, recorded_at=LONG_AGO)
        add("vehicle_operators", vehicle=vehicle, operator_id=operator, from_day=since, recorded_at=LONG_AGO)
    for device, operator in (("d-azul", 1), ("d2azul", 1), ("d-verde", 2)):
        add(
            "devices", id=device, operator_id=operator, revision=1, published_revision=1, recorded_at=LONG_AGO
        )


def of_device(device: str) -> dict[str, Any]:
    """What every row of a device's journal has."""
    return {
        "device": device,
        "epoch": 1,
        "digest": HASH,
        "flags": 0,
        "shard": 0,
        "generation": 1,
        "commit_no": 1,
    }


ANSWER = {
    "kind": "BOARDING",
    "reason": "OK",
    "turnstile": "TURN",
    **dict.fromkeys(("fare_cents", "rider_cents", "city_cents", "operator_cents", "change_cents"), 0),
}
"""What the journal says of an accepted tap; rating reads none of the amounts."""


def _seen(fields: dict[str, Any], holder: str | None) -> dict[str, Any]:
    """What the reader saw: a card on line 101 in vehicle 1201 where nothing else is said."""
    number, issue = fields.pop("card", None) or (None, None)
    seen = {
        "line": "101",
        "vehicle": "1201",
        "medium": "card",
        "keyed": None,
        "card_number": number,
        "card_issue": issue,
        "revision": 1 if holder else None,
        "continues": None,
        **fields,
    }
    return seen | {"tendered_cents": 1000 if seen["medium"] == "cash" else None}


QUARANTINED = Flag.CLOCK_QUARANTINE.value
