"""An ingester that is killed the first time it has committed rows and not yet told Redis."""

import os
import signal
import sys
import threading

from backoffice.adapters.hot_state import HotState
from backoffice.application.ingest import run_ingest
from backoffice.persistence.base import make_engine
from tests.backoffice.journal_play import packaged
from tests.backoffice.register_city import NOW


class MortalHotState(HotState):
    """Dies instead of acknowledging."""

    def acknowledge(self, durable, expiring, trims):  # type: ignore[no-untyped-def]
        trims = list(trims)
        if trims:
            os.kill(os.getpid(), signal.SIGKILL)
        super().acknowledge(durable, expiring, trims)


def main() -> None:
    database_url, redis_url = sys.argv[1:3]
    sys.modules["backoffice.application.ingest"].HotState = MortalHotState  # type: ignore[attr-defined]
    run_ingest(make_engine(database_url), redis_url, packaged(), lambda: NOW, threading.Event(), poll_s=0.01)


if __name__ == "__main__":
    main()
