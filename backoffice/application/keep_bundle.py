"""Keep the fleet's bundle young: built from what is published, again and again."""

import threading
from collections.abc import Callable
from datetime import datetime

import redis
import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from backoffice.adapters.bundle_store import BundleStore
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.bundle import Built, BundleNotBuilt, build_bundle
from backoffice.application.ports import CardSigner
from backoffice.application.publish_records import all_holders
from backoffice.domain.offline_policy import OfflinePolicy
from backoffice.persistence.base import reading

_log = structlog.get_logger("catraca.bundle")

Advance = Callable[[int, int], None]


def build_once(
    engine: Engine,
    redis_url: str,
    policy: OfflinePolicy,
    signer: CardSigner,
    at: datetime,
    advance: Advance = lambda done, total: None,
) -> Built:
    """Build and offer the bundle as of now.

    Raises:
        BundleNotBuilt: the hot state has not all that the register has; the last bundle stays.
        redis.RedisError: Redis is away.
        sqlalchemy.exc.OperationalError: the database is away.
    """
    with reading(engine) as session:
        holders = [hot_id for _, hot_id, _, published in all_holders(session) if published >= 1]
    with RedisLink(redis_url) as link:
        return build_bundle(BundleStore(link), holders, policy, signer, at, advance)


def run_bundle(
    engine: Engine,
    redis_url: str,
    policy: OfflinePolicy,
    signer: CardSigner,
    clock: Callable[[], datetime],
    every_s: float,
    stop: threading.Event,
) -> None:
    """Build again and again until somebody asks to stop; what cannot be built now is built the next time."""
    while not stop.is_set():
        pause = every_s
        try:
            built = build_once(engine, redis_url, policy, signer, clock())
        except BundleNotBuilt as reason:
            _log.warning("bundle_not_built", reason=str(reason))
            pause = min(every_s, 10.0)
        except (redis.RedisError, OperationalError) as error:
            _log.warning("bundle_away", kind=type(error).__name__)
            pause = min(every_s, 10.0)
        else:
            _log.info(
                "bundle",
                version=built.version,
                new=built.new,
                holders=built.holders,
                full_bytes=built.full_bytes,
                step_bytes=built.step_bytes,
            )
        stop.wait(pause)
