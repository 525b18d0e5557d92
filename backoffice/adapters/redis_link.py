"""One connection to one Redis process, for those who must never talk to another process without noticing.

redis-py connects again by itself after a lost connection. Whoever holds conclusions about what the server has (the
ingester, a rebuild) would then act on another process, perhaps one that has lost its last second. This link breaks
for good instead: whoever holds it opens a new one and looks again.
"""

from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

Unavailable = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.exceptions.BusyLoadingError,
    redis.ReadOnlyError,
    redis.exceptions.OutOfMemoryError,
)
"""Raised when the server is gone, loading, slow, no longer the master, or without memory: wait, open a new link."""


class RedisLink:
    """A connection that never connects twice.

    Attributes:
        client: The redis-py client; all commands go through its one connection.
        run_id: Run id of the process at the other end.
    """

    def __init__(self, url: str, *, timeout_s: float = 10.0) -> None:
        """Connect.

        Raises:
            redis.RedisError: one of `Unavailable`, or a server that refuses us.
        """
        self._connected = False
        self.client: Any = redis.Redis.from_url(
            url,
            protocol=2,
            max_connections=1,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            redis_connect_func=self._connect_once,
        )
        # A stream's entries as they come: redis-py would make a dict of each, and nobody needs one.
        self.client.set_response_callback("XREAD", lambda answer, **_options: answer)
        self.run_id: str = self.client.info("server")["run_id"]

    def _connect_once(self, connection: Any) -> None:
        if self._connected:
            raise redis.ConnectionError("the connection was lost; a new link must be opened")
        self._connected = True
        connection.on_connect()

    def close(self) -> None:
        """Close the connection."""
        self.client.close()

    def __enter__(self) -> "RedisLink":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
