"""The agent is killed with `kill -9` at random points under load, again and again: nothing is lost or renumbered.

About twenty seconds in CI. On demand, for ten minutes: `CATRACA_KILL_SECONDS=600 pytest` with this file.
CATRACA_KILL_SEED repeats a run's draws.
"""

import contextlib
import json
import os
import queue
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.faults.recording_service import RecordingService, chain_of
from tests.onboard.fleet import RedisGet, build, fetch, install, new_store
from tests.validator.seeded_city import SeededCard, SeededCity, elder, prepaid, student

pytestmark = pytest.mark.hot_state

SECONDS = float(os.environ.get("CATRACA_KILL_SECONDS", "20"))
IN_FLIGHT = 8
"""Lines of the reader that wait at most."""

HOLDERS = {f"{n:016x}": holder for n, holder in enumerate([elder(), student(90), prepaid(90)], start=0xA1)}


@dataclass
class Ledger:
    """What the agent has acknowledged over all its lives.

    Attributes:
        taps: Boarding id by sequence, as shown on the display.
        kept: Exact bytes by sequence, as found on disk after a kill.
        kills: How often it was killed.
    """

    taps: dict[int, str] = field(default_factory=dict)
    kept: dict[int, bytes] = field(default_factory=dict)
    kills: int = 0


class Life:
    """One run of the agent's process."""

    def __init__(self, folder: Path, service: str, chance: random.Random, lines: list[str]) -> None:
        command = [sys.executable, "-m", "validator.onboard", "--dir", str(folder), "--service", service]
        self._log = folder / "agent.log"
        self._errors = self._log.open("ab")
        self.process = subprocess.Popen(
            [*command, "--line", "102", "--vehicle", "1207", "run"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._chance = chance
        self._lines = lines
        self._room = threading.Semaphore(IN_FLIGHT)
        self._ended = threading.Event()
        self.shown: list[dict[str, Any]] = []
        self.first: queue.Queue[None] = queue.Queue()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._feed, self._listen)]
        for thread in self._threads:
            thread.start()

    def _feed(self) -> None:
        assert self.process.stdin is not None
        while not self._ended.is_set():
            if not self._room.acquire(timeout=0.2):
                continue
            try:
                self.process.stdin.write(self._chance.choice(self._lines).encode() + b"\n")
                self.process.stdin.flush()
            except OSError:
                return

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            self._room.release()
            if raw.endswith(b"\n"):
                self.shown.append(json.loads(raw))
                self.first.put(None)

    def wait_for_first(self) -> None:
        for _ in range(600):
            try:
                self.first.get(timeout=0.1)
                return
            except queue.Empty:
                assert self.process.poll() is None, (
                    f"the agent ended by itself: {self._log.read_text()[-2000:]}"
                )
        raise AssertionError(f"the agent showed nothing for a minute: {self._log.read_text()[-2000:]}")

    def kill(self) -> list[dict[str, Any]]:
        """Kill it now; all that it has shown."""
        self._ended.set()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for thread in self._threads:
            thread.join(10)
        for pipe in (self.process.stdin, self.process.stdout, self._errors):
            assert pipe is not None
            with contextlib.suppress(OSError):  # what was not written yet
                pipe.close()
        return self.shown


def rows_of(folder: Path) -> list[tuple[int, str, str, bytes, bytes]]:
    """The journal as anybody may read it: sequence, kind, boarding, bytes, head."""
    connection = sqlite3.connect(folder / "journal.sqlite")
    try:
        return connection.execute(
            "SELECT seq, kind, boarding_id, exact, head FROM entries WHERE epoch = 1 ORDER BY seq"
        ).fetchall()
    finally:
        connection.close()


def examine(folder: Path, ledger: Ledger, shown: list[dict[str, Any]]) -> None:
    """After a kill: numbers without gaps, the chain whole, nothing changed, nothing acknowledged is missing."""
    rows = rows_of(folder)
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    by_seq = {row[0]: row for row in rows}
    for seq, exact in ledger.kept.items():
        assert by_seq[seq][3] == exact, f"sequence {seq} changed"
    ledger.kept = {row[0]: row[3] for row in rows}
    for answer in shown:
        if answer.get("device_seq") is None:
            continue
        seq, boarding_id = answer["device_seq"], answer["boarding_id"]
        assert ledger.taps.setdefault(seq, boarding_id) == boarding_id, f"sequence {seq} given twice"
        assert by_seq[seq][2] == boarding_id
        message = json.loads(by_seq[seq][3])
        assert message.get("boarding_id", message.get("annuls")) == boarding_id
    if rows:
        assert rows[-1][4] == chain_of("val-1", 1, [row[3] for row in rows])


@pytest.fixture
def service() -> Iterator[RecordingService]:
    service = RecordingService(seed=7)
    yield service
    service.close()


@pytest.fixture
def device(redis_url: str, tmp_path: Path) -> Path:
    """The folder of an enrolled device with a list."""
    folder = tmp_path / "device"
    with SeededCity(redis_url) as city:
        city.publish()
        for hot_id, holder in HOLDERS.items():
            city.holder(hot_id, holder)
        build(city, redis_url, list(HOLDERS))
        store = new_store(folder)
        fetch(store, RedisGet(city))
        store.close()
    install(folder).close()
    return folder


def lines() -> list[str]:
    cards = [SeededCard(hot_id).token.text() for hot_id in HOLDERS]
    return [
        *cards,
        '{"tap":{"kind":"cash","tendered_cents":1000}}',
        '{"tap":{"kind":"key","category":"CHILD"}}',
        '{"tap":{"kind":"document","category":"ELDER","document":"RG"}}',
        '{"not_turned":true}',
        "no card at all",
    ]


def test_an_agent_killed_at_random_points_loses_and_renumbers_nothing(
    device: Path, service: RecordingService, capsys: pytest.CaptureFixture[str]
):
    seed = int(os.environ.get("CATRACA_KILL_SEED", str(random.randrange(10**6))))
    chance, ledger = random.Random(seed), Ledger()
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        address = service.address if chance.random() < 0.7 else "http://127.0.0.1:1"
        life = Life(device, address, random.Random(chance.random()), lines())
        if chance.random() < 0.8:
            life.wait_for_first()
        time.sleep(chance.expovariate(4))
        shown = life.kill()
        ledger.kills += 1
        examine(device, ledger, shown)
        assert service.fault == "", f"seed {seed}: {service.fault}"

    service.lossy = False
    drained = drain(device, service)
    with capsys.disabled():
        sys.stdout.write(
            f"\n  seed {seed}: {ledger.kills} kills, {drained} entries, {len(ledger.taps)} acknowledged\n"
        )
    assert ledger.kills >= SECONDS / 10
    assert drained > 10


def drain(device: Path, service: RecordingService) -> int:
    """Let the device upload what it owes, without a reader; how many entries its journal holds."""
    command = [sys.executable, "-m", "validator.onboard", "--dir", str(device), "--service", service.address]
    done = subprocess.run([*command, "upload"], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    checked = subprocess.run([*command, "check"], check=False, capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr
    rows = rows_of(device)
    assert {seq: exact for seq, _, _, exact, _ in rows} == {
        seq: exact for (_, seq), exact in service.entries.items()
    }
    assert service.fault == ""
    shutil.rmtree(device)
    return len(rows)
