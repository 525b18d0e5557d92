"""Turns on PostgreSQL: who does the same thing at the same instant does it one after the other."""

import hashlib

from sqlalchemy import text

from backoffice.persistence.base import WriteSession


def take_turn(session: WriteSession, what: str) -> None:
    """Wait until nobody else has the turn at something, and keep it until the end of the transaction.

    What the other wrote is seen by every statement after this one. On SQLite nothing is to be done: a transaction that
    writes has the database to itself from its beginning.

    Args:
        session: The transaction that takes the turn.
        what: The thing, in any words; only their hash reaches the server, since they may name a person.
    """
    if session.get_bind().dialect.name != "postgresql":
        return
    number = int.from_bytes(hashlib.sha256(what.encode()).digest()[:8], "big", signed=True)
    session.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": number})
