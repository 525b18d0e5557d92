"""Devices that are revoked: stolen, they can no longer post; what they upload is kept and counts for nothing yet."""

import random

from backoffice.application.register_devices import revoke_device
from backoffice.application.staff import as_administrator, staff_by_login
from backoffice.persistence.base import writing
from tests.simulation.bus import Bus
from tests.simulation.facts import Revoked
from tests.simulation.world import World

_SHARE = 0.3
"""Share of the worlds in which a device is stolen."""


class Thefts:
    """The stolen device of a world. Its chance is its own, so that worlds without one stay as they were."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = random.Random(f"stolen {world.seed}")

    def plan(self) -> None:
        """One device of some worlds, in their second half: whoever has it goes on with it."""
        world = self._world
        if self._random.random() < _SHARE:
            bus = self._random.choice(world.buses)
            day = self._random.randrange(world.size.days // 2, world.size.days)
            world.at(world.local(day, self._random.uniform(5, 23)), lambda: self._revoke(bus))

    def _revoke(self, bus: Bus) -> None:
        world = self._world
        if not world.services.running:
            return
        with writing(world.services.engine) as session:
            revoke_device(
                session,
                as_administrator(staff_by_login(session, "admin", world.now)),
                world.now,
                device_id=bus.id,
                revoked_at=world.now,
                reason="furto",
            )
        if not world.publish():
            world.faults.append(f"the revocation of {bus.id} was not published")
        world.facts.revoked[bus.id] = Revoked(world.now)
