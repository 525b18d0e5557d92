"""The profiles of locust: their shape is that of real demand. locust itself is not imported: it patches sockets."""

import pytest

from loadtests.demand import HOURS, peak_hour
from loadtests.profiles import DAY_SECONDS, Threshold, hour_of_day, missed_by, profiles

PEAK = 300.0


def total(name: str) -> float:
    profile = profiles(PEAK)[name]
    return sum(profile.rate(tenth / 10) / 10 for tenth in range(int(profile.seconds * 10)))


@pytest.mark.parametrize("name", profiles(PEAK))
def test_every_profile_sends_something_and_has_limits(name: str):
    profile = profiles(PEAK)[name]

    assert total(name) > 0
    assert profile.threshold.p99_ms > 0


def test_the_fullest_moment_of_the_day_is_the_peak_in_the_fullest_hour():
    rate = profiles(PEAK)["day"].rate
    moments = [second / 2 for second in range(int(DAY_SECONDS * 2))]

    fullest = max(moments, key=rate)

    assert hour_of_day(fullest) == peak_hour()
    assert rate(fullest) == pytest.approx(PEAK, rel=0.01)


def test_the_day_in_ten_minutes_carries_the_day_of_the_source():
    expected = PEAK * sum(HOURS) / max(HOURS) * DAY_SECONDS / 24

    assert total("day") == pytest.approx(expected, rel=0.01)


def test_a_rush_climbs_to_its_peak_and_stays_there():
    rate = profiles(PEAK)["peak"].rate

    assert rate(0) < rate(30) < rate(60) == rate(119) == PEAK


@pytest.mark.parametrize(
    ("run", "missed"),
    [
        ({"answered": 99, "refused": 0, "failed": 0, "p99_ms": 100}, []),
        ({"answered": 99, "refused": 0, "failed": 0, "p99_ms": 101}, ["p99 in ms 101 > 100"]),
        ({"answered": 99, "refused": 0, "failed": 1, "p99_ms": 5}, ["part without an answer 0.01 > 0"]),
        ({"answered": 99, "refused": 1, "failed": 0, "p99_ms": 5}, ["part refused 0.01 > 0"]),
        ({"answered": 0, "refused": 0, "failed": 0, "p99_ms": 0}, ["nothing was answered"]),
    ],
)
def test_a_run_that_misses_a_threshold_says_which(run: dict[str, float], missed: list[str]):
    assert missed_by(Threshold(p99_ms=100), **run) == missed  # type: ignore[arg-type]


def test_a_run_in_which_nothing_was_refused_is_no_overload():
    threshold = profiles(PEAK)["overload"].threshold

    (missed,) = missed_by(threshold, answered=100, refused=0, failed=0, p99_ms=5)

    assert "no overload" in missed
