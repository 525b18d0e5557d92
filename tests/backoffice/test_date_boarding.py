"""A boarding whose device's clock was off waits for a person who dates it from evidence; the original stays."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event, select

from backoffice.application.date_boarding import boardings_in_doubt, date_boarding
from backoffice.application.errors import Conflict, Invalid, NotFound
from backoffice.application.staff import Staff, as_city
from backoffice.persistence.base import reading, writing
from backoffice.persistence.datings import DatingRow
from backoffice.persistence.journal import IS_UNDATED, BoardingRow
from backoffice.persistence.users import Role
from tests.backoffice.claims_city import CLOSING, QUARANTINED, ClaimsCity, at, make_claims_city
from tests.backoffice.claims_month import close, close_rest, documents, excluded
from tests.backoffice.register_http import Api
from validator.domain.service_time import Month

GESTOR = as_city(Staff(1, "gestor", Role.CITY))
RECEIVED = at("2026-03-10 20:00")
TRUE = at("2026-03-10 07:15")


@pytest.fixture
def city(database_url: str) -> Iterator[ClaimsCity]:
    made = make_claims_city(database_url)
    yield made
    made.engine.dispose()


def doubtful(city: ClaimsCity, holder: str | None = None, shown: datetime | None = None) -> str:
    """A student's ride on a device whose clock said 1970, between two rides of the same device; its id."""
    student = holder or city.student()
    city.tap(at("2026-03-10 07:00"), holder=city.student())
    city.tap(
        shown or datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC),
        holder=student,
        offline=True,
        received=RECEIVED,
        flags=QUARANTINED,
    )
    city.tap(at("2026-03-10 07:30"), holder=city.student())
    city.store()
    with reading(city.engine) as session:
        (one,) = boardings_in_doubt(session)
    return one.boarding_id


def date(city: ClaimsCity, boarding_id: str, when: datetime = TRUE, recorded: datetime = RECEIVED) -> None:
    with writing(city.engine) as session:
        date_boarding(
            session,
            GESTOR,
            recorded,
            boarding_id=boarding_id,
            dated_at=when,
            evidence="folha de viagem 102-0715",
        )


def rides(document: dict[str, object]) -> object:
    return document["totals"]["rides"]  # type: ignore[index]


def test_a_boarding_in_doubt_is_shown_between_its_neighbours(city: ClaimsCity) -> None:
    boarding_id = doubtful(city)

    with reading(city.engine) as session:
        (one,) = boardings_in_doubt(session)

    assert one.boarding_id == boarding_id
    assert (one.after, one.before) == (at("2026-03-10 07:00"), at("2026-03-10 07:30"))
    assert (one.received_at, one.dated_at) == (RECEIVED, None)


def test_a_dated_boarding_is_rated_at_that_instant_and_no_longer_waits(city: ClaimsCity) -> None:
    boarding_id = doubtful(city)
    date(city, boarding_id)

    azul = documents(close(city))["azul"]

    assert (rides(azul), excluded(azul)) == (3, {})
    with reading(city.engine) as session:
        assert boardings_in_doubt(session) == []
        assert [one.dated_at for one in boardings_in_doubt(session, waiting_only=False)] == [TRUE]


def test_the_original_stays(city: ClaimsCity) -> None:
    boarding_id = doubtful(city)

    def original() -> list[object]:
        with reading(city.engine) as session:
            row = session.scalars(select(BoardingRow).where(BoardingRow.boarding_id == boarding_id)).one()
            return [getattr(row, column.key) for column in BoardingRow.__table__.columns]

    before = original()
    date(city, boarding_id)
    close(city)

    assert original() == before


def test_a_boarding_dated_after_the_closing_goes_to_a_complementary_claim(city: ClaimsCity) -> None:
    boarding_id = doubtful(city)
    first = documents(close(city))["azul"]
    date(city, boarding_id, recorded=CLOSING + timedelta(days=1))

    more = close_rest(city, CLOSING + timedelta(days=2))

    assert (rides(first), excluded(first)) == (2, {"CLOCK_INVALID": 1})
    assert more is not None
    assert rides(documents(more)["azul"]) == 1


def test_a_dating_after_the_instant_of_closing_does_not_change_that_closing(city: ClaimsCity) -> None:
    boarding_id = doubtful(city)
    date(city, boarding_id, recorded=CLOSING + timedelta(hours=1))

    azul = documents(close(city))["azul"]

    assert (rides(azul), excluded(azul)) == (2, {"CLOCK_INVALID": 1})


