"""The parent of the workers: it serves nobody, starts again the one that dies, and ends all of them in order."""

import gc
import os
import signal
import socket
import sys
import time
import traceback
from dataclasses import dataclass

import structlog

from validator.serve.noticeboard import Noticeboard
from validator.serve.worker import bound_to, run_worker
from validator.settings import Settings

_POLL_S = 0.05
_SETTLED_S = 10.0
"""A worker that lived so long is started again at once when it dies; one that died sooner waits."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 10.0
_PAUSE_S = 1.0
"""Whoever has not run for so long was paused with the whole machine, and so were the workers."""
_SPARE_S = 5.0
_START_S = 5.0
"""A worker that has said nothing yet may take so much longer: it connects, and waits for the city."""
FAILED = 1

_log = structlog.get_logger("catraca.workers")


class AddressTaken(OSError):
    """Somebody listens on the address already, or it is not this machine's."""


def reserve(host: str, port: int) -> socket.socket:
    """A socket that is bound to the address and never listens: it keeps the port while workers come and go.

    Raises:
        AddressTaken: somebody else has it.
    """
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    try:
        # Without SO_REUSEPORT, else two services would share the port.
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
        return bound_to(family, address)
    except OSError as error:
        raise AddressTaken(f"cannot listen on {host}:{port}: {error.strerror}") from error


@dataclass(slots=True)
class _Worker:
    """One place among the workers, and the process that has it now."""

    number: int
    pid: int = 0
    began: float = 0.0
    wait_s: float = 0.0
    due: float = 0.0


class Supervisor:
    """Keeps so many workers running until it is asked to stop."""

    def __init__(self, settings: Settings, address: socket.socket, workers: int) -> None:
        self._settings = settings
        self._address = address
        self._notices = Noticeboard(workers)
        self._workers = [_Worker(number) for number in range(workers)]
        self._alive, self._held = os.pipe()
        self._stop = False
        self._settled = False
        self._looked = self._resumed = time.monotonic()

    def run(self) -> int:
        """Serve until SIGTERM or Ctrl-C; the code to exit with."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._asked_to_stop)
        host, port = self._address.getsockname()[:2]
        _log.info("workers_start", pid=os.getpid(), workers=len(self._workers), host=host, port=port)
        gc.collect()
        gc.freeze()  # what is loaded by now stays shared between parent and workers
        code = 0
        try:
            while code == 0 and not self._is_stopping():
                self._start_due()
                time.sleep(_POLL_S)
                if not self._is_stopping():
                    code = self._look()
        finally:
            self._end()
        return code

    def _asked_to_stop(self, *_: object) -> None:
        self._stop = True

    def _is_stopping(self) -> bool:
        return self._stop  # a signal may have set it since it was last read

    # Starting

    def _start_due(self) -> None:
        now = time.monotonic()
        for worker in self._workers:
            if worker.pid == 0 and now >= worker.due and not self._is_stopping():
                worker.began = now
                worker.pid = self._fork(worker.number)
                _log.info("worker_started", worker=worker.number, pid=worker.pid)

    def _fork(self, number: int) -> int:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            return pid
        code = FAILED
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # until it serves, it may end at once
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            if self._is_stopping():  # asked to stop in the instant between the fork and here
                os._exit(0)
            os.close(self._held)
            run_worker(self._settings, self._address, number, self._notices, self._alive)
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else FAILED
        except BaseException:  # noqa: BLE001 - a forked process must never run on into its parent's code
            _log.error("worker_failed", worker=number, why=traceback.format_exc())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    # Watching

    def _look(self) -> int:
        """Note who died or hangs; the code to end with, 0 to go on."""
        now = time.monotonic()
        if now - self._looked > _PAUSE_S:
            self._resumed = now
        self._looked = now
        hung_s = self._settings.worker_hung_s
        for worker in self._workers:
            if worker.pid == 0:
                continue
            ended, status = os.waitpid(worker.pid, os.WNOHANG)
            posted = self._notices.read(worker.number)
            self._settled = self._settled or posted is not None
            if ended:
                code = os.waitstatus_to_exitcode(status)
                if not self._settled:
                    _log.error("worker_did_not_start", worker=worker.number, code=code)
                    worker.pid = 0
                    return code if code > 0 else FAILED
                self._died(worker, code, now)
                continue
            said = worker.began + _START_S if posted is None else posted.at
            if now - max(said, self._resumed) > hung_s:
                _log.error("worker_hung", worker=worker.number, pid=worker.pid, seconds=hung_s)
                os.kill(worker.pid, signal.SIGKILL)
        return 0

    def _died(self, worker: _Worker, code: int, now: float) -> None:
        lived = now - worker.began
        soon = min(_LONGEST_WAIT_S, max(_FIRST_WAIT_S, worker.wait_s * 2))
        worker.wait_s = 0.0 if lived >= _SETTLED_S else soon
        worker.due = now + worker.wait_s
        _log.error(
            "worker_died",
            worker=worker.number,
            pid=worker.pid,
            code=code,
            lived_s=round(lived, 1),
            restart_in_s=worker.wait_s,
        )
        worker.pid = 0
        self._notices.clear(worker.number)
        self._notices.restarted(worker.number)

    # Ending

    def _end(self) -> None:
        running = [worker for worker in self._workers if worker.pid]
        _log.info("workers_stop", workers=len(running))
        for worker in running:
            os.kill(worker.pid, signal.SIGTERM)
        deadline = time.monotonic() + self._settings.drain_ms / 1000 + _SPARE_S
        for worker in running:
            while os.waitpid(worker.pid, os.WNOHANG)[0] == 0:
                if time.monotonic() > deadline:
                    _log.error("worker_killed", worker=worker.number, pid=worker.pid)
                    os.kill(worker.pid, signal.SIGKILL)
                    os.waitpid(worker.pid, 0)
                    break
                time.sleep(_POLL_S)
        self._address.close()
