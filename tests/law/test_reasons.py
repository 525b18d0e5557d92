"""Reasons: numbers that never change, and texts that fit where they are shown."""

import pytest

from validator.domain.reasons import Reason


def test_the_numbers_are_those_of_the_wire():
    assert [reason.name for reason in sorted(Reason)] == [
        "OK", "BOARDING_ID_CONFLICT", "TOKEN_INVALID", "CARD_UNKNOWN", "CARD_REPLACED", "CARD_BLOCKED",
        "LINE_UNKNOWN", "CLOCK_INVALID", "CATEGORY_NOT_KEYABLE", "RIGHT_NOT_STARTED", "RIGHT_ENDED",
        "RIGHT_SUSPENDED", "NOT_VALID_ON_LINE", "STUDENT_CAP_REACHED", "NO_PASSES", "PASSBACK",
        "INSUFFICIENT_TENDER", "CHANGE_ABOVE_LIMIT",
    ]  # fmt: skip
    assert [int(reason) for reason in Reason] == list(range(18))


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_its_texts(reason: Reason):
    assert 0 < len(reason.display) <= 20
    assert reason.sentence().endswith(".")
    assert reason.sentence("en-GB").endswith(".")
    assert reason.sentence("en") != reason.sentence("pt-BR")


def test_a_refusal_that_time_or_money_may_mend_is_not_final():
    assert not Reason.STUDENT_CAP_REACHED.final
    assert not Reason.PASSBACK.final
    assert Reason.CARD_REPLACED.final
    assert Reason.RIGHT_ENDED.final
