"""A closing that is killed: while verdicts are found, or while its claims are written."""

import os
import signal
import sys
from typing import Any

from sqlalchemy import event

from backoffice.application.close_month import close_month
from backoffice.persistence.base import make_engine
from tests.backoffice.claims_city import BOOK, CLOSING, ClaimsCity
from tests.backoffice.claims_month import MARCH, closer


def die(*_arguments: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    database_url, moment = sys.argv[1:3]
    engine = make_engine(database_url)

    def watch(_connection: Any, _cursor: Any, statement: str, *_others: Any) -> None:
        if statement.startswith("INSERT INTO claim_lines"):
            die()

    event.listen(engine, "before_cursor_execute", watch)
    progress = die if moment == "rating" else None
    close_month(engine, BOOK, MARCH, at=CLOSING, by=closer(ClaimsCity(engine)), progress=progress)


if __name__ == "__main__":
    main()
