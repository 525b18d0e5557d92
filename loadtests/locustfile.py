"""Rush hours for locust, on a validator that `python -m loadtests.ready_city` runs (`make load` does both).

    python -m loadtests.ready_city -- locust -f loadtests/locustfile.py --headless --host http://127.0.0.1:8099

CATRACA_LOAD_PROFILE chooses: one-bus, peak (the default), garage, hot-holder, overload, day. CATRACA_LOAD_PEAK is the
number of taps in the fullest second, CATRACA_LOAD_HOLDERS that of the city's holders, CATRACA_LOAD_SECONDS cuts a
profile short. locust ends with code 1 where a threshold of the profile does not hold; `loadtests.ready_city` then
compares what every rider heard with the rows that the database ends with.
"""

import os
import random
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gevent.pool  # type: ignore[import-untyped]
from locust import FastHttpUser, events, task
from locust.env import Environment

from loadtests.bench.city import BenchCity, Rider, make_city
from loadtests.bench.taps import TapMaker, body_of, civil_now
from loadtests.demand import BOARDINGS_BY_HOUR, CATEGORIES
from loadtests.heard import HeardFile
from loadtests.profiles import Profile, missed_by, profiles
from loadtests.ready_city import HOLDERS
from validator.domain.vocabulary import Category

_PROFILE_NAME = os.environ.get("CATRACA_LOAD_PROFILE", "peak")
_PROFILE: Profile = profiles(float(os.environ.get("CATRACA_LOAD_PEAK", "300")))[_PROFILE_NAME]
_SECONDS = min(_PROFILE.seconds, float(os.environ.get("CATRACA_LOAD_SECONDS", "inf")))
_TICK_S = 0.01
_PATIENCE_S = 30.0
_HEARD = HeardFile(Path(os.environ["CATRACA_LOAD_HEARD"])) if "CATRACA_LOAD_HEARD" in os.environ else None
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

    def arrive(self, moment: float) -> tuple[list[str], str, dict[str, str], bytes]:
        """One request: boarding ids, path, headers, body."""
        now = civil_now(datetime.now(UTC))
        if self._profile.batch:
            taps = self._maker.batches(1, self._profile.batch, now)
        else:
            rider = self._one if self._profile.one_holder else [self._rider(moment)]
            taps = self._maker.singles(1, now, riders=rider)
        (request,) = taps.requests
        return (
            taps.boarding_ids,
            _BATCH if self._profile.batch else _SINGLE,
            _headers(request),
            body_of(request),
        )

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
    network_timeout = _PATIENCE_S
    connection_timeout = _PATIENCE_S

    def on_start(self) -> None:
        """Draw the city."""
        self._crowd = Crowd(_city(), _PROFILE)
        self._under_way = gevent.pool.Group()

    @task
    def come(self) -> None:
        """Send what is due, each in a greenlet of its own, until the profile is over and all have heard."""
        began = time.perf_counter()
        due = last = 0.0
        while last < _SECONDS:
            moment = time.perf_counter() - began
            # Of the time that passed, however late this comes round.
            part = _PROFILE.rate(moment) * (moment - last)
            coming = int(due + part)
            for number in range(coming):
                came = last + (moment - last) * (number + 1) / coming
                self._under_way.spawn(self._tap, came, began + came)
            due += part - coming
            last = moment
            gevent.sleep(_TICK_S)
        self._under_way.join()
        self.environment.runner.quit()

    def _tap(self, moment: float, came_at: float) -> None:
        boarding_ids, path, headers, body = self._crowd.arrive(moment)
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
            if _HEARD is not None:
                note = _HEARD.batch if _PROFILE.batch else lambda ids, *said: _HEARD.single(ids[0], *said)
                note(boarding_ids, response.status_code, response.content)


@events.quitting.add_listener  # type: ignore[untyped-decorator]
def judge(environment: Environment, **_: Any) -> None:
    """End with code 1 where a threshold of the profile does not hold."""
    if _HEARD is not None:
        _HEARD.close()
    answered = environment.stats.get(_BATCH if _PROFILE.batch else _SINGLE, "POST")
    refused = environment.stats.get(f"{answered.name} 503", "POST")
    failed = environment.stats.total.num_failures
    p99_ms = answered.get_response_time_percentile(0.99)
    missed = missed_by(
        _PROFILE.threshold,
        answered=answered.num_requests - failed,
        refused=refused.num_requests,
        failed=failed,
        p99_ms=p99_ms,
    )
    print(
        f"{_PROFILE_NAME}: {answered.num_requests} answered, p99 {p99_ms:.0f} ms, {refused.num_requests} refused"
    )
    for line in missed:
        print(f"{_PROFILE_NAME}: threshold missed: {line}")
    environment.process_exit_code = 1 if missed else 0
