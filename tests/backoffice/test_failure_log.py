"""What the back office's log says of a failure of its own: where, and nothing of whom."""

import contextlib
import socket
from pathlib import Path

import structlog
from fastapi.testclient import TestClient
from sqlalchemy import text
from structlog.testing import capture_logs

from tests.backoffice.register_city import CPF, make_city
from tests.backoffice.register_http import Api, app_of
from tests.backoffice.test_processes import catraca, environment, free_port, wait_for


def test_a_failure_of_the_database_tells_no_name_and_no_cpf(postgres_url: str, tmp_path: Path):
    """The statement is logged; its values are persons."""
    city = make_city(postgres_url, tmp_path)
    with city.writing() as session:
        session.execute(text("ALTER TABLE persons RENAME COLUMN phone TO telephone"))
    person = {"name": "Fulana de Tal", "birth_date": "1950-01-02", "cpf": CPF}
    sent = {"Authorization": f"Bearer {city.tokens['clerk']}"}

    with capture_logs() as logs, TestClient(app_of(city), raise_server_exceptions=False) as client:
        answer = client.post("/v1/holders", json=person, headers=sent)
    city.engine.dispose()

    (failure,) = [line for line in logs if line["event"] == "request_failed"]
    said = structlog.processors.format_exc_info(None, "error", dict(failure))["exception"]
    assert answer.status_code == 500
    assert "INSERT INTO persons" in said
    for personal in ("Fulana", "52998224725", "1950"):
        assert personal not in said + answer.text


_UPGRADE = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAA\r\nSec-WebSocket-Version: 13"
_REQUESTS = (
    ("GET", "Connection: close"),
    ("GET", _UPGRADE),
    ("BREW", "Connection: close"),
    ("GET", "Content-Length: -1"),
)
"""An ordinary one, another protocol, another method, and no HTTP at all."""


def test_what_stands_in_an_address_is_never_logged(tmp_path: Path):
    make_city(f"sqlite:///{tmp_path / 'catraca.sqlite'}", tmp_path).engine.dispose()
    port = free_port()
    env = environment(tmp_path, CATRACA_BACKOFFICE_PORT=str(port))
    with catraca("backoffice", env=env) as process:
        wait_for(f"http://127.0.0.1:{port}/v1/health/ready", process)
        for number, (method, headers) in enumerate(_REQUESTS):
            with socket.create_connection(("127.0.0.1", port)) as line, contextlib.suppress(TimeoutError):
                line.settimeout(1)
                target = f"/v1/holders/search?name=Fulana{number}&cpf=52998224725"
                line.sendall(f"{method} {target} HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n".encode())
                line.recv(65536)
        process.terminate()
        said, _ = process.communicate(timeout=30)

    assert "Fulana" not in said
    assert "52998224725" not in said


def test_a_body_that_is_no_json_is_the_field_body(lite: Api):
    headers = {"Authorization": f"Bearer {lite.city.tokens['city']}", "Content-Type": "application/json"}

    answer = lite.client.post("/v1/acts", content=b'{"kind": "LAW",', headers=headers)

    assert answer.json()["errors"] == [{"field": "body", "message": "o corpo não é JSON"}]
