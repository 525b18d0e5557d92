"""`python -m validator.serve`: what `catraca validator` runs."""

import argparse
import sys

import structlog
from pydantic import ValidationError

from validator.adapters.json_log import log_as_json
from validator.serve.supervisor import FAILED, AddressTaken, Supervisor, reserve
from validator.settings import Settings, faults_of


def main() -> int:
    """Serve boardings with so many worker processes on one port; everything else comes from the environment."""
    parser = argparse.ArgumentParser(prog="python -m validator.serve", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    try:
        settings = Settings()
    except ValidationError as error:
        for fault in faults_of(error):
            sys.stderr.write(f"erro: {fault} (veja docs/operating.md)\n")
        return FAILED
    log_as_json(settings.log_level)
    try:
        address = reserve(options.host, options.port)
    except AddressTaken as error:
        structlog.get_logger("catraca.workers").error("address_taken", why=str(error))
        return FAILED
    return Supervisor(settings, address, options.workers).run()


if __name__ == "__main__":
    sys.exit(main())
