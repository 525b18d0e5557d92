"""Faults put into the product on purpose, one at a time: the simulator must find each of them.

Only here is our own code ever patched. Each fault says what a reader would have to overlook for it to be in the
product.
"""

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from backoffice.application import month_judgement, rebuild
from backoffice.application.ingest_ranges import SequenceRanges
from backoffice.domain import judging, rating, rides
from validator.adapters import redis_link, redis_scripts
from validator.application import annul, attempt, batch_items, citing, dating, devices, follow_up
from validator.domain import boarding, city, service_time, usage
from validator.records import keys
from validator.records.snapshot import DurableRecord

Patch = pytest.MonkeyPatch
Mutation = Callable[[Patch], None]


def _script(patch: Patch, name: str, old: bytes, new: bytes) -> None:
    """Change a Lua script of the hot path."""
    text: bytes = getattr(redis_scripts, name)
    assert old in text, f"{name} no longer says {old!r}"
    changed = text.replace(old, new)
    patch.setattr(redis_scripts, name, changed)
    patch.setattr(
        redis_scripts, f"{name}_SHA", hashlib.sha1(changed, usedforsecurity=False).hexdigest().encode()
    )


def usage_not_compared(patch: Patch) -> None:
    """The commit writes although the holder's usage has moved since it was read."""
    _script(patch, "_COMMIT", b"usage_was ~= '' and now[usage] ~= usage_was", b"false")


def answers_live_for_ever(patch: Patch) -> None:
    """Kept answers get no time to live, and Redis fills up."""
    _script(
        patch,
        "_COMMIT",
        b"redis.call('SET', seen, seen_now, 'EX', seconds)",
        b"redis.call('SET', seen, seen_now)",
    )


def replay_counted_twice(patch: Patch) -> None:
    """The same bytes are decided again instead of being answered as before."""
    original = attempt.Attempt.decide

    def decide(self: Any, values: Any) -> Any:
        if values.get(self._seen_key) is not None and self._seen_key not in values.pending:
            values[self._seen_key] = None
        return original(self, values)

    patch.setattr(attempt.Attempt, "decide", decide)
    _script(patch, "_COMMIT", b"seen_now ~= '' and seen_was == '' and now[seen] then", b"false then")


def durable_one_too_high(patch: Patch) -> None:
    """Devices are told that one entry more is durable than is."""
    original = SequenceRanges.record

    def record(self: SequenceRanges) -> DurableRecord:
        truly = original(self)
        return DurableRecord(truly.durable_seq + 1, truly.top_seq + 1, truly.missing)

    patch.setattr(SequenceRanges, "record", record)


def epochs_share_numbers(patch: Patch) -> None:
    """What is durable of a device's first epoch is believed of the epochs after it."""
    for module in (attempt, citing):
        patch.setattr(module, "durable_key", lambda device, _epoch: keys.durable_key(device, 1))


def release_ignored(patch: Patch) -> None:
    """What the device did about a tap changes nothing in the usage."""
    patch.setattr(
        batch_items,
        "after_release",
        lambda answer, release, *_: follow_up.FollowUp(replace(answer, released=release.released)),
    )


def cap_one_too_high(patch: Patch) -> None:
    """The fifty-first half fare of a month is accepted and billed."""
    original = city.City._gather

    def gather(self: Any, day: Any) -> Any:
        law = original(self, day)
        object.__setattr__(law, "student_cap", None if law.student_cap is None else law.student_cap + 1)
        return law

    patch.setattr(city.City, "_gather", gather)


def folded_backwards(patch: Patch) -> None:
    """A rebuild folds the journal's effects from the newest to the oldest."""
    original = rebuild._effects
    patch.setattr(
        rebuild, "_effects", lambda *arguments: (row for row in reversed(list(original(*arguments))))
    )


def releases_not_folded(patch: Patch) -> None:
    """A rebuild forgets what releases changed."""
    tables = tuple(name for name in rebuild._EFFECT_TABLES if name != "releases")
    patch.setattr(rebuild, "_EFFECT_TABLES", tables)


def answers_not_restored(patch: Patch) -> None:
    """A rebuild does not restore the answers that devices may still ask for."""
    patch.setattr(rebuild, "kept_answers", lambda *_: (answers for answers in ()))


def any_redis_believed(patch: Patch) -> None:
    """A validator answers from a Redis that nobody has compared with SQL."""
    original = redis_link.RedisLink._see_whom

    async def see_whom(self: Any) -> None:
        try:
            await original(self)
        except redis_link.NotVerified:
            pass

    patch.setattr(redis_link.RedisLink, "_see_whom", see_whom)


def replaced_cards_good(patch: Patch) -> None:
    """Cards that were replaced or blocked are accepted."""
    patch.setattr(attempt, "refusal_of_card", lambda *_: None)


def clock_always_believed(patch: Patch) -> None:
    """An offline tap from another year is dated as its device says."""
    patch.setattr(dating.ClockLimits, "date_offline", lambda self, at, _received: dating.Dated(at, 0))


