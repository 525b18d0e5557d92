"""An act may let a chip's uid prove rights, from a day on."""

from datetime import UTC, date, datetime

import pytest

from tests.law.laws import law_data
from validator.domain.boarding import decide
from validator.domain.city import city_of
from validator.domain.decision import Accepted, Refused
from validator.domain.fares import Fare
from validator.domain.holder import Holder
from validator.domain.money import Cents
from validator.domain.reasons import Reason
from validator.domain.rights import Period, Right
from validator.domain.rules import parse_rule_book
from validator.domain.tap import Medium, Tap
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category, MediumKind, Network

TEACHER = Holder((Right(Category.TEACHER, Period(date(2020, 2, 1), None)),))


@pytest.mark.parametrize(("day", "proves"), [(30, False), (31, True)])
def test_a_uid_proves_a_right_from_the_day_on_which_an_act_says_so(day: int, proves: bool):
    data = law_data()
    act = {"name": "uid_rights", "value": 1, "unit": "switch", "from": date(2026, 3, 31), "act": "Decreto 1"}
    data["parameter"].append(act)
    city = city_of(parse_rule_book(data), [Fare(Network.URBAN, date(1991, 7, 22), None, Cents(450))])
    at = datetime(2026, 3, day, 12, tzinfo=UTC)
    tap = Tap("b", at, "102", Network.URBAN, "1207", Medium(MediumKind.UID))

    decision = decide(tap, TEACHER, Usage(), city)

    if proves:
        assert isinstance(decision, Accepted)
        assert decision.category is Category.TEACHER
    else:
        assert decision == Refused(Reason.NO_PASSES)
