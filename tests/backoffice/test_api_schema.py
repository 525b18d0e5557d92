"""Every address of the HTTP API under made-up requests: no failure of ours, and refusals are problem documents."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from tests.backoffice.register_city import RegisterCity, make_city
from tests.backoffice.register_http import app_of

LOGINS = ("city", "manager", "admin")


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, RegisterCity]]:
    folder: Path = tmp_path_factory.mktemp("schema")
    city = make_city(f"sqlite:///{folder / 'catraca.sqlite'}", folder)
    city.card(city.student())
    yield schemathesis.openapi.from_asgi("/openapi.json", app_of(city)), city
    city.engine.dispose()


@pytest.mark.parametrize("mode", list(GenerationMode), ids=str)
def test_the_service_does_what_it_describes(described: tuple[Any, RegisterCity], mode: GenerationMode):
    schema, city = described
    for operation in (found.ok() for found in schema.get_all_operations()):
        _try_out(operation, city, mode)


def _try_out(operation: Any, city: RegisterCity, mode: GenerationMode) -> None:
    """A number or code that was made up is rarely one of the city's: 404, 409 and 422 may meet valid data."""

    @settings(max_examples=6, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy(generation_mode=mode), login=st.sampled_from(LOGINS))
    def agrees(case: schemathesis.Case, login: str) -> None:
        excluded = [positive_data_acceptance]
        if operation.method == "get":
            excluded.append(negative_data_rejection)  # what nobody asks for in an address is not read
        if operation.path.endswith(("/merge", "/refunds", "/{step}", "/closings")):
            excluded.append(not_a_server_error)  # 501, which it describes
        headers = {"Authorization": f"Bearer {city.tokens[login]}"}
        answer = case.call_and_validate(headers=headers, excluded_checks=excluded)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == ["application/problem+json"]

    try:
        agrees()
    except hypothesis.errors.Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE, "valid requests can be made of every description"
