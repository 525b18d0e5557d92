"""`python -m loadtests.ready_city [-- COMMAND ...]`: a validator with a city of its own, for locust.

It runs until Ctrl-C, or while the command runs, whose code it returns. The city is drawn from a seed, so that
`loadtests/locustfile.py` knows its cards and devices without asking.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from backoffice.adapters.embedded_redis import EmbeddedRedis
from loadtests.bench.city import make_city, write_city
from loadtests.bench.servers import end_cleanly, http_server, validator_command

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
    with tempfile.TemporaryDirectory(prefix="catraca-load-") as name, EmbeddedRedis(Path(name)) as server:
        _, pairs = make_city(options.holders)
        write_city(server.url, pairs)
        environment = {"CATRACA_REDIS_URL": server.url, "CATRACA_BOARDING_LOG": "false"}
        with http_server(
            validator_command(options.port, options.workers),
            options.port,
            Path(name) / "log",
            environment=environment,
            path="/v1/health/ready",
        ) as process:
            print(f"{options.holders:,} holders; http://127.0.0.1:{options.port}", file=sys.stderr)
            try:
                return subprocess.call(options.command) if options.command else process.wait()
            except KeyboardInterrupt:
                return 0


if __name__ == "__main__":
    sys.exit(main())
