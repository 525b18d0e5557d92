"""Who acts: a person with a role. A use case names the permission that it needs in the type of its argument.

The functions `as_...` turn a person into that type, or refuse; nothing else makes one.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import NewType

from sqlalchemy import select
from sqlalchemy.orm import Session

from backoffice.application.errors import Forbidden, NotFound
from backoffice.persistence.users import Role, UserRow


@dataclass(frozen=True, slots=True)
class Staff:
    """A person who is logged in, or acts on the command line.

    Attributes:
        user_id: `users.id`.
        login: The name for logging in.
        role: What the person may do.
        operator_id: The only operator that the person may see; None for no such limit.
        desk: The desk at which the person sells.
        school_id: The school that the person speaks for.
        holder_id: The person's own record, which others must serve.
    """

    user_id: int
    login: str
    role: Role
    operator_id: int | None = None
    desk: str | None = None
    school_id: int | None = None
    holder_id: int | None = None


CityOffice = NewType("CityOffice", Staff)
"""Sets acts, fares, lines, operators, schools (the Órgão Gestor)."""

Administrator = NewType("Administrator", Staff)
"""Installs devices; decides nothing that costs money."""

UserAdministrator = NewType("UserAdministrator", Staff)
"""Adds users, ends them and renews their tokens; may neither ask for a right nor approve one.

