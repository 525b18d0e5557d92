"""Section 1 of the page: how a device asks, and what comes back."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx2

TIMEOUT_S = 30.0
MOST_TRIES = 6
"""A 503 is not an answer yet: the same bytes are sent again, after as long as the service says."""


class ServiceAway(ConnectionError):
    """The service cannot be reached, or breaks off."""


@dataclass(frozen=True)
class Answer:
    """An answer of the service."""

    status: int
    content_type: str
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object, an empty one where there is none."""
        try:
            found = json.loads(self.raw)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def __str__(self) -> str:
        return f"{self.status} {self.content_type} {self.raw.decode(errors='replace')}"


class Link:
    """A device's connection to the service.

    Attributes:
        now: The device's clock.
    """

    def __init__(
        self, url: str, token: str, now: Callable[[], datetime], pause: Callable[[float], None]
    ) -> None:
        self.now = now
        self._pause = pause
        self._token = token
        self._client = httpx2.Client(base_url=url.rstrip("/"), timeout=TIMEOUT_S, trust_env=False)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def pause(self, seconds: float) -> None:
        """Wait."""
        self._pause(seconds)

    def post(self, path: str, raw: bytes, **headers: str | None) -> Answer:
        """Post exact bytes; a header that is given replaces the usual one, and None leaves it out."""
        usual: dict[str, str | None] = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Catraca-Sent-At": spell_instant(self.now()),
        }
        return self.ask("POST", path, usual | _named(headers), raw)

    def get(self, path: str, **headers: str | None) -> Answer:
        """Get a page."""
        usual: dict[str, str | None] = {"Authorization": f"Bearer {self._token}"}
        return self.ask("GET", path, usual | _named(headers))

    def ask(self, method: str, path: str, headers: dict[str, str | None], raw: bytes = b"") -> Answer:
        """One request, repeated while the service says `Retry-After`.

        Raises:
            ServiceAway: no answer.
        """
        sent = [(name, value) for name, value in headers.items() if value is not None]
        tried = 0
        while True:
            tried += 1
            try:
                came = self._client.request(method, path, content=raw or None, headers=sent)
            except httpx2.HTTPError as error:
                raise ServiceAway(str(error) or type(error).__name__) from error
            wait = came.headers.get("retry-after")
            if came.status_code != 503 or wait is None or tried == MOST_TRIES:
                return Answer(came.status_code, came.headers.get("content-type", ""), came.content)
            self._pause(min(float(wait) if wait.isdigit() else 1.0, 5.0))


def spell_instant(instant: datetime) -> str:
    """An instant as this device writes it."""
    return instant.isoformat(timespec="milliseconds")


def _named(headers: dict[str, str | None]) -> dict[str, str | None]:
    return {name.replace("_", "-").title(): value for name, value in headers.items()}
