"""Clients that are slow, half gone, or too many hold no place."""

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from tests.validator.seeded_city import SeededCity, student
from tests.validator.served import served
from validator.settings import Settings


@contextlib.contextmanager
def connected(address: str) -> Iterator[socket.socket]:
    parts = urlsplit(address)
    assert parts.hostname is not None
    with socket.create_connection((parts.hostname, parts.port or 80), timeout=15) as connection:
        yield connection


def seconds_until_closed(connection: socket.socket) -> float:
    began = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while connection.recv(65_536):
            pass
    return time.monotonic() - began


def test_an_idle_connection_stays_for_the_time_that_is_set(city: SeededCity, redis_url: str, tmp_path: Path):
    with served(redis_url, tmp_path, CATRACA_KEEP_ALIVE_S="2") as address, connected(address) as bus:
        bus.sendall(b"GET /v1/health/live HTTP/1.1\r\nhost: x\r\n\r\n")
        assert bus.recv(4_096).startswith(b"HTTP/1.1 200")
        stayed = seconds_until_closed(bus)

    assert 1.5 < stayed < 6
    assert Settings().keep_alive_s > 60  # a bus taps every few minutes


POST = (
    b"POST /v1/boardings HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\nauthorization: Bearer val-1.s\r\n"
    b"catraca-sent-at: 2026-03-02T07:15:02-03:00\r\ncontent-type: application/json\r\n\r\n"
)


def test_a_request_that_does_not_arrive_is_cut_off(city: SeededCity, redis_url: str, tmp_path: Path):
    parts = {"nothing": b"", "half a header": POST[:60], "no body": POST, "half a body": POST + b"{"}
    closed_after = {}
    with (
        contextlib.ExitStack() as stack,
        served(redis_url, tmp_path, CATRACA_BODY_TIMEOUT_MS="500") as address,
    ):
        slow = {name: stack.enter_context(connected(address)) for name in parts}
        for name, connection in slow.items():
            connection.sendall(parts[name])
        for name, connection in slow.items():
            closed_after[name] = seconds_until_closed(connection)

    assert set(closed_after) == set(parts)  # a read that waits longer than 15 s is an error
    assert max(closed_after.values()) < 8


def test_a_request_that_trickles_is_cut_off(city: SeededCity, redis_url: str, tmp_path: Path):
    """A byte now and then keeps nothing open."""
    with served(redis_url, tmp_path, CATRACA_BODY_TIMEOUT_MS="500") as address, connected(address) as slow:
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            for byte in b"GET /v1/health/live HTTP/1.1\r\nx-never: " + b"a" * 200:
                slow.sendall(bytes([byte]))
                time.sleep(0.05)
        assert time.monotonic() - began < 8


def test_a_client_that_reads_no_answer_is_cut_off(city: SeededCity, redis_url: str, tmp_path: Path):
    with (
        served(redis_url, tmp_path, CATRACA_RESPONSE_TIMEOUT_MS="500") as address,
        connected(address) as deaf,
    ):
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.settimeout(1)
        with contextlib.suppress(ConnectionError, TimeoutError):
            for _ in range(2_000):
                deaf.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n")
        deadline = time.monotonic() + 10
        while 'catraca_connections_slow_reader_total{worker="0"} 1.0' not in metrics(address):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def metrics(address: str) -> str:
    return httpx2.get(f"{address}/metrics", timeout=5).text


def test_too_many_connections_are_closed_at_once_and_idle_ones_make_room(
    city: SeededCity, redis_url: str, tmp_path: Path
):
    device, card = city.device(), city.holder("00000000000000aa", student())
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(served(redis_url, tmp_path, CATRACA_MAX_CONNECTIONS="10"))
        idle = [stack.enter_context(connected(address)) for _ in range(10)]
        for connection in idle:
            connection.sendall(b"GET /v1/health/live HTTP/1.1\r\nhost: x\r\n\r\n")
        answered = [connection.recv(4_096)[:12] for connection in idle]
        refused = stack.enter_context(connected(address))
        seconds_until_closed(refused)
        time.sleep(2.5)
        said = metrics(address)
        tap = httpx2.post(
            f"{address}/v1/boardings",
            content=device.tap(1, card.medium),
            headers=device.headers(),
        )

    assert set(answered) == {b"HTTP/1.1 200"}
    # By the limit, and not as one on which nothing comes.
    assert 'catraca_connections_refused_total{worker="0"} 1.0' in said
    assert 'catraca_connections_slow_request_total{worker="0"} 0.0' in said
    assert tap.status_code == 200
