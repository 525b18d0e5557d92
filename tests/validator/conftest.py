"""A validator service in this process, on a real Redis, with a clock that the test sets."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime

import httpx2
import pytest

from tests.validator.seeded_city import NOW, SeededCity, SeededDevice, iso
from validator.bootstrap import create_app
from validator.settings import Settings


class SettableClock:
    """The service's clock in a test."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Service:
    """A running service, and how a device talks to it."""

    def __init__(self, client: httpx2.AsyncClient, clock: SettableClock) -> None:
        self.client = client
        self.clock = clock

    async def post(
        self, device: SeededDevice, path: str, body: bytes, sent_at: str | None = None, **headers: str
    ) -> httpx2.Response:
        fields = device.headers(sent_at or iso(self.clock.now)) | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        return await self.client.post(path, content=body, headers=fields)

    async def board(self, device: SeededDevice, body: bytes, **headers: str) -> httpx2.Response:
        return await self.post(device, "/v1/boardings", body, **headers)

    async def batch(self, device: SeededDevice, body: bytes | None = None, **headers: str) -> httpx2.Response:
        return await self.post(device, "/v1/boardings/batch", body or device.batch(), **headers)

    async def items(self, device: SeededDevice, body: bytes | None = None) -> list[dict[str, object]]:
        """What a batch that is taken answers of each item."""
        answer = await self.batch(device, body)
        assert answer.status_code == 200, answer.text
        items: list[dict[str, object]] = answer.json()["items"]
        return items


@contextlib.asynccontextmanager
async def running_service(url: str, **settings: object) -> AsyncIterator[Service]:
    """A service in this process."""
    clock = SettableClock()
    chosen = Settings(redis_url=url, boarding_log=False, **settings)  # type: ignore[arg-type]
    app = create_app(chosen, clock)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(app.behind.router.lifespan_context(app.behind))
        transport = httpx2.ASGITransport(app=app)
        client = await stack.enter_async_context(
            httpx2.AsyncClient(transport=transport, base_url="http://validator")
        )
        yield Service(client, clock)


@pytest.fixture
def city(redis_url: str) -> Iterator[SeededCity]:
    """A published city in the worker's Redis."""
    with SeededCity(redis_url) as seeded:
        seeded.publish()
        yield seeded


@pytest.fixture
async def service(city: SeededCity, redis_url: str) -> AsyncIterator[Service]:
    """A running service on the published city."""
    async with running_service(redis_url) as running:
        yield running


Start = Callable[..., contextlib.AbstractAsyncContextManager[Service]]
