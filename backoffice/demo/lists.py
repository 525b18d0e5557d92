"""The signed lists of the demonstration: built as the product builds them, fetched by the agents over HTTP."""

import itertools
import time

from backoffice.adapters.offline_policy import policy_from
from backoffice.application.keep_bundle import build_once
from backoffice.demo.bus_agent import BusAgent, City
from backoffice.demo.city_key import seeded_key
from backoffice.demo.device import DeviceIdentity
from backoffice.demo.stage import Stage

_PAUSE_S = 0.2


class SignedLists:
    """The lists of one demonstration, and the folders of the agents."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._stage = stage
        self._city = City(
            stage.validator_url, ((1, seeded_key(seed, "city").public_key().public_bytes_raw()),)
        )
        self._numbers = itertools.count(1)

    def build(self) -> None:
        """Build and sign the list as of now."""
        office, stage = self._stage.office, self._stage
        build_once(office.engine, stage.redis_url, policy_from(None), office.signer, stage.clock.now())

    def agent(self, identity: DeviceIdentity) -> BusAgent:
        """An agent that has fetched the list.

        Raises:
            AgentFailed: it could not.
        """
        folder = self._stage.folder / "devices" / f"{identity.device_id}.{next(self._numbers):03d}"
        agent = BusAgent(folder, identity, self._city, self._stage.clock.now(), lambda: time.sleep(_PAUSE_S))
        agent.sync()
        return agent
