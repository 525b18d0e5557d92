"""People who work with the back office. A token is shown once and stored as its hash."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, or_, select

from backoffice.application.changes import log
from backoffice.application.errors import Conflict, Forbidden, Invalid, NotFound
from backoffice.application.ports import Chance
from backoffice.application.register_fields import code_of, optional_text, text_of
from backoffice.application.register_fleet import operator_of
from backoffice.application.staff import UserAdministrator, hash_token
from backoffice.persistence.advisory_lock import take_turn
from backoffice.persistence.base import WriteSession
from backoffice.persistence.users import Role, UserRow


@dataclass(frozen=True, slots=True)
class NewUser:
    """Somebody to be added.

    Attributes:
        login: For logging in and the log.
        name: The person's name.
        role: What the person may do.
        operator: Code of the only operator that the person may see; of operators' people.
        desk: The desk at which the person sells; of desk people.
        school_id: The school that the person speaks for; of schools' people.
        holder_id: The person's own record as a rider, so that others must serve it.
        valid_until: First instant without access; None for open.
    """

    login: str
    name: str
    role: Role
    operator: str | None = None
    desk: str | None = None
    school_id: int | None = None
    holder_id: int | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class AddedUser:
    """A user with the token, which is shown this once."""

    user_id: int
    login: str
    token: str


def add_user(
    session: WriteSession, by: UserAdministrator | None, at: datetime, chance: Chance, new: NewUser
) -> AddedUser:
    """Add a user; without anybody acting, only the first one, who is an administrator.

    Raises:
        Forbidden: nobody acts and there are users already.
        Invalid: a field is wrong, or the role lacks its operator, desk or school.
        Conflict: the login is taken.
        NotFound: no such operator.
    """
    if by is None:
        if session.scalar(select(func.count()).select_from(UserRow)):
            raise Forbidden("diga quem age, com --as", "say who acts, with --as")
        if new.role is not Role.ADMINISTRATOR:
            raise Invalid(
                "role: a primeira pessoa cadastrada é administradora (ADMINISTRATOR)",
                "role: the first user is an ADMINISTRATOR",
            )
        if new.valid_until is not None:
            raise Invalid(
                "valid_until: o acesso da primeira pessoa cadastrada não tem fim; encerre-o quando houver outra "
                "administradora",
                "valid_until: the first user's access has no end; end it when there is another administrator",
            )
    login = code_of(new.login, "login")
    if session.scalar(select(UserRow.id).where(UserRow.login == login)) is not None:
        raise Conflict(f"já há um usuário {login}", f"there is a user {login}")
    _check_scope(new)
    token = chance.secret()
    row = UserRow(
        login=login,
        name=text_of(new.name, "name"),
        role=new.role,
        operator_id=None if new.operator is None else operator_of(session, new.operator).id,
        desk=optional_text(new.desk, "desk", 64),
        school_id=new.school_id,
        holder_id=new.holder_id,
        token_sha256=hash_token(token),
        valid_from=at,
        valid_until=new.valid_until,
        recorded_at=at,
    )
    session.add(row)
    session.flush()
    log(session, by, "user.add", ("user", row.id), at, f"role={new.role}")
    return AddedUser(row.id, login, token)


def _check_scope(new: NewUser) -> None:
    if (new.operator is not None) != (new.role is Role.OPERATOR_FINANCE):
        raise Invalid(
            "operator: informe o operador de quem é do financeiro dele, e só neste perfil",
            "operator: of OPERATOR_FINANCE, and of no other role",
        )
    if (new.desk is not None) != (new.role in (Role.DESK_CLERK, Role.DESK_MANAGER)):
        raise Invalid(
            "desk: informe o posto de quem atende em posto, e só nestes perfis",
            "desk: of DESK_CLERK and DESK_MANAGER, and of no other role",
        )
    if (new.school_id is not None) != (new.role is Role.SCHOOL):
        raise Invalid(
            "school_id: informe a escola de quem é de escola, e só neste perfil",
            "school_id: of SCHOOL, and of no other role",
        )


def end_user(
    session: WriteSession, by: UserAdministrator, at: datetime, *, login: str, valid_until: datetime
) -> None:
    """Close a user's access from an instant on; the row stays, since the log cites it.

    Raises:
        NotFound: nobody has this login.
        Conflict: no administrator would be left, and only one can add users.
    """
    row = _user(session, login)
    if row.role is Role.ADMINISTRATOR:
        _refuse_last_administrator(session, row, valid_until)
    row.valid_until = valid_until
    log(session, by, "user.end", ("user", row.id), at)


def renew_token(
    session: WriteSession, by: UserAdministrator, at: datetime, chance: Chance, *, login: str
) -> AddedUser:
    """Give a user a new token; the old one is void at once.

    Raises:
        NotFound: nobody has this login.
    """
    row = _user(session, login)
    token = chance.secret()
    row.token_sha256 = hash_token(token)
    log(session, by, "user.renew_token", ("user", row.id), at)
    return AddedUser(row.id, row.login, token)


def _refuse_last_administrator(session: WriteSession, row: UserRow, valid_until: datetime) -> None:
    take_turn(session, "administrators")  # two who end each other at the same instant
    others = select(UserRow.id).where(
        UserRow.role == Role.ADMINISTRATOR,
        UserRow.id != row.id,
        or_(UserRow.valid_until.is_(None), UserRow.valid_until > valid_until),
    )
    if session.scalar(others.limit(1)) is None:
        raise Conflict(
            f"{row.login} é a última pessoa administradora; cadastre outra antes (catraca user add), senão ninguém "
            "mais poderá cadastrar usuários",
            f"{row.login} is the last administrator; add another one first, or nobody can add users any more",
        )


def _user(session: WriteSession, login: str) -> UserRow:
    row = session.scalar(select(UserRow).where(UserRow.login == login))
    if row is None:
        raise NotFound(f"não há usuário {login}", f"there is no user {login}")
    return row
