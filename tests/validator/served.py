"""The validator as its own processes, as in service: workers under uvicorn, real sockets, a clock in a file."""

import contextlib
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import httpx2

from tests.validator.seeded_city import NOW
from validator.records.packing import to_micros

_START_S = 30.0


class ServiceDidNotStart(RuntimeError):
    """The process ended before it answered; the message is its output."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def write_clock(path: Path, now: datetime = NOW) -> Path:
    """A clock that stands still in a file."""
    path.write_bytes(struct.pack("=q", to_micros(now)))
    return path


def start_service(
    redis_url: str, folder: Path, port: int, *, workers: int = 1, **settings: str
) -> subprocess.Popen[bytes]:
    """Start the parent and its workers; they may not answer yet."""
    environment = os.environ | {
        "CATRACA_REDIS_URL": redis_url,
        "CATRACA_DEMO_CLOCK_FILE": str(write_clock(folder / f"clock-{port}")),
        **settings,
    }
    command = [sys.executable, "-m", "validator.serve", "--port", str(port), "--workers", str(workers)]
    with (folder / f"service-{port}.log").open("wb") as log:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


@contextlib.contextmanager
def served(
    redis_url: str, folder: Path, *, wait_ready: bool = True, workers: int = 1, **settings: str
) -> Iterator[str]:
    """The address of a running service."""
    port = free_port()
    process = start_service(redis_url, folder, port, workers=workers, **settings)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(process, address, "ready" if wait_ready else "live", folder / f"service-{port}.log")
        yield address
    finally:
        process.terminate()
        process.wait(15)


def wait_for(process: subprocess.Popen[bytes], address: str, what: str, log: Path) -> None:
    """Wait until the service says that it is live, or ready.

    Raises:
        ServiceDidNotStart: it ended, or took too long.
    """
    deadline = time.monotonic() + _START_S
    while True:
        with contextlib.suppress(httpx2.HTTPError):
            if httpx2.get(f"{address}/v1/health/{what}", timeout=2).status_code == 200:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            raise ServiceDidNotStart(log.read_text(errors="replace"))
        time.sleep(0.05)
