"""Whether the journal streams hold entries that are not in SQL yet: no month is closed over their heads unasked.

What is still in a stream at closing would come later and go to a complementary claim, though it was received in time.
"""

from collections.abc import Callable
from dataclasses import dataclass

from redis import RedisError

from backoffice.adapters.journal_stream import entries_until, stream_ends
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.errors import Conflict


class JournalBehind(Conflict):
    """Entries that were received in time are not in SQL, or nobody can tell."""

    code = "JOURNAL_BEHIND"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for the ingester.

    Attributes:
        seconds: How long; 0 for one look.
        elapsed: Tells seconds that only grow.
        pause: Waits a moment between two looks.
        told: Hears how many entries are left, and how many there were.
    """

    seconds: float
    elapsed: Callable[[], float]
    pause: Callable[[], None]
    told: Callable[[int, int], None]


def await_journal(redis_url: str, patience: Patience) -> int:
    """Wait until all that the streams hold now is in SQL; how many entries are not when patience ends.

    What comes meanwhile is not waited for, since buses never stop.

    Raises:
        JournalBehind: Redis does not answer, so that nobody can tell.
    """
    began = patience.elapsed()
    try:
        with RedisLink(redis_url) as link:
            ends = stream_ends(link)
            first = left = entries_until(link, ends)
            while left and patience.elapsed() - began < patience.seconds:
                patience.told(left, first)
                patience.pause()
                left = entries_until(link, ends)
            return left
    except RedisError as error:
        raise JournalBehind(
            "o Redis não respondeu, e sem ele não se sabe se há embarques que ainda não chegaram ao banco; "
            "confira o Redis e tente de novo, ou feche assim mesmo com --incomplete",
            "Redis did not answer: nobody can tell whether entries of the journal are missing in the database",
        ) from error


def refuse_unread(left: int) -> None:
    """Refuse to close while entries are not in SQL.

    Raises:
        JournalBehind: there are some.
    """
    if left:
        raise JournalBehind(
            f"{left} registros do diário ainda não chegaram ao banco; confira se `catraca ingest` está rodando e "
            "espere mais com --wait SEGUNDOS, ou feche assim mesmo com --incomplete: o que faltar vai à fatura "
            "complementar",
            f"{left} journal entries are not in the database yet; is `catraca ingest` running?",
        )