Whoever could do both would make the second person that approves what they asked for.
"""

Desk = NewType("Desk", Staff)
"""Registers holders, issues cards, sells passes."""

Registrar = NewType("Registrar", Staff)
"""Asks for rights and registers enrolments: a desk, a school or the city."""

Approver = NewType("Approver", Staff)
"""The second person who approves what spends public money."""

Fleet = NewType("Fleet", Staff)
"""Declares vehicles broken and repaired: an operator for its own, or the city."""

Reader = NewType("Reader", Staff)
"""Looks at the register without personal data."""

PersonReader = NewType("PersonReader", Staff)
"""Looks at personal records, each look being logged."""

Auditor = NewType("Auditor", Staff)
"""Reads the log of what others did."""

ClaimReader = NewType("ClaimReader", Staff)
"""Reads claims and their annexes: an operator its own, the city and the auditor all."""

_ROLE_WORDS = {
    Role.DESK_CLERK: "atendimento do posto",
    Role.DESK_MANAGER: "chefia do posto",
    Role.SCHOOL: "escola",
    Role.OPERATOR_FINANCE: "financeiro da operadora",
    Role.CITY: "Órgão Gestor",
    Role.AUDITOR: "auditoria",
    Role.ADMINISTRATOR: "administração",
}

_DESKS = {Role.DESK_CLERK, Role.DESK_MANAGER}


def as_city(staff: Staff) -> CityOffice:
    """A person of the Órgão Gestor.

    Raises:
        Forbidden: of another role.
    """
    return CityOffice(_only(staff, {Role.CITY}))


def as_administrator(staff: Staff) -> Administrator:
    """Somebody who runs the system, or the city itself.

    Raises:
        Forbidden: of another role.
    """
    return Administrator(_only(staff, {Role.ADMINISTRATOR, Role.CITY}))


def as_user_administrator(staff: Staff) -> UserAdministrator:
    """Somebody who runs the system, and nobody else.

    Raises:
        Forbidden: of another role.
    """
    return UserAdministrator(_only(staff, {Role.ADMINISTRATOR}))


def as_desk(staff: Staff) -> Desk:
    """Somebody who serves riders at a desk.

    Raises:
        Forbidden: of another role.
    """
    return Desk(_only(staff, _DESKS))


def as_registrar(staff: Staff) -> Registrar:
    """Somebody who may ask for a right.

    Raises:
        Forbidden: of another role.
    """
    return Registrar(_only(staff, {*_DESKS, Role.SCHOOL, Role.CITY}))


def as_approver(staff: Staff) -> Approver:
    """Somebody who may approve a right that another asked for.

    Raises:
        Forbidden: of another role.
    """
    return Approver(_only(staff, {Role.DESK_MANAGER, Role.CITY}))


def as_fleet(staff: Staff) -> Fleet:
    """Somebody who may declare a vehicle broken.

    Raises:
        Forbidden: of another role.
    """
    return Fleet(_only(staff, {Role.OPERATOR_FINANCE, Role.CITY}))


def as_reader(staff: Staff) -> Reader:
    """Anybody with a valid user; operators see their own only."""
    return Reader(staff)


def as_person_reader(staff: Staff) -> PersonReader:
    """Somebody who may look at personal records.

    Raises:
        Forbidden: of another role.
    """
    return PersonReader(_only(staff, {*_DESKS, Role.CITY, Role.SCHOOL}))


def as_claim_reader(staff: Staff) -> ClaimReader:
    """Somebody who may read claims.

    Raises:
        Forbidden: of another role.
    """
    return ClaimReader(_only(staff, {Role.OPERATOR_FINANCE, Role.CITY, Role.AUDITOR}))


def as_auditor(staff: Staff) -> Auditor:
    """Somebody who may read the log.

    Raises:
        Forbidden: of another role.
    """
    return Auditor(_only(staff, {Role.AUDITOR, Role.CITY}))


def _only(staff: Staff, roles: set[Role]) -> Staff:
    if staff.role not in roles:
        words = ", ".join(f"{_ROLE_WORDS[role]} ({role})" for role in sorted(roles))
        raise Forbidden(
            f"o perfil {_ROLE_WORDS[staff.role]} ({staff.role}) não permite esta operação; ela cabe a: {words}",
            f"role {staff.role} may not do this; it belongs to: {', '.join(sorted(roles))}",
        )
    return staff


def sees_special_education(staff: Staff) -> bool:
    """Whether a person may read that a right is of special education; all others see a neutral label."""
    return staff.role in (Role.DESK_MANAGER, Role.CITY)


def refuse_serving_oneself(staff: Staff, holder_id: int) -> None:
    """Refuse that somebody registers, approves, issues or sells to their own record.

    Raises:
        Forbidden: it is the person's own.
    """
    if staff.holder_id == holder_id:
        raise Forbidden(
            "ninguém atende a si mesmo: peça a um colega", "nobody serves themselves: ask a colleague"
        )


def staff_by_login(session: Session, login: str, at: datetime) -> Staff:
    """The person of a login, valid at an instant.

    Raises:
        NotFound: nobody has it.
        Forbidden: the user is not valid yet, or no more.
    """
    row = session.scalar(select(UserRow).where(UserRow.login == login))
    if row is None:
        if session.scalar(select(UserRow.id).limit(1)) is None:
            raise NotFound(
                "ainda não há nenhum usuário; cadastre o primeiro sem --as e sem a variável CATRACA_AS: "
                "catraca user add LOGIN --name NOME --role ADMINISTRATOR",
                "there is no user yet; add the first one without --as and without CATRACA_AS",
            )
        raise NotFound(f"não há usuário {login}", f"there is no user {login}")
    if not _valid(row, at):
        raise Forbidden(f"o usuário {login} não está em vigor", f"user {login} is not valid now")
    return _staff(row)


def staff_by_token(session: Session, token: str, at: datetime) -> Staff | None:
    """The person of an API token, valid at an instant; None for an unknown token and for a user not in force."""
    row = session.scalar(select(UserRow).where(UserRow.token_sha256 == hash_token(token)))
    return _staff(row) if row is not None and _valid(row, at) else None


def hash_token(token: str) -> str:
    """What is stored of a token: its SHA-256 in hexadecimal. Tokens are random, so nothing slower is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def _valid(row: UserRow, at: datetime) -> bool:
    return row.valid_from <= at and (row.valid_until is None or at < row.valid_until)


def _staff(row: UserRow) -> Staff:
    return Staff(row.id, row.login, row.role, row.operator_id, row.desk, row.school_id, row.holder_id)
