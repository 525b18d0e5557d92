"""Devices that are installed again: a new epoch, key and token; the journal of before is uploaded from a copy."""

import random
from datetime import timedelta

from backoffice.application.register_devices import reinstall_device
from backoffice.application.staff import as_administrator, staff_by_login
from backoffice.persistence.base import writing
from tests.simulation.bus import Bus
from tests.simulation.facts import Journal
from tests.simulation.found_city import SeededChance, private_key
from tests.simulation.upload import Uploads
from tests.simulation.world import World

_SHARE = 0.35
"""Share of the devices that are installed again once."""


class Installations:
    """New epochs of a world's devices. Its chance is its own, so that it moves nothing else of a seed."""

    def __init__(self, world: World, uploads: Uploads) -> None:
        self._world = world
        self._uploads = uploads
        self._random = random.Random(f"installations {world.seed}")
        self._chance = SeededChance(f"installations {world.seed}")

    def plan(self) -> None:
        """Some devices, at hours of which the network knows nothing."""
        world = self._world
        for bus in world.buses:
            if self._random.random() < _SHARE:
                day, hour = self._random.randrange(1, world.size.days), self._random.uniform(5, 23)
                world.at(world.local(day, hour), lambda bus=bus: self._install(bus))

    def _install(self, bus: Bus) -> None:
        world = self._world
        if not world.services.running or bus.id in world.facts.revoked:
            return
        epoch = bus.journal.epoch + 1
        key = private_key(f"{bus.id} {epoch}")
        with writing(world.services.engine) as session:
            enrolled = reinstall_device(
                session,
                as_administrator(staff_by_login(session, "admin", world.now)),
                world.now,
                self._chance,
                device_id=bus.id,
                public_key=key.public_key().public_bytes_raw(),
            )
        world.publish()
        before = bus.install(enrolled.token, key, Journal(bus.id, epoch))
        world.earlier.append(before)
        world.facts.journals[bus.id, epoch] = bus.journal
        for hours in (1, 9, 30):
            if self._random.random() < 0.4:
                world.at(world.now + timedelta(hours=hours), lambda: self._uploads.upload(before))