def annulled_twice_given_back_twice(patch: Patch) -> None:
    """A repeated annulment gives the pass back again."""
    original = follow_up.after_annulment

    def again(answer: Any, *arguments: Any) -> Any:
        return original(replace(answer, undone=False), *arguments)

    patch.setattr(annul, "after_annulment", again)


def annulment_not_rated(patch: Patch) -> None:
    """The rating bills rides whose turnstile did not turn."""
    patch.setattr(month_judgement, "_is_annulled", lambda *_: False)


def held_riders_billed(patch: Patch) -> None:
    """The rating bills riders whom the device held."""
    original = month_judgement.judgement_of

    def judgement_of(row: Any, *arguments: Any) -> Any:
        return original(row._replace(released=True if row.released is False else row.released), *arguments)

    patch.setattr("backoffice.application.rate_month.judgement_of", judgement_of)


def rated_by_arrival(patch: Patch) -> None:
    """The rating takes rides in the order in which they came in."""
    patch.setattr(
        rides.Ride, "order", property(lambda self: (self.received_at, self.device, self.device_seq))
    )


def city_pays_for_elders_who_teach(patch: Patch) -> None:
    """A right that the city repays comes before one that nobody repays."""
    order = {category: -rank for rank, category in enumerate(city.Category)}
    patch.setattr("validator.domain.holder._RANK", order)


def passback_one_second_long(patch: Patch) -> None:
    """A second tap at once is only noticed within a second."""
    original = boarding._is_passback

    def is_passback(tap: Any, used: Any, law: Any) -> bool:
        last = used.last
        return original(tap, used, law) and tap.occurred_at - last.occurred_at < timedelta(seconds=1)

    patch.setattr(boarding, "_is_passback", is_passback)


def day_of_greenwich(patch: Patch) -> None:
    """Days and months change at midnight in Greenwich, nine in the evening in the city."""
    patch.setattr(service_time, "SAO_PAULO", ZoneInfo("UTC"))


def passes_last_in_first_out(patch: Patch) -> None:
    """Passes are used from the newest lot."""
    from validator.domain import purses

    original = purses.Purse.lot_after

    def lot_after(self: Any, spent: int) -> Any:
        turned = purses.Purse(self.product, self.network, tuple(reversed(self.lots)), self.bought)
        return original(turned, spent)

    patch.setattr(purses.Purse, "lot_after", lot_after)


def pass_kept_by_refused_ride(patch: Patch) -> None:
    """A ride that the law excludes gives its pass back in the rating, and the next ride takes it at another price."""
    patch.setattr(judging, "_pass_given", lambda *_: None)


def last_ride_forgotten(patch: Patch) -> None:
    """Usage does not remember the last ride by a right."""
    original = usage.Usage.after
    patch.setattr(usage.Usage, "after", lambda self, effects: _without_last(original(self, effects)))


def _without_last(after: Any) -> Any:
    from dataclasses import replace as replaced

    return replaced(after, last=None, before=None)


def stolen_devices_believed(patch: Patch) -> None:
    """A revoked device posts and uploads as before."""
    patch.setattr(devices.Device, "revoked", property(lambda _: False))


def goes_on_from_a_bus_that_runs(patch: Patch) -> None:
    """A ride goes on although no breakdown of its bus was declared."""
    patch.setattr(attempt.CityView, "broke_down", lambda *_: True)


def goes_on_twice(patch: Patch) -> None:
    """The rating lets a ride go on however often it is named."""
    patch.setattr(rating, "_going_on", lambda ride, _usage: ride)


MUTATIONS: dict[str, Mutation] = {
    mutation.__name__: mutation
    for mutation in (
        usage_not_compared,
        answers_live_for_ever,
        replay_counted_twice,
        durable_one_too_high,
        epochs_share_numbers,
        release_ignored,
        cap_one_too_high,
        folded_backwards,
        releases_not_folded,
        answers_not_restored,
        any_redis_believed,
        replaced_cards_good,
        clock_always_believed,
        annulled_twice_given_back_twice,
        annulment_not_rated,
        held_riders_billed,
        rated_by_arrival,
        city_pays_for_elders_who_teach,
        passback_one_second_long,
        day_of_greenwich,
        passes_last_in_first_out,
        pass_kept_by_refused_ride,
        last_ride_forgotten,
        stolen_devices_believed,
        goes_on_from_a_bus_that_runs,
        goes_on_twice,
    )
}


def put_in(name: str) -> AbstractContextManager[Patch]:
    """A context in which one fault is in the product."""
    context = pytest.MonkeyPatch.context()
    return _Applied(context, MUTATIONS[name])


class _Applied(AbstractContextManager[Patch]):
    def __init__(self, context: AbstractContextManager[Patch], mutation: Mutation) -> None:
        self._context = context
        self._mutation = mutation

    def __enter__(self) -> Patch:
        patch = self._context.__enter__()
        self._mutation(patch)
        return patch

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)
