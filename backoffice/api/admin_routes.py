"""Users, and the log of what they did and looked at."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy import select

from backoffice.api.dependencies import ByAuditor, ByUserAdministrator, Now, Parts, Reads, Writes
from backoffice.api.wire import Code, Instant, Number, Sent, Shown, Text
from backoffice.application.register_users import NewUser, add_user, end_user, renew_token
from backoffice.persistence.users import AuditRow, Role, UserRow

router = APIRouter(prefix="/v1", tags=["administração"])


class UserSent(Sent):
    """Somebody to be added."""

    login: Text
    name: Text
    role: Role
    operator: Text | None = None
    desk: Text | None = None
    school_id: Number | None = None
    holder_id: Number | None = None
    """The person's own record as a rider, so that others must serve it."""
    valid_until: Instant | None = None


class TokenShown(Shown):
    """A user's token, shown this once."""

    user_id: int
    login: str
    token: str


@router.post("/users", status_code=201)
def add(sent: UserSent, by: ByUserAdministrator, at: Now, session: Writes, parts: Parts) -> TokenShown:
    """Add a user. Hand over the token: it is shown this once."""
    return TokenShown.model_validate(add_user(session, by, at, parts.chance, NewUser(**sent.model_dump())))


class UserShown(Shown):
    """A user."""

    login: str
    name: str
    role: Role
    desk: str | None
    valid_from: datetime
    valid_until: datetime | None


@router.get("/users")
def list_users(_: ByUserAdministrator, session: Reads) -> list[UserShown]:
    """All users by login."""
    return [UserShown.model_validate(row) for row in session.scalars(select(UserRow).order_by(UserRow.login))]


class UserEnding(Sent):
    """First instant without access."""

    valid_until: Instant


@router.post("/users/{login}/end", status_code=204)
def end(login: Code, sent: UserEnding, by: ByUserAdministrator, at: Now, session: Writes) -> None:
    """Close a user's access."""
    end_user(session, by, at, login=login, valid_until=sent.valid_until)


@router.post("/users/{login}/token", status_code=201)
def renew(login: Code, by: ByUserAdministrator, at: Now, session: Writes, parts: Parts) -> TokenShown:
    """Give a user a new token; the old one is void at once."""
    return TokenShown.model_validate(renew_token(session, by, at, parts.chance, login=login))


class AuditShown(Shown):
    """An entry of the log; no personal data."""

    id: int
    at: datetime
    user_id: int | None
    action: str
    subject_kind: str
    subject_id: str
    detail: str | None


@router.get("/audit")
def audit(
    _: ByAuditor,
    session: Reads,
    after: Annotated[int, Query(ge=0, le=2**53, description="Entradas depois desta.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> list[AuditShown]:
    """The log, oldest first; ask again with the last id as `after`."""
    rows = session.scalars(select(AuditRow).where(AuditRow.id > after).order_by(AuditRow.id).limit(limit))
    return [AuditShown.model_validate(row) for row in rows]
