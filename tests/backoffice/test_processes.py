"""`catraca up` starts everything on embedded defaults and ends it cleanly; each process runs alone as well."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from backoffice.adapters.embedded_redis import EmbeddedRedis
from tests.backoffice.register_city import make_city

WAIT_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CATRACA_")}
    return {**kept, "CATRACA_DATA_DIR": str(folder), **more}


@contextlib.contextmanager
def catraca(*arguments: str, env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A running `catraca ...`; killed with its children where it did not end by itself."""
    process = subprocess.Popen(
        [sys.executable, "-m", "backoffice.cli", *arguments],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=30)
        process.kill()
        process.communicate()


def wait_for(url: str, process: subprocess.Popen[str], status: int = 200) -> None:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, process.stdout and process.stdout.read()
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                if answer.status == status:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.1)
    raise TimeoutError(url)


def wait_for_another_redis(folder: Path, died: int | None, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + WAIT_S
    while EmbeddedRedis(folder).pid in (None, died):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_up_serves_the_register_and_the_boardings_until_it_is_stopped(tmp_path: Path):
    city = make_city(f"sqlite:///{tmp_path / 'catraca.sqlite'}", tmp_path)
    city.engine.dispose()
    ports = free_port(), free_port()
    env = environment(
        tmp_path,
        CATRACA_VALIDATOR_PORT=str(ports[0]),
        CATRACA_VALIDATOR_WORKERS="2",
        CATRACA_BACKOFFICE_PORT=str(ports[1]),
    )
    printed: list[str] = []

    with catraca("up", env=env) as process:
        wait_for(f"http://127.0.0.1:{ports[0]}/v1/health/ready", process)
        wait_for(f"http://127.0.0.1:{ports[1]}/v1/health/ready", process)
        for address in (
            f"http://127.0.0.1:{ports[0]}/openapi.json",
            f"http://127.0.0.1:{ports[1]}/docs",
        ):
            wait_for(address, process)
            printed.append(address)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=WAIT_S)

    assert process.returncode == 0, said
    for address in printed:
        assert address in said
    plain = [line.split(":")[0] for line in said.splitlines() if not line.startswith("{")]
    assert plain == ["embarques", "retaguarda", "dados"]  # all else is JSON, also what libraries say
    events = [json.loads(line)["event"] for line in said.splitlines() if line.startswith("{")]
    assert events.count("worker_started") == 2
    assert EmbeddedRedis(tmp_path).pid is None
    for port in ports:
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_up_starts_its_redis_again_when_it_dies(tmp_path: Path):
    city = make_city(f"sqlite:///{tmp_path / 'catraca.sqlite'}", tmp_path)
    city.engine.dispose()
    ports = free_port(), free_port()
    env = environment(tmp_path, CATRACA_VALIDATOR_PORT=str(ports[0]), CATRACA_BACKOFFICE_PORT=str(ports[1]))
    ready = f"http://127.0.0.1:{ports[0]}/v1/health/ready"

    with catraca("up", env=env) as process:
        wait_for(ready, process)
        died = EmbeddedRedis(tmp_path).pid
        EmbeddedRedis(tmp_path).kill()
        wait_for_another_redis(tmp_path, died, process)
        wait_for(ready, process)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=WAIT_S)

    assert process.returncode == 0, said
    assert "o Redis terminou sozinho" in said
    assert EmbeddedRedis(tmp_path).pid is None


def test_up_ends_everything_when_one_process_ends(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        env = environment(
            tmp_path,
            CATRACA_VALIDATOR_PORT=str(taken.getsockname()[1]),
            CATRACA_BACKOFFICE_PORT=str(free_port()),
        )
        with catraca("up", env=env) as process:
            said, _ = process.communicate(timeout=WAIT_S)

    assert process.returncode == 1
    assert "o processo validator terminou sozinho" in said
    assert EmbeddedRedis(tmp_path).pid is None


@pytest.mark.parametrize("command", ["ingest", "publish"])
def test_a_process_alone_starts_redis_and_ends_it(tmp_path: Path, command: str):
    with catraca(command, env=environment(tmp_path)) as process:
        deadline = time.monotonic() + WAIT_S
        while EmbeddedRedis(tmp_path).pid is None:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=WAIT_S)

    assert process.returncode == 0, said
    assert EmbeddedRedis(tmp_path).pid is None


def test_a_validator_alone_starts_redis_and_ends_it(tmp_path: Path):
    port = free_port()
    with catraca("validator", "--port", str(port), env=environment(tmp_path)) as process:
        wait_for(f"http://127.0.0.1:{port}/v1/health/live", process)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=WAIT_S)

    assert process.returncode == 0, said
    assert EmbeddedRedis(tmp_path).pid is None


def test_a_rebuild_on_embedded_defaults_ends_by_itself(tmp_path: Path):
    with catraca("publish", "--rebuild", env=environment(tmp_path)) as process:
        said, _ = process.communicate(timeout=WAIT_S)

    assert process.returncode == 0, said
    assert "estado do Redis refeito" in said
    assert "64/64" in said


def test_a_backoffice_refuses_a_database_without_tables(tmp_path: Path, postgres_url: str):
    env = environment(tmp_path, CATRACA_DATABASE_URL=postgres_url)
    with catraca("backoffice", env=env) as process:
        said, _ = process.communicate(timeout=WAIT_S)

    assert process.returncode == 1
    assert said.strip().splitlines() == [
        "erro: o banco de dados não tem as tabelas deste programa; rode: catraca migrate"
    ]
