"""Reads the published city again and again; keeps the old view when the new one is broken."""

import asyncio

import structlog

from validator.adapters.redis_link import packed
from validator.adapters.redis_state import RedisState
from validator.application.current_city import CurrentCity
from validator.application.errors import HotStateAway
from validator.domain.rules import LawError
from validator.records.city import view_city
from validator.records.keys import CITY
from validator.records.packing import RecordError, revision_of

_log = structlog.get_logger("catraca.city")

_HEAD = packed(b"GETRANGE", CITY, 0, 9)
_WHOLE = packed(b"GET", CITY)


class CityWatch:
    """Keeps `CurrentCity` at the published revision.

    Attributes:
        broken: How many published revisions could not be read.
    """

    def __init__(self, state: RedisState, city: CurrentCity, poll_s: float) -> None:
        self._state = state
        self._city = city
        self._poll_s = poll_s
        self._broken_revision: int | None = None
        self.broken = 0

    async def run(self) -> None:
        """Look for ever."""
        while True:
            try:
                await self.look()
                await self._state.refresh()
            except HotStateAway:
                pass  # the lanes say so already
            await asyncio.sleep(self._poll_s)

    async def look(self) -> None:
        """Take the published city if its revision is another one.

        Raises:
            HotStateAway: Redis is away.
        """
        try:
            revision = revision_of(await self._state.ask(_HEAD))
        except RecordError:
            return  # nothing is published yet, or no longer
        if revision in (self._city.revision, self._broken_revision):
            return
        data = await self._state.ask(_WHOLE)
        if data is None:
            return
        try:
            view = await asyncio.to_thread(view_city, data)
        except (RecordError, LawError, ValueError, LookupError, TypeError, AssertionError) as error:
            self._broken_revision = revision
            self.broken += 1
            _log.error("city_broken", revision=revision, why=str(error), kept=self._city.revision)
            return
        self._city.replace(view)
        _log.info("city_taken", revision=view.revision, rules=view.city.book.version)
