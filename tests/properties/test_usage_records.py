"""The hot path changes usage as a record; the law changes it as a value. Both always say the same."""

from hypothesis import given

from tests.properties.law_strategies import CITY, holders, taps, usages
from validator.application.tap_records import effect_of, remaining_after
from validator.domain.boarding import decide, effects_of
from validator.domain.decision import Accepted
from validator.domain.holder import Holder
from validator.domain.tap import Tap
from validator.domain.usage import Usage
from validator.records.packing import to_micros
from validator.records.usage import (
    after_effect,
    effect_record,
    pack_usage,
    pack_usage_record,
    unpack_usage,
    unpack_usage_record,
)


@given(taps(), holders(), usages())
def test_usage_after_a_boarding_is_the_same_bytes_as_record_and_as_value(
    tap: Tap, holder: Holder, usage: Usage
):
    usage = unpack_usage(pack_usage(usage))
    decision = decide(tap, holder, usage, CITY)
    if not isinstance(decision, Accepted):
        return
    effects = effects_of(tap, decision, CITY)
    law = CITY.at(tap.occurred_at)

    effect = effect_of(decision, tap, law, to_micros(tap.occurred_at))

    if effect is None:
        assert (effects.uses, effects.boarding) == (None, None)
        return
    assert effect == effect_record(effects)
    after = pack_usage_record(after_effect(unpack_usage_record(pack_usage(usage)), effect))
    assert after == pack_usage(usage.after(effects))


@given(taps(), holders(), usages())
def test_what_is_said_to_remain_is_what_usage_then_leaves(tap: Tap, holder: Holder, usage: Usage):
    decision = decide(tap, holder, usage, CITY)
    if not isinstance(decision, Accepted) or decision.uses is None:
        return
    law = CITY.at(tap.occurred_at)
    after = usage.after(effects_of(tap, decision, CITY))
    purse = next(purse for purse in holder.purses if purse.key == decision.uses.product)

    left, passes = remaining_after(decision, usage, holder, law)

    assert passes == after.remaining(purse.key, purse.bought)
    if left is not None:
        assert law.student_cap is not None
        assert left == law.student_cap - after.half_fare.get(law.month, 0)
