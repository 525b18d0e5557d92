"""A peer: FastAPI and one call of a PL/pgSQL function for each tap, over a pool of psycopg connections.

It does less than a boarding of ours, as `row_lock` does; the database decides, so the law would live there.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from fastapi import FastAPI

from loadtests.peers.row_lock import AnswerBody, TapBody
from loadtests.peers.tokens import holder_of

_POOL = 20
_CALL = "SELECT * FROM board(%s, %s, %s, %s, %s, %s)"

_idle: asyncio.LifoQueue[psycopg.AsyncConnection[Any]] = asyncio.LifoQueue()


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Open the connections, and close them at the end."""
    for _ in range(_POOL):
        connection = await psycopg.AsyncConnection.connect(os.environ["CATRACA_PEER_URL"], autocommit=True)
        connection.prepare_threshold = 1
        _idle.put_nowait(connection)
    yield
    while not _idle.empty():
        await _idle.get_nowait().close()


app = FastAPI(lifespan=lifespan)


@app.get("/live")
async def live() -> str:
    """It runs."""
    return "ok"


@app.post("/v1/boardings")
async def board(tap: TapBody) -> AnswerBody:
    """One boarding in one call."""
    holder_id = None if tap.medium.token is None else holder_of(tap.medium.token)
    connection = await _idle.get()
    try:
        cursor = await connection.execute(
            _CALL, (tap.boarding_id, tap.device_seq, tap.occurred_at, tap.line, tap.vehicle, holder_id)
        )
        row = await cursor.fetchone()
    finally:
        _idle.put_nowait(connection)
    assert row is not None
    return AnswerBody(boarding_id=tap.boarding_id, outcome=row[0], rider_cents=row[1], passes=row[3])
