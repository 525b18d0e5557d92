"""The hot path reads and changes usage as a record; the law does both as a value. Both always say the same."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.law_strategies import CITY, holders, instants, taps, usages, vehicles
from validator.application.tap_records import own_effect, remaining_after
from validator.domain.boarding import decide, effects_of
from validator.domain.decision import Accepted
from validator.domain.holder import Holder
from validator.domain.tap import Tap
from validator.domain.usage import LastBoarding, Usage
from validator.domain.vocabulary import Category
from validator.records.packing import to_micros
from validator.records.usage import (
    after_ride,
    effect_record,
    last_record,
    month_code,
    pack_usage,
    pack_usage_record,
    unpack_usage,
    unpack_usage_record,
)


@st.composite
def rich_usages(draw: st.DrawFn) -> Usage:
    """Usage with everything that it can hold: passes given back and repaid, and four boardings remembered."""
    usage = draw(usages())
    counts = (
        st.dictionaries(st.sampled_from(sorted(usage.used)), st.integers(0, 5)) if usage.used else st.just({})
    )
    ids = st.uuids().map(str)
    boarding = st.builds(LastBoarding, ids, instants, vehicles, st.sampled_from(Category))
    before = None if usage.last is None else draw(st.one_of(st.none(), boarding))
    by_purse = draw(st.one_of(st.none(), boarding))
    by_purse_before = None if by_purse is None else draw(st.one_of(st.none(), boarding))
    return replace(
        usage,
        returned=draw(counts),
        refunded=draw(counts),
        before=before,
        by_purse=by_purse,
        by_purse_before=by_purse_before,
    )


@given(taps(), holders(), rich_usages())
def test_the_law_decides_the_same_on_the_record_and_on_the_value(tap: Tap, holder: Holder, usage: Usage):
    record = unpack_usage_record(pack_usage(usage))

    assert decide(tap, holder, record, CITY) == decide(tap, holder, usage, CITY)
    assert last_record(record.latest) == last_record(usage.latest)


@given(taps(), holders(), rich_usages())
def test_usage_after_a_boarding_is_the_same_bytes_as_record_and_as_value(
    tap: Tap, holder: Holder, usage: Usage
):
    usage = unpack_usage(pack_usage(usage))
    decision = decide(tap, holder, usage, CITY)
    if not isinstance(decision, Accepted):
        return
    effects = effects_of(tap, decision, CITY)

    own = own_effect(decision)

    if own is None:
        assert (effects.uses, effects.boarding) == (None, None)
        return
    boarding = last_record(effects.boarding)
    assert boarding is not None
    assert own.whole(boarding.boarding, to_micros(tap.occurred_at), tap.vehicle) == effect_record(effects)
    assert effect_record(effects).own() == own
    record = unpack_usage_record(pack_usage(usage))
    after = after_ride(record, month_code(effects.month), own, boarding)
    assert pack_usage_record(after) == pack_usage(usage.after(effects))


@given(taps(), holders(), rich_usages())
def test_what_is_said_to_remain_is_what_usage_then_leaves(tap: Tap, holder: Holder, usage: Usage):
    record = unpack_usage_record(pack_usage(usage))
    decision = decide(tap, holder, record, CITY)
    if not isinstance(decision, Accepted) or decision.uses is None:
        return
    law = CITY.at(tap.occurred_at)
    after = usage.after(effects_of(tap, decision, CITY))
    purse = next(purse for purse in holder.purses if purse.key == decision.uses.product)

    left, passes = remaining_after(decision, record, holder, law)

    assert passes == after.remaining(purse.key, purse.bought)
    if left is not None:
        assert law.student_cap is not None
        assert left == law.student_cap - after.half_fare.get(law.month, 0)
