"""The product's processes, started for real and ended for certain."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from backoffice.demo.failure import ProcessFailed
from backoffice.demo.interrupts import Interrupts

_POLL_S = 0.05
_STOP_S = 15.0


class Processes:
    """Children of the demonstration; leaving the context ends them, the last started first."""

    def __init__(self, environment: Mapping[str, str], logs: Path, interrupts: Interrupts) -> None:
        self._environment = {**os.environ, **environment}
        self._logs = logs
        self._interrupts = interrupts
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        logs.mkdir(parents=True, exist_ok=True)

    def start(self, name: str, *arguments: str) -> None:
        """Start `catraca <arguments>`; what it says goes to `<name>.log`."""
        with self._interrupts.held(), (self._logs / f"{name}.log").open("wb") as log:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", "backoffice.cli", *arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches the demonstration alone, which ends them in order
            )

    def wait_ready(self, name: str, url: str, wait_s: float = 60.0) -> None:
        """Wait until an address answers 200.

        Raises:
            ProcessFailed: it does not.
        """
        deadline = time.monotonic() + wait_s
        while not _answers(url):
            self.check()
            if time.monotonic() > deadline:
                raise ProcessFailed(f"{name} não ficou pronto em {wait_s:.0f} s. {self._log_tail(name)}")
            time.sleep(_POLL_S)

    def check(self) -> None:
        """Make sure that all still run.

        Raises:
            ProcessFailed: one has ended.
        """
        for name, process in self._running.items():
            if process.poll() is not None:
                raise ProcessFailed(
                    f"{name} terminou com código {process.returncode}. {self._log_tail(name)}"
                )

    def wait(self) -> None:
        """Wait until one ends by itself, or until Ctrl-C.

        Raises:
            ProcessFailed: one has ended.
        """
        while True:
            self.check()
            time.sleep(0.5)

    def stop(self) -> None:
        """End all, the last started first; one that does not end in time is killed."""
        with self._interrupts.held():
            for process in reversed(self._running.values()):
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
                try:
                    process.wait(_STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            self._running.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _log_tail(self, name: str) -> str:
        path = self._logs / f"{name}.log"
        lines = path.read_text(errors="replace").splitlines()[-15:]
        return f"O fim de {path} diz:\n" + "\n".join(lines)


def free_port(wanted: int = 0) -> int:
    """The wanted port where it is free on this machine, else any that is."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise ProcessFailed("nenhuma porta livre nesta máquina")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False
