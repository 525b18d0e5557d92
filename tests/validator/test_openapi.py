"""The OpenAPI document is complete and true."""

from collections.abc import Iterator
from typing import Any

import hypothesis
import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import positive_data_acceptance

from backoffice.adapters.embedded_redis import EmbeddedRedis
from tests.validator.conftest import Service
from tests.validator.seeded_city import SeededCity
from tests.validator.served import served
from validator.api.openapi import WIRE_TYPES

pytestmark = pytest.mark.hot_state


async def test_the_boarding_routes_are_described_by_the_very_types_that_decode_them(service: Service):
    document = (await service.client.get("/openapi.json")).json()

    _, real = msgspec.json.schema_components(WIRE_TYPES, ref_template="#/components/schemas/{name}")
    described = document["components"]["schemas"]
    assert {name: described[name] for name in real} == msgspec.json.decode(msgspec.json.encode(real))
    requests = {
        path: operations["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"].split("/")[
            -1
        ]
        for path, operations in document["paths"].items()
        if "post" in operations
    }
    assert requests == {
        "/v1/boardings": "TapMessage",
        "/v1/boardings/batch": "BatchMessage",
        "/v1/boardings/{boarding_id}/annul": "AnnulMessage",
    }


async def test_every_address_is_described(service: Service):
    document = (await service.client.get("/openapi.json")).json()

    assert set(document["paths"]) == {
        "/v1/boardings",
        "/v1/boardings/batch",
        "/v1/boardings/{boarding_id}/annul",
        "/v1/health/live",
        "/v1/health/ready",
        "/v1/sync",
        "/v1/sync/chunks/{digest}",
        "/metrics",
    }


@pytest.fixture(scope="module")
def api(redis_server: EmbeddedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The described service, running, with a device that schemathesis may post as."""
    url = redis_server.start()
    with SeededCity(url) as city:
        city.redis.flushall()
        city.publish()
        device = city.device()
        with served(url, tmp_path_factory.mktemp("openapi")) as address:
            schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
            schema.device_authorization = device.authorization
            # A token of thousands of letters is refused for its size, before anybody reads it.
            rejection = schema.config.checks.negative_data_rejection
            rejection.expected_statuses = [*rejection.expected_statuses, "413"]
            yield schema


@pytest.mark.parametrize(
    "operation",
    [
        ("POST", "/v1/boardings"),
        ("POST", "/v1/boardings/batch"),
        ("POST", "/v1/boardings/{boarding_id}/annul"),
        ("GET", "/v1/health/live"),
        ("GET", "/v1/health/ready"),
        ("GET", "/v1/sync"),
        ("GET", "/metrics"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("mode", list(GenerationMode), ids=str)
def test_the_running_service_does_what_it_describes(
    api: Any, operation: tuple[str, str], mode: GenerationMode
):
    """A signature over random bytes is never true and an epoch is rarely the device's: 422 may meet valid data."""
    method, path = operation

    @settings(max_examples=40, suppress_health_check=list(HealthCheck), database=None)
    @given(data=st.data())
    def agrees(data: st.DataObject) -> None:
        case = data.draw(api[path][method].as_strategy(generation_mode=mode))
        excluded = [positive_data_acceptance]
        if path == "/v1/sync":
            excluded.append(not_a_server_error)  # 501, which it describes
        case.call_and_validate(headers={"Authorization": api.device_authorization}, excluded_checks=excluded)

    try:
        agrees()
    except hypothesis.errors.Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE, "valid requests can be made of every description"
