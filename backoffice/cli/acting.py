"""What the commands of the register share: who acts, on which day, and one transaction for each command."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated

import typer

from backoffice.application.errors import Forbidden
from backoffice.application.register_fields import FIRST_YEAR, LAST_YEAR
from backoffice.application.staff import Staff, staff_by_login
from backoffice.bootstrap import Backoffice, build
from backoffice.cli.help_words import DAY, INSTANT
from backoffice.persistence.base import WriteSession, writing
from validator.domain.service_time import civil_date

_BRAZILIAN_DAY = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII)
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def parse_day(text: str) -> date:
    """A civil day written 2026-03-02 or 02/03/2026."""
    found = _BRAZILIAN_DAY.fullmatch(text)
    try:
        if found is not None:
            return date(int(found[3]), int(found[2]), int(found[1]))
        if _ISO_DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text} não existe no calendário") from None
    raise typer.BadParameter("escreva a data como 2026-03-02 ou 02/03/2026")


def parse_instant(text: str) -> datetime:
    """An instant with offset, such as 2026-03-02T07:15:00-03:00."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        instant = None
    if instant is None or instant.tzinfo is None:
        raise typer.BadParameter("escreva o instante com o fuso, como 2026-03-02T07:15:00-03:00")
    if not FIRST_YEAR <= instant.year <= LAST_YEAR:
        raise typer.BadParameter(f"o ano {instant.year} está errado; confira o instante")
    return instant


def parse_key(text: str) -> bytes:
    """An Ed25519 public key as 64 hexadecimal digits."""
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text, re.ASCII):
        raise typer.BadParameter("a chave pública tem 64 algarismos hexadecimais (Ed25519)")
    return bytes.fromhex(text)


As = Annotated[
    str | None,
    typer.Option("--as", envvar="CATRACA_AS", metavar="LOGIN", help="Quem age: o login da pessoa."),
]
Day = Annotated[date, typer.Option(parser=parse_day, metavar=DAY)]
Moment = Annotated[datetime | None, typer.Option(parser=parse_instant, metavar=INSTANT)]


@dataclass(frozen=True, slots=True)
class Acting:
    """One command: the back office, its transaction, who acts, and when."""

    office: Backoffice
    session: WriteSession
    staff: Staff | None
    at: datetime

    @property
    def by(self) -> Staff:
        """Who acts.

        Raises:
            Forbidden: nobody was named.
        """
        if self.staff is None:
            raise Forbidden("diga quem age: --as LOGIN, ou a variável CATRACA_AS", "say who acts: --as LOGIN")
        return self.staff

    @property
    def today(self) -> date:
        """The civil day of the command."""
        return civil_date(self.at)


@contextmanager
def acting(login: str | None) -> Iterator[Acting]:
    """A transaction on behalf of somebody; committed at the end, or not at all when an error is raised.

    Raises:
        NotFound: nobody has the login.
        Forbidden: the user is not valid now.
    """
    office = build()
    at = office.clock()
    try:
        with writing(office.engine) as session:
            staff = None if login is None else staff_by_login(session, login, at)
            yield Acting(office, session, staff, at)
    finally:
        office.engine.dispose()
