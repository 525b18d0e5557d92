"""A peer: FastAPI, SQLAlchemy in its asynchronous form, and a lock on the holder's row for each tap.

It does less than a boarding of ours: one fare, no dated law, no journal of the device, no refusal kept for replay.
Its database does not wait for the disk, which favours it. (The greenlet that asynchronous SQLAlchemy needs comes with
locust; with asyncpg instead of psycopg it was measured a fifth faster.)
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Depends, FastAPI
from pydantic import BaseModel
from sqlalchemy import BigInteger, DateTime, Text, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from loadtests.peers.tokens import holder_of

_FARE_CENTS = 450
_CAP = 50

engine = create_async_engine(
    os.environ["CATRACA_PEER_URL"].replace("postgresql://", "postgresql+psycopg://"),
    pool_size=20,
    max_overflow=0,
)
sessions = async_sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase):
    """Base of both tables."""

    type_annotation_map = {str: Text(), datetime: DateTime(timezone=True)}  # noqa: RUF012 - SQLAlchemy reads it


class HolderRow(Base):
    """A holder's counts."""

    __tablename__ = "holders"
    holder_id: Mapped[str] = mapped_column(primary_key=True)
    category: Mapped[str]
    passes: Mapped[int]
    month_boardings: Mapped[int]


class BoardingRow(Base):
    """A boarding."""

    __tablename__ = "boardings"
    boarding_id: Mapped[UUID] = mapped_column(primary_key=True)
    holder_id: Mapped[str | None]
    device_seq: Mapped[int] = mapped_column(BigInteger)
    occurred_at: Mapped[datetime]
    line: Mapped[str]
    vehicle: Mapped[str]
    outcome: Mapped[str]
    rider_cents: Mapped[int]
    city_cents: Mapped[int]


class Medium(BaseModel):
    """A card's token, or money."""

    kind: Literal["card", "cash"]
    token: str | None = None
    tendered_cents: int | None = None


class TapBody(BaseModel):
    """The same body as the validator's."""

    boarding_id: UUID
    epoch: int
    device_seq: int
    occurred_at: datetime
    line: str
    vehicle: str
    medium: Medium
    trip: str | None = None


class AnswerBody(BaseModel):
    """The answer."""

    boarding_id: UUID
    outcome: str
    fare_cents: int = _FARE_CENTS
    rider_cents: int
    passes: int | None = None
    replayed: bool = False


async def transaction() -> AsyncIterator[AsyncSession]:
    """A session whose work is committed before the answer goes out."""
    async with sessions() as session, session.begin():
        yield session


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Close the pool at the end."""
    yield
    await engine.dispose()


app = FastAPI(lifespan=lifespan)


@app.get("/live")
async def live() -> str:
    """It runs."""
    return "ok"


@app.post("/v1/boardings")
async def board(
    tap: TapBody, session: Annotated[AsyncSession, Depends(transaction, scope="function")]
) -> AnswerBody:
    """One boarding in one transaction."""
    known = await session.get(BoardingRow, tap.boarding_id)
    if known is not None:
        return AnswerBody(
            boarding_id=tap.boarding_id, outcome=known.outcome, rider_cents=known.rider_cents, replayed=True
        )
    outcome, rider_cents, city_cents, passes = "accepted", _FARE_CENTS, 0, None
    holder_id = None if tap.medium.token is None else holder_of(tap.medium.token)
    if holder_id is not None:
        found = select(HolderRow).where(HolderRow.holder_id == holder_id).with_for_update()
        holder = (await session.execute(found)).scalar_one()
        outcome, rider_cents, city_cents = decide(holder)
        passes = holder.passes
    session.add(
        BoardingRow(
            boarding_id=tap.boarding_id,
            holder_id=holder_id,
            device_seq=tap.device_seq,
            occurred_at=tap.occurred_at,
            line=tap.line,
            vehicle=tap.vehicle,
            outcome=outcome,
            rider_cents=rider_cents,
            city_cents=city_cents,
        )
    )
    return AnswerBody(boarding_id=tap.boarding_id, outcome=outcome, rider_cents=rider_cents, passes=passes)


def decide(holder: HolderRow) -> tuple[str, int, int]:
    """Outcome, rider's part and city's part; takes the pass from the locked row."""
    if holder.category in ("ELDER", "FISCAL_TRANSP"):
        return "accepted", 0, 0
    if holder.category == "SPECIAL_ED":
        return "accepted", 0, _FARE_CENTS
    student = holder.category == "STUDENT_50"
    if holder.passes == 0 or (student and holder.month_boardings >= _CAP):
        return "refused", 0, 0
    holder.passes -= 1
    holder.month_boardings += 1
    return ("accepted", _FARE_CENTS // 2, _FARE_CENTS // 2) if student else ("accepted", _FARE_CENTS, 0)