def test_a_boarding_is_rated_in_the_month_in_which_it_happened(city: ClaimsCity) -> None:
    boarding_id = doubtful(city)
    date(city, boarding_id, at("2026-02-27 18:00"))

    february = documents(close(city, Month("2026-02")))["azul"]
    march = documents(close(city))["azul"]

    assert (rides(february), excluded(february)) == (1, {})
    assert (rides(march), excluded(march)) == (2, {})


def test_a_boarding_of_nobody_is_dated_too(city: ClaimsCity) -> None:
    city.tap(
        datetime(2036, 1, 1, tzinfo=UTC), offline=True, received=RECEIVED, flags=QUARANTINED,
        category="CHILD", ride_class="FREE", medium="key", keyed="CHILD",
    )  # fmt: skip
    city.store()
    with reading(city.engine) as session:
        (one,) = boardings_in_doubt(session)
    date(city, one.boarding_id)

    azul = documents(close(city))["azul"]

    assert excluded(azul) == {}
    assert [(one["category"], one["quantity"]) for one in azul["statistical"]] == [("CHILD", 1)]


def test_a_later_dating_counts_and_both_are_kept(city: ClaimsCity) -> None:
    boarding_id = doubtful(city)
    date(city, boarding_id)
    date(city, boarding_id, at("2026-03-10 07:20"))

    with reading(city.engine) as session:
        kept = session.scalars(select(DatingRow).order_by(DatingRow.id)).all()
        (one,) = boardings_in_doubt(session, waiting_only=False)

    assert [row.replaces_id for row in kept] == [None, kept[0].id]
    assert one.dated_at == at("2026-03-10 07:20")


def test_what_is_not_in_doubt_or_not_possible_is_refused(city: ClaimsCity) -> None:
    boarding_id = doubtful(city)
    with reading(city.engine) as session:
        certain = session.scalars(select(BoardingRow.boarding_id).where(BoardingRow.flags == 0)).first()

    assert certain is not None
    with pytest.raises(Conflict, match="não está em dúvida"):
        date(city, certain)
    with pytest.raises(NotFound):
        date(city, "00000000-0000-7000-8000-00000000dead")
    with pytest.raises(Invalid, match="recebido"):
        date(city, boarding_id, RECEIVED + timedelta(seconds=1))
    with pytest.raises(Invalid), writing(city.engine) as session:
        date_boarding(session, GESTOR, RECEIVED, boarding_id=boarding_id, dated_at=TRUE, evidence="  ")


def test_only_the_city_dates(lite: Api) -> None:
    sent = {"dated_at": "2026-03-10T07:15:00-03:00", "evidence": "câmera"}
    path = "/quarantine/00000000-0000-7000-8000-00000000dead/datings"

    assert lite("city", "GET", "/quarantine", code=200) == []
    lite("clerk", "GET", "/quarantine", code=403)
    lite("clerk", "POST", path, sent, 403)
    lite("city", "POST", path, sent, 404)
    lite("city", "POST", path, sent | {"dated_at": "2026-03-10T07:15:00"}, 422)


def test_a_month_that_a_person_dated_a_boarding_into_is_closed_first(city: ClaimsCity) -> None:
    boarding = doubtful(city)
    date(city, boarding, when=at("2026-02-27 07:15"))

    with pytest.raises(Conflict, match="2026-02 tem embarques"):
        close(city)

    close(city, Month("2026-02"))
    assert documents(close(city))["azul"]["totals"]["rides"] == 2


def test_boardings_without_a_date_are_found_without_a_scan(city: ClaimsCity) -> None:
    """An index holds them alone; a plan that does not see it reads every boarding that there ever was."""
    word = {"sqlite": "EXPLAIN QUERY PLAN ", "postgresql": "EXPLAIN "}[city.engine.dialect.name]

    def explained(
        _connection: Any, _cursor: Any, statement: str, parameters: Any, *_others: Any
    ) -> tuple[str, Any]:
        return word + statement, parameters

    with city.engine.connect() as connection:
        if city.engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SET enable_seqscan = off")
            connection.exec_driver_sql("SET enable_bitmapscan = off")
        event.listen(connection, "before_cursor_execute", explained, retval=True)
        plan = connection.execute(
            select(BoardingRow.seq).where(IS_UNDATED, BoardingRow.received_at >= RECEIVED)
        ).cursor.fetchall()

    told = " ".join(str(row) for row in plan)
    assert "ix_boardings_undated" in told or "received_at_idx" in told
