"""What endpoints ask for: who acts, with which permission, and a session whose commit precedes the answer."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Annotated, TypeVar, cast

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials

from backoffice.api.parts import ApiParts
from backoffice.api.problems import NotAuthenticated
from backoffice.application import staff as permissions
from backoffice.application.staff import (
    Administrator,
    Approver,
    Auditor,
    CityOffice,
    ClaimReader,
    Desk,
    Fleet,
    PersonReader,
    Reader,
    Registrar,
    Staff,
    UserAdministrator,
    staff_by_token,
)
from backoffice.persistence.base import ReadSession, WriteSession, reading, writing

T = TypeVar("T")

_bearer = HTTPBearer(auto_error=False, description="Chave de acesso da pessoa, dada por `catraca user add`.")


def parts_of(request: Request) -> ApiParts:
    """What this process works with."""
    return cast(ApiParts, request.app.state.parts)


Parts = Annotated[ApiParts, Depends(parts_of)]


def now(parts: Parts) -> datetime:
    """The instant of the request."""
    return parts.clock()


Now = Annotated[datetime, Depends(now)]


def current_staff(
    parts: Parts, at: Now, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Staff:
    """The person whose token was sent.

    Raises:
        NotAuthenticated: no token, or one that is nobody's.
    """
    if given is None:
        raise NotAuthenticated
    with reading(parts.engine) as session:
        staff = staff_by_token(session, given.credentials, at)
    if staff is None:
        raise NotAuthenticated
    return staff


CurrentStaff = Annotated[Staff, Depends(current_staff)]


def _permitted(permission: Callable[[Staff], T]) -> Callable[[Staff], T]:
    def permitted(staff: CurrentStaff) -> T:
        return permission(staff)

    return permitted


ByCity = Annotated[CityOffice, Depends(_permitted(permissions.as_city))]
ByAdministrator = Annotated[Administrator, Depends(_permitted(permissions.as_administrator))]
ByUserAdministrator = Annotated[UserAdministrator, Depends(_permitted(permissions.as_user_administrator))]
ByDesk = Annotated[Desk, Depends(_permitted(permissions.as_desk))]
ByRegistrar = Annotated[Registrar, Depends(_permitted(permissions.as_registrar))]
ByApprover = Annotated[Approver, Depends(_permitted(permissions.as_approver))]
ByFleet = Annotated[Fleet, Depends(_permitted(permissions.as_fleet))]
ByReader = Annotated[Reader, Depends(_permitted(permissions.as_reader))]
ByPersonReader = Annotated[PersonReader, Depends(_permitted(permissions.as_person_reader))]
ByClaimReader = Annotated[ClaimReader, Depends(_permitted(permissions.as_claim_reader))]
ByAuditor = Annotated[Auditor, Depends(_permitted(permissions.as_auditor))]


def read_session(parts: Parts) -> Iterator[ReadSession]:
    """A session that only reads."""
    with reading(parts.engine) as session:
        yield session


def write_session(parts: Parts) -> Iterator[WriteSession]:
    """A session that is committed before the answer is sent; a failing commit is an error and never a 2xx."""
    with writing(parts.engine) as session:
        yield session


Reads = Annotated[ReadSession, Depends(read_session, scope="function")]
Writes = Annotated[WriteSession, Depends(write_session, scope="function")]
