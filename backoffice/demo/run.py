"""The demonstration from an empty folder to the claims, and on until Ctrl-C."""

import random
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from backoffice.application.staff import as_city
from backoffice.demo.city_key import forged
from backoffice.demo.city_plan import Calendar, CityPlan, calendar_of
from backoffice.demo.claims import close_and_compare
from backoffice.demo.count import Count
from backoffice.demo.desk import Desk
from backoffice.demo.device import Device, DeviceIdentity
from backoffice.demo.founding import Founder, at_hour
from backoffice.demo.http_link import Link
from backoffice.demo.interrupts import Interrupts
from backoffice.demo.lines import demonstrated_city
from backoffice.demo.lists import SignedLists
from backoffice.demo.month import MonthPlayer
from backoffice.demo.month_plan import MonthPlan
from backoffice.demo.outages import plan_outages
from backoffice.demo.people import Rider, invent_riders
from backoffice.demo.play import Bus, Happened, Player
from backoffice.demo.report import say_address, say_beginning, say_end, say_month
from backoffice.demo.stage import HOST, Stage, set_stage
from backoffice.settings import Settings
from validator.domain.service_time import Month

_DURABLE_WAIT_S = 180.0


@dataclass(frozen=True, slots=True)
class Options:
    """What may be chosen.

    Attributes:
        month: The month to play.
        holders: How many holders are invented.
        seed: From which all chance is drawn.
        gtfs: A feed whose lines are played instead of the invented ones.
        stay: Whether the back office goes on after the claims.
    """

    month: Month
    holders: int
    seed: int
    gtfs: Path | None
    stay: bool


def run_demonstration(options: Options, settings: Settings, console: Console) -> bool:
    """Run it; whether all numbers agree with the demonstration's own count.

    Raises:
        KeyboardInterrupt: Ctrl-C, or a signal to end; everything that was started has been ended.
    """
    calendar = calendar_of(options.month)
    first = at_hour(calendar.days[0] - timedelta(days=20), 8)
    with (
        Interrupts() as interrupts,
        set_stage(settings, options.seed, first, interrupts, known_ports=options.stay) as stage,
    ):
        say_beginning(console, options.month, stage)
        acts = Acts(options, calendar, stage, console)
        agreed = acts.play()
        if options.stay:
            try:
                say_address(console, stage, acts.founder.staff.token)
                stage.processes.wait()
            except KeyboardInterrupt:
                console.print("\nEncerrando ...")
        return agreed


class Acts:
    """The acts of the demonstration, each with its progress."""

    def __init__(self, options: Options, calendar: Calendar, stage: Stage, console: Console) -> None:
        self.founder = Founder(stage.office, calendar, options.seed)
        self._options = options
        self._calendar = calendar
        self._stage = stage
        self._console = console

    def play(self) -> bool:
        """All acts; whether the numbers agree."""
        progress = Progress(
            TextColumn("{task.description:<34}"),
            BarColumn(bar_width=32),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
        )
        with progress:
            city, riders, identities = self._found(progress)
            count = Count(city, riders)
            desk = Desk(
                self._stage.office, self.founder, self._calendar, riders, count, self._stage.processes.check
            )
            self._open(progress, desk)
            happened, buses = self._month(progress, city, riders, identities, count, desk)
            comparison = close_and_compare(
                self._stage, as_city(self.founder.staff.city), city, self._calendar, count, progress
            )
        tallies = [bus.device.tally for bus in buses.values()]
        say_month(self._console, happened, tallies)
        return say_end(self._console, self._stage, happened, comparison)

    def _found(self, progress: Progress) -> tuple[CityPlan, list[Rider], dict[str, DeviceIdentity]]:
        """The city and its holders in the register."""
        chance = random.Random(f"catraca-demo-people {self._options.seed}")
        city, imported = demonstrated_city(
            self.founder, self._stage.office, self._calendar, self._options.gtfs, progress
        )
        identities = self.founder.found(city, lines_are_there=imported)
        riders = invent_riders(self._options.holders, city, self._calendar, chance)
        task = progress.add_task("Titulares, direitos e cartões", total=len(riders))
        self.founder.register(riders, lambda done: progress.advance(task, done))
        return city, riders, identities

    def _open(self, progress: Progress, desk: Desk) -> None:
        """Passes sold, processes started, everything published."""
        sales = desk.early_sales()
        task = progress.add_task("Venda de passes (Decreto, art. 70)", total=len(sales))

        def sold(rider: Rider, units: int, face_cents: int, paid_cents: int) -> None:
            desk.sold(rider, units, face_cents, paid_cents)
            progress.advance(task)

        self.founder.sell(sales, 10, sold)
        task = progress.add_task("Processos no ar", total=1)
        self._stage.start_processes()
        progress.advance(task)
        task = progress.add_task("Publicação para o Redis", total=None)
        most = 0

        def told(left: int) -> None:
            nonlocal most
            most = max(most, left)
            progress.update(task, total=most, completed=most - left)

        desk.wait_published(told)

    def _month(
        self,
        progress: Progress,
        city: CityPlan,
        riders: list[Rider],
        identities: dict[str, DeviceIdentity],
        count: Count,
        desk: Desk,
    ) -> tuple[Happened, dict[str, Bus]]:
        """The month over HTTP, and all journals durable."""
        seed = self._options.seed
        plan = MonthPlan(city, self._calendar, riders, random.Random(f"catraca-demo-month {seed}"))
        buses = self._buses(city, identities)
        days = progress.add_task("Dias do mês", total=len(self._calendar.days))
        taps = progress.add_task("Toques enviados por HTTP", total=None)
        player = Player(
            buses,
            count,
            self._stage.clock,
            lambda rider: forged(rider.tokens[-1], seed),
            lambda heard: progress.advance(taps, heard),
        )
        month = MonthPlayer(
            city,
            self._calendar,
            plan,
            player,
            buses,
            count,
            self._stage.clock,
            SignedLists(self._stage, seed),
        )
        stolen = city.vehicles[-1].device_id
        outages = plan_outages(city, self._calendar, stolen, random.Random(f"catraca-demo-outages {seed}"))
        events = desk.events(plan, buses[stolen])
        ended = progress.add_task("Diários duráveis no banco", total=len(buses), start=False)

        async def whole() -> None:
            await month.play(outages, events, lambda: progress.advance(days))
            progress.start_task(ended)
            await month.finish(
                _DURABLE_WAIT_S,
                self._stage.not_ingested,
                lambda done: progress.update(ended, completed=done),
            )

        try:
            uvloop.run(whole())
        finally:
            for bus in buses.values():
                player.part(bus)
                bus.device.close()
        progress.update(taps, total=player.happened.taps, completed=player.happened.taps)
        return player.happened, buses

    def _buses(self, city: CityPlan, identities: dict[str, DeviceIdentity]) -> dict[str, Bus]:
        journals = self._stage.folder / "devices"
        journals.mkdir()
        buses = {}
        for vehicle in city.vehicles:
            link = Link(HOST, self._stage.validator_port)
            chance = random.Random(f"catraca-demo-device {self._options.seed} {vehicle.device_id}")
            device = Device(identities[vehicle.device_id], link, journals, self._stage.clock, chance)
            buses[vehicle.device_id] = Bus(device, vehicle.line.operator)
        return buses
