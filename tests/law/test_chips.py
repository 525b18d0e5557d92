"""An act may let a chip's uid prove rights, from a day on."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tests.law.laws import law_data, uid_proves_rights
from validator.domain.boarding import decide
from validator.domain.city import City, city_of
from validator.domain.decision import Accepted, Refused
from validator.domain.fares import Fare
from validator.domain.holder import Holder
from validator.domain.money import Cents
from validator.domain.reasons import Reason
from validator.domain.rights import Period, Right
from validator.domain.rules import parse_rule_book
from validator.domain.tap import UID, Continued, Medium, Tap
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category, MediumKind, Network


def city_in(law: dict[str, Any]) -> City:
    return city_of(parse_rule_book(law), [Fare(Network.URBAN, date(1991, 7, 22), None, Cents(450))])


TEACHER = Holder((Right(Category.TEACHER, Period(date(2020, 2, 1), None)),))


@pytest.mark.parametrize(("day", "proves"), [(30, False), (31, True)])
def test_a_uid_proves_a_right_from_the_day_on_which_an_act_says_so(day: int, proves: bool):
    city = city_in(uid_proves_rights(date(2026, 3, 31)))
    at = datetime(2026, 3, day, 12, tzinfo=UTC)
    tap = Tap("b", at, "102", Network.URBAN, "1207", Medium(MediumKind.UID))

    decision = decide(tap, TEACHER, Usage(), city)

    if proves:
        assert isinstance(decision, Accepted)
        assert decision.category is Category.TEACHER
    else:
        assert decision == Refused(Reason.NO_PASSES)


@pytest.mark.parametrize("category", Category)
@pytest.mark.parametrize("law", [law_data(), uid_proves_rights()], ids=["today", "by act"])
def test_a_ride_goes_on_by_a_chip_unless_it_claimed_a_right_that_the_chip_does_not_prove(
    category: Category, law: dict[str, Any]
):
    at = datetime(2026, 3, 2, 12, tzinfo=UTC)
    cut_short = Continued(at - timedelta(minutes=20), "1207", category)
    tap = Tap("b", at, "102", Network.URBAN, "1300", UID, cut_short)

    decision = decide(tap, TEACHER, Usage(), city_in(law))

    paid = category in (Category.PREPAID, Category.VT, Category.FULL)
    if paid or city_in(law).at(at).uid_rights:
        assert isinstance(decision, Accepted)
        assert (decision.category, decision.continued, decision.fare_cents) == (category, True, 0)
    else:
        assert decision == Refused(Reason.NO_PASSES)
