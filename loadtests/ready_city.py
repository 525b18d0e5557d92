"""`python -m loadtests.ready_city [-- COMMAND ...]`: a validator with a city of its own, for locust.

It runs until Ctrl-C, or while the command runs, whose code it returns. After a command it ingests the journal into an
empty database and compares every tap with what its rider heard (`loadtests/heard.py`): a difference is code 2. The city
is drawn from a seed, so that `loadtests/locustfile.py` knows its cards and devices without asking.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from backoffice.adapters.embedded_redis import EmbeddedRedis
from loadtests.bench.audit import WrongAnswer
from loadtests.bench.city import make_city, write_city
from loadtests.bench.servers import end_cleanly, http_server, validator_command
from loadtests.heard import settle
from loadtests.profiles import profiles

HOLDERS = 20_000
PORT = 8099


def main() -> int:
    """Fill a Redis, then run the validator on it."""
    parser = argparse.ArgumentParser(prog="python -m loadtests.ready_city", description=__doc__)
    parser.add_argument("--holders", type=int, default=HOLDERS)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("command", nargs="*", help="runs once the validator answers")
    options = parser.parse_args()
    end_cleanly()
    profile = profiles(1)[os.environ.get("CATRACA_LOAD_PROFILE", "peak")]
    with tempfile.TemporaryDirectory(prefix="catraca-load-") as name, EmbeddedRedis(Path(name)) as server:
        _, pairs = make_city(options.holders)
        write_city(server.url, pairs)
        heard = Path(name) / "heard"
        environment = {"CATRACA_REDIS_URL": server.url, "CATRACA_BOARDING_LOG": "false", **profile.settings}
        with http_server(
            validator_command(options.port, options.workers),
            options.port,
            Path(name) / "log",
            environment=environment,
            path="/v1/health/ready",
        ) as process:
            print(f"{options.holders:,} holders; http://127.0.0.1:{options.port}", file=sys.stderr)
            try:
                if not options.command:
                    return process.wait()
                code = subprocess.call(options.command, env={**os.environ, "CATRACA_LOAD_HEARD": str(heard)})
            except KeyboardInterrupt:
                return 0
        return _settled(server.url, Path(name), heard) or code


def _settled(url: str, folder: Path, heard: Path) -> int:
    """Compare what was heard with what the database ends with; the code to exit with."""
    if not heard.exists():
        return 0
    print("ingesting the journal and comparing it tap by tap ...", file=sys.stderr)
    try:
        print(settle(url, folder, heard).told())
    except WrongAnswer as error:
        print(f"WRONG: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
