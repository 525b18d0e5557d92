"""What breaks under a world: Redis, the ingester, processes of the API."""

from datetime import timedelta

from tests.simulation.world import World


def plan_harm(world: World) -> None:
    """A few faults, at hours that the seed chooses."""
    Harm(world).plan()


class Harm:
    """Breaks services of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept = world.services.server.folder.parent / "older"

    def plan(self) -> None:
        world = self._world
        kinds = (
            self._restart_redis,
            self._empty_redis,
            self._flush_redis,
            self._older_file,
            self._kill_ingester,
            self._kill_ingester,
            self._restart_api,
            self._kill_rebuild,
        )
        for _ in range(world.random.randint(1, 5)):
            day, hour = world.random.randrange(world.size.days), world.random.uniform(5, 23)
            world.at(world.local(day, hour), world.random.choice(kinds))

    def _down_for(self) -> timedelta:
        return timedelta(minutes=self._world.random.choice((1, 20, 90)))

    def _restart_redis(self) -> None:
        """Its process dies and comes back with its own file: nothing that was answered is lost."""
        if self._world.services.running:
            self._world.services.kill_redis()
            self._world.at(self._world.now + self._down_for(), self._back)

    def _back(self) -> None:
        services = self._world.services
        if not services.running:
            services.start_redis()
            if self._world.random.random() < 0.5:  # the whole machine had gone down
                for place in range(len(services.validators)):
                    services.restart_validator(place)
            soon = timedelta(minutes=self._world.random.choice((1, 10, 45)))
            self._world.at(self._world.now + soon, lambda: self._ingest(None))

    def _ingest(self, dies_at: str | None) -> None:
        if not self._world.ingest(dies_at):
            self._world.at(self._world.now + timedelta(minutes=2), lambda: self._ingest(None))

    def _empty_redis(self) -> None:
        if self._world.services.running:
            self._world.services.kill_redis()
            self._world.services.give_file(None)
            self._world.facts.losses.append(self._world.now)
            self._world.at(self._world.now + self._down_for(), self._back)

    def _flush_redis(self) -> None:
        """Somebody empties it while it runs."""
        if self._world.services.running:
            with self._world.services.client() as client:
                client.flushall()
            self._world.facts.losses.append(self._world.now)

    def _older_file(self) -> None:
        """A copy is kept now, and hours later Redis comes back with it."""
        world = self._world
        if not world.services.running:
            return
        world.services.keep_file(self._kept)

        def restore() -> None:
            if not world.services.running:
                return
            world.services.kill_redis()
            world.services.give_file(self._kept)
            world.facts.losses.append(world.now)
            world.at(world.now + self._down_for(), self._back)

        world.at(world.now + timedelta(hours=world.random.choice((0.5, 3, 9))), restore)

    def _kill_ingester(self) -> None:
        """It has committed rows and not told Redis."""
        self._ingest("acknowledge")

    def _kill_rebuild(self) -> None:
        """Redis is emptied, and the ingester dies while it rebuilds."""
        if self._world.services.running:
            self._flush_redis()
            self._ingest(self._world.random.choice(("restore_answers", "open_shard")))

    def _restart_api(self) -> None:
        services = self._world.services
        services.restart_validator(self._world.random.randrange(len(services.validators)))
