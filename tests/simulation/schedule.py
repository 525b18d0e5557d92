"""When who rides on which bus, when each bus has a network and a clock, and when it uploads."""

from datetime import timedelta

from tests.simulation.bus import Bus, Clock
from tests.simulation.facts import Token
from tests.simulation.found_city import Rider, SeededSigner, private_key
from tests.simulation.ride import Rides
from tests.simulation.upload import Uploads
from tests.simulation.world import World
from validator.records.card_token import CardToken

_KEYED = ("CHILD", "FISCAL_MUN", "FISCAL_TRANSP", "FISCAL_TRAB", "OFICIAL_JUST", "STUDENT_50")
_CLOCKS = (
    timedelta(minutes=3),
    timedelta(minutes=-40),
    timedelta(hours=-2),
    timedelta(days=365),
    timedelta(days=-60),
)


class Schedule:
    """Fills a world's queue."""

    def __init__(self, world: World, rides: Rides, uploads: Uploads) -> None:
        self._world = world
        self._rides = rides
        self._uploads = uploads
        self._random = world.random
        self._riders = world.random.sample(world.city.riders, min(world.size.riders, len(world.city.riders)))

    def plan(self) -> None:
        """Everything that riders and buses do."""
        strange = self._strange_tokens()
        for day in range(self._world.size.days):
            for rider in self._riders:
                for _ in range(self._rides_of(rider)):
                    self._ride(rider, day)
            for _ in range(self._world.size.taps_a_day):
                self._tap_of_nobody(day)
            if self._happens(0.3):
                self._at(day, self._hour(), self._random.choice(strange))
            for bus in self._world.buses:
                self._network(bus, day)
                self._clock(bus, day)
            for hour in (9.0, 18.0):
                self._world.at(self._world.local(day, hour + self._random.random()), self._ingest)

    def _ingest(self) -> None:
        self._world.ingest()

    def _happens(self, share: float) -> bool:
        return self._random.random() < share

    def _hour(self) -> float:
        return self._random.uniform(5.5, 23.2)

    def _rides_of(self, rider: Rider) -> int:
        if rider.kind == "eager":
            return self._random.choice((8, 11, 14))
        return self._random.choice((0, 1, 2, 2, 3))

    def _bus(self) -> Bus:
        return self._random.choice(self._world.buses)

    def _at(self, day: int, hour: float, token: str) -> None:
        bus = self._bus()
        medium: dict[str, object] = {"kind": "card", "token": token}
        self._world.at(self._world.local(day, hour), lambda: self._rides.tap(bus, medium))

    def _ride(self, rider: Rider, day: int) -> None:
        """One ride; now and then a second tap at once, on this bus or on another."""
        bus, other = self._bus(), self._bus()
        when = self._world.local(day, self._hour())

        def medium() -> dict[str, object]:
            return {"kind": "card", "token": rider.token}

        if self._happens(0.06):
            meanwhile = lambda: self._rides.tap(other, medium())  # noqa: E731
            self._world.at(when, lambda: self._rides.tap(bus, medium(), meanwhile))
            return
        self._world.at(when, lambda: self._rides.tap(bus, medium()))
        if self._happens(0.07):
            again = when + timedelta(seconds=self._random.choice((5, 100, 299, 300, 310)))
            self._world.at(again, lambda: self._rides.tap(bus, medium()))

    def _tap_of_nobody(self, day: int) -> None:
        bus = self._bus()
        medium: dict[str, object] = self._random.choice(
            (
                {
                    "kind": "cash",
                    "tendered_cents": self._random.choice((200, 435, 475, 500, 735, 1000, 9000)),
                },
                {"kind": "key", "category": self._random.choice(_KEYED)},
                {"kind": "document", "category": "ELDER", "document": "RG"},
            )
        )
        self._world.at(self._world.local(day, self._hour()), lambda: self._rides.tap(bus, medium))

    def _strange_tokens(self) -> list[str]:
        """Tokens that are not what they say: forged for a card that exists, of another city, of no holder, no token."""
        facts, rider = self._world.facts, self._random.choice(self._riders)
        real = CardToken(1, rider.hot_id, rider.card, 1)
        forged = _signed(real, private_key("forger").sign(real.signed_bytes()))
        stranger = CardToken(1, f"{self._random.getrandbits(64):016x}", 77, 1)
        foreign = _signed(stranger, private_key("other city").sign(stranger.signed_bytes()))
        unknown = CardToken(1, rider.hot_id, 1_234_567, 1)
        lost = _signed(unknown, SeededSigner().sign(1, unknown.signed_bytes()))
        facts.tokens[forged] = Token(rider.hot_id, rider.card, 1, signed=False)
        facts.tokens[foreign] = Token(stranger.holder_id, 77, 1, signed=False)
        facts.tokens[lost] = Token(rider.hot_id, 1_234_567, 1)
        return [forged, foreign, lost, "NOT A TOKEN"]

    # Buses

    def _network(self, bus: Bus, day: int) -> None:
        """Uploads through the day, and for some buses hours without a network."""
        world = self._world
        if self._rides.happens("offline_stretch"):
            begins = self._hour()
            ends = begins + self._random.choice((0.3, 1.0, 3.0, 8.0, 20.0, 30.0))
            world.at(world.local(day, begins), lambda: _set_online(bus, False))
            world.at(world.local(day, ends), lambda: _set_online(bus, True))
        for _ in range(3):
            world.at(world.local(day, self._hour()), lambda: self._uploads.upload(bus))
        world.at(world.local(day, 23.5), lambda: self._uploads.upload(bus))

    def _clock(self, bus: Bus, day: int) -> None:
        if not self._rides.happens("odd_clock"):
            return
        world, begins = self._world, self._hour()
        offset = self._random.choice((*_CLOCKS, None))

        def wrong() -> None:
            bus.clock = Clock(since_1970=world.now) if offset is None else Clock(offset)

        def right() -> None:
            bus.clock = Clock()

        world.at(world.local(day, begins), wrong)
        world.at(world.local(day, begins + self._random.uniform(0.2, 6.0)), right)


def _set_online(bus: Bus, online: bool) -> None:
    bus.online = online


def _signed(token: CardToken, signature: bytes) -> str:
    return CardToken(token.key_id, token.holder_id, token.card_number, token.issue, signature).text()
