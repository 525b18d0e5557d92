"""Play one seed: a small city in virtual time, with everything that goes wrong in it, to the closed claims.

The seed decides all: who rides when on which bus, what the network does, what breaks. Virtual time runs through a queue
of events; nothing waits for the machine's clock.
"""

import shutil
from datetime import UTC, datetime
from pathlib import Path

from backoffice.application.close_month import close_month
from backoffice.application.staff import as_city, staff_by_login
from backoffice.persistence.base import make_engine, reading
from tests.simulation.auditor import audit
from tests.simulation.breakdowns import Breakdowns
from tests.simulation.counter import Counter
from tests.simulation.found_city import BOOK
from tests.simulation.harm import plan_harm
from tests.simulation.installations import Installations
from tests.simulation.observe import observe
from tests.simulation.ride import NO_TROUBLE, Rides, Trouble
from tests.simulation.schedule import Schedule
from tests.simulation.services import Services
from tests.simulation.template import Template, copied
from tests.simulation.thefts import Thefts
from tests.simulation.upload import Uploads
from tests.simulation.world import SMALL, Size, World
from validator.domain.service_time import Month

CLOSING = datetime(2026, 5, 2, 12, tzinfo=UTC)


def play(seed: int, folder: Path, template: Template, size: Size = SMALL, harm: bool = True) -> list[str]:
    """Play a seed and audit it; the findings, none of which is good.

    Args:
        seed: Decides everything.
        folder: An empty folder for the database and Redis.
        template: The founded city.
        size: How large the world is.
        harm: Whether services and devices break.
    """
    city = copied(template, folder)
    engine = make_engine(f"sqlite:///{folder / 'city.sqlite'}")
    clock: list[World] = []
    services = Services(engine, folder / "hot", lambda: clock[0].now)
    world = World(seed, size, city, services)
    clock.append(world)
    city.facts.seed = seed
    try:
        services.start()
        rides = Rides(world, Trouble() if harm else NO_TROUBLE)
        uploads = Uploads(world, rides)
        Schedule(world, rides, uploads).plan()
        Counter(world).plan()
        Breakdowns(world, Trouble() if harm else NO_TROUBLE).plan()
        if harm:
            Installations(world, uploads).plan()
            Thefts(world).plan()
        for day in range(1, size.days + 1):
            world.at(world.local(day, 0), world.midnight)
        if harm:
            plan_harm(world)
        world.run()
        uploads.come_to_rest()
        with reading(engine) as session:
            by = as_city(staff_by_login(session, "city", CLOSING))
        for month in ("2026-03", "2026-04"):
            close_month(engine, BOOK, Month(month), at=CLOSING, by=by)
        return audit(city.facts, observe(engine, services, city.facts, world.faults))
    finally:
        services.stop()
        engine.dispose()
        shutil.rmtree(folder, ignore_errors=True)
