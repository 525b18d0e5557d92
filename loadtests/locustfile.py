"""Rush hours for locust, on a validator that `python -m loadtests.ready_city` runs (`make load` does both).

    python -m loadtests.ready_city -- locust -f loadtests/locustfile.py --headless --host http://127.0.0.1:8099

CATRACA_LOAD_PROFILE chooses: one-bus, peak (the default), garage, hot-holder, overload, day. CATRACA_LOAD_PEAK is the
number of taps in the fullest second, CATRACA_LOAD_HOLDERS that of the city's holders, CATRACA_LOAD_SECONDS cuts a
profile short. locust ends with code 1 where a threshold of the profile does not hold.
"""

import os
import random
import time
from datetime import UTC, datetime
from typing import Any

import gevent  # type: ignore[import-untyped]
from locust import FastHttpUser, LoadTestShape, events, task
from locust.env import Environment

from loadtests.bench.city import BenchCity, Rider, make_city
from loadtests.bench.taps import TapMaker, body_of, civil_now
from loadtests.demand import BOARDINGS_BY_HOUR, CATEGORIES
from loadtests.profiles import Profile, profiles
from loadtests.ready_city import HOLDERS
from validator.domain.vocabulary import Category

_PROFILE_NAME = os.environ.get("CATRACA_LOAD_PROFILE", "peak")
_PROFILE: Profile = profiles(float(os.environ.get("CATRACA_LOAD_PEAK", "300")))[_PROFILE_NAME]
_SECONDS = min(_PROFILE.seconds, float(os.environ.get("CATRACA_LOAD_SECONDS", "inf")))
_TICK_S = 0.01
_SINGLE, _BATCH = "/v1/boardings", "/v1/boardings/batch"


def _city() -> BenchCity:
    city, pairs = make_city(int(os.environ.get("CATRACA_LOAD_HOLDERS", HOLDERS)))
    for _ in pairs:
        pass
    return city


class Crowd:
    """Who comes at a moment: riders in the proportions of its hour, on the devices of the profile."""

    def __init__(self, city: BenchCity, profile: Profile) -> None:
        self._profile = profile
        self._chance = random.Random()
        city.devices[:] = city.devices[: profile.devices]
        self._maker = TapMaker(city, seed=self._chance.getrandbits(62))
        self._riders: dict[Category, list[Rider]] = {category: [] for category in CATEGORIES}
        for rider in city.riders:
            self._riders[rider.category].append(rider)
        self._one = self._riders[Category.VT][:1]

    def arrive(self, moment: float) -> tuple[str, dict[str, str], bytes]:
        """One request: path, headers, body."""
        now = civil_now(datetime.now(UTC))
        if self._profile.batch:
            request = self._maker.batches(1, self._profile.batch, now).requests[0]
            return _BATCH, _headers(request), body_of(request)
        request = self._maker.singles(
            1, now, riders=self._one if self._profile.one_holder else [self._rider(moment)]
        ).requests[0]
        return _SINGLE, _headers(request), body_of(request)

    def _rider(self, moment: float) -> Rider:
        hour = None if self._profile.hour is None else self._profile.hour(moment)
        weights = {c: CATEGORIES[c] if hour is None else BOARDINGS_BY_HOUR[c][hour] for c in CATEGORIES}
        present = {category: weight for category, weight in weights.items() if self._riders[category]}
        (category,) = self._chance.choices(list(present), list(present.values()))
        return self._chance.choice(self._riders[category])


def _headers(request: bytes) -> dict[str, str]:
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    pairs = (line.partition(": ") for line in lines)
    return {name: value for name, _, value in pairs if name not in ("host", "content-length")}


class Riders(FastHttpUser):
    """All riders of the city; they come by the profile's clock and do not wait for each other."""

    fixed_count = 1
    concurrency = 2_000

    def on_start(self) -> None:
        """Draw the city."""
        self._crowd = Crowd(_city(), _PROFILE)

    @task
    def come(self) -> None:
        """Send what is due, each in a greenlet of its own, until the profile is over."""
        began = time.perf_counter()
        due = 0.0
        while (moment := time.perf_counter() - began) < _SECONDS:
            due += _PROFILE.rate(moment) * _TICK_S
            while due >= 1:
                due -= 1
                gevent.spawn(self._tap, moment, began + moment)
            gevent.sleep(max(0.0, began + moment + _TICK_S - time.perf_counter()))
        gevent.sleep(5)

    def _tap(self, moment: float, came_at: float) -> None:
        path, headers, body = self._crowd.arrive(moment)
        answer = self.client.request(
            "POST",
            path,
            headers=headers,
            data=body,  # type: ignore[arg-type] # bytes are sent as they are
            catch_response=True,
            name=path,
        )
        with answer as response:
            meta = response.request_meta
            meta["response_time"] = (time.perf_counter() - came_at) * 1_000  # from the moment the rider came
            if response.status_code == 503:
                meta["name"] = f"{path} 503"
            if response.status_code in (200, 503):
                response.success()


class Clock(LoadTestShape):
    """One user for as long as the profile lasts."""

    def tick(self) -> tuple[int, float] | None:
        """The users wanted now; None ends the run."""
        spent: float = self.get_run_time()  # type: ignore[no-untyped-call]
        return (1, 1.0) if spent < _SECONDS + 4 else None


@events.quitting.add_listener  # type: ignore[untyped-decorator]
def judge(environment: Environment, **_: Any) -> None:
    """End with code 1 where a threshold of the profile does not hold."""
    answered = environment.stats.get(_BATCH if _PROFILE.batch else _SINGLE, "POST")
    refused = environment.stats.get(f"{answered.name} 503", "POST")
    total = environment.stats.total
    threshold = _PROFILE.threshold
    p99_ms = answered.get_response_time_percentile(0.99)
    failures = total.num_failures / max(1, total.num_requests)
    refusals = refused.num_requests / max(1, total.num_requests)
    missed = [
        f"{name} {value:.4g} > {limit:.4g}"
        for name, value, limit in (
            ("p99 in ms", p99_ms, threshold.p99_ms),
            ("failures", failures, threshold.failures),
            ("refusals", refusals, threshold.refusals),
        )
        if value > limit
    ]
    if answered.num_requests == 0:
        missed.append("nothing was answered")
    print(
        f"{_PROFILE_NAME}: {answered.num_requests} answered, p99 {p99_ms:.0f} ms, {refused.num_requests} refused"
    )
    for line in missed:
        print(f"{_PROFILE_NAME}: threshold missed: {line}")
    environment.process_exit_code = 1 if missed else 0
