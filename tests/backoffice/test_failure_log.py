"""What the back office's log says of a failure of its own: where, and nothing of whom."""

from pathlib import Path

import structlog
from fastapi.testclient import TestClient
from sqlalchemy import text
from structlog.testing import capture_logs

from tests.backoffice.register_city import CPF, make_city
from tests.backoffice.register_http import app_of


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
