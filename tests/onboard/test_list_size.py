"""The list is small: 100,000 holders in at most 4 MB, and a step is proportional to the change."""

import random
import sys
from datetime import date, timedelta
from importlib import resources

import pytest

from backoffice.adapters.law_file import packaged_law
from backoffice.adapters.offline_policy import policy_from
from backoffice.application.compile_list import ListCompiler
from validator.domain.holder import Holder
from validator.domain.money import Cents
from validator.domain.purses import Lot, Purse
from validator.domain.rights import AgeRight, Period, Right
from validator.domain.service_time import Month
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category, Network, Product
from validator.records.bundle import ListHead, StepRecord, pack_listed, pack_step
from validator.records.codes import CardState
from validator.records.snapshot import (
    CardRecord,
    HolderRecord,
    UidRecord,
    age_records,
    purse_records,
    rights_records,
)

HOLDERS = 100_000
LIMIT = 4_000_000
TODAY = date(2026, 3, 2)
_TARIFFS = [(450, 225), (485, 242), (410, 205), (395, 197)]
_FREE = [Category.SPECIAL_ED, Category.TEACHER, Category.FISCAL_MUN, Category.OFICIAL_JUST]


def lots_of(chance: random.Random, *, half: bool) -> tuple[Lot, ...]:
    tariffs = chance.sample(_TARIFFS, chance.randint(1, 3))
    return tuple(
        Lot(chance.randint(1, 100), Cents(face), Cents(paid if half else face)) for face, paid in tariffs
    )


def invented(chance: random.Random) -> tuple[Holder, Usage]:
    """A holder as a city of that size has them: half are pupils, a quarter elders, the rest pay or ride free."""
    draw = chance.random()
    first = TODAY - timedelta(days=chance.randint(1, 900))
    until = first + timedelta(days=chance.randint(100, 1400))
    if draw < 0.5:
        lots = lots_of(chance, half=True)
        bought = sum(lot.units for lot in lots)
        used = chance.randint(0, bought)
        holder = Holder(
            rights=(Right(Category.STUDENT_50, Period(first, until)),),
            purses=(Purse(Product.STUDENT, Network.URBAN, lots, bought),),
        )
        counts = {Month("2026-03"): chance.randint(1, 50)} if used else {}
        return holder, Usage(half_fare=counts, used={"STUDENT": used})
    if draw < 0.75:
        return Holder(ages=(AgeRight(Category.ELDER, Period(date(1991, 1, 1), None)),)), Usage()
    if draw < 0.9:
        product = chance.choice([Product.PREPAID, Product.VT])
        network = chance.choice(list(Network))
        lots = lots_of(chance, half=False)
        bought = sum(lot.units for lot in lots)
        purse = Purse(product, network, lots, bought)
        return Holder(purses=(purse,)), Usage(used={purse.key: chance.randint(0, bought)})
    return Holder(rights=(Right(chance.choice(_FREE), Period(first, until)),)), Usage()


def record_of(holder: Holder, number: int, uid: bytes | None = None) -> HolderRecord:
    return HolderRecord(
        rights_records(holder),
        age_records(holder),
        purse_records(holder),
        (CardRecord(number, 1, int(CardState.LIVE), b"12345678"),),
        uids=() if uid is None else (UidRecord(uid, number, 1, 0),),
    )


@pytest.mark.parametrize("chips", [False, True], ids=["cards alone", "a chip on every card"])
def test_a_hundred_thousand_holders_fit_in_four_megabytes(capsys: pytest.CaptureFixture[str], chips: bool):
    chance = random.Random(1055)
    compiler = ListCompiler(packaged_law(), policy_from(None), TODAY, ListHead())
    entries = []
    for number in range(HOLDERS):
        holder, usage = invented(chance)
        entry = compiler.entry(record_of(holder, number, chance.randbytes(7) if chips else None), usage)
        assert entry is not None
        entries.append((chance.randbytes(8), pack_listed(entry)))
    law = (resources.files("validator.domain") / "law" / "pato_branco.toml").read_bytes()

    whole = len(pack_step(StepRecord(law, compiler.head, entries=tuple(sorted(entries)))))
    changed = len(pack_step(StepRecord(None, compiler.head, entries=tuple(sorted(entries[:1000])))))

    with capsys.disabled():
        sys.stdout.write(
            f"\n  {HOLDERS} holders{' with chips' * chips}: {whole} bytes whole, {changed} bytes for 1000 changed\n"
        )
    assert whole <= LIMIT
    assert changed <= whole / 50
