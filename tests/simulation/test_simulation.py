"""Small worlds with everything that goes wrong, each audited to the last centavo; thousands with `make simulate`."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.simulation.__main__ import command_for, kept_seeds
from tests.simulation.mutations import put_in
from tests.simulation.play import play
from tests.simulation.player import be_quiet
from tests.simulation.template import Template, make_template
from tests.simulation.world import SMALL

pytestmark = pytest.mark.hot_state

SEEDS = int(os.environ.get("CATRACA_TEST_SEEDS", "4"))
"""How many seeds beside those that failed once, which are always played."""

QUICK_MUTATIONS = ("usage_not_compared", "durable_one_too_high", "cap_one_too_high", "folded_backwards")
"""Faults that are put in here; all of them with `make simulate MUTATIONS=all`."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Template]:
    before = structlog.get_config()
    be_quiet()
    yield make_template(tmp_path_factory.mktemp("founded"))
    structlog.configure(**before)


@pytest.mark.parametrize("seed", sorted({*kept_seeds(), *range(1_001, 1_001 + SEEDS)}))
def test_the_auditor_finds_nothing(seed: int, template: Template, tmp_path: Path):
    findings = play(seed, tmp_path / "world", template)

    assert not findings, "\n".join([f"again with: {command_for(seed, SMALL)}", *findings[:20]])


def test_a_world_without_trouble_is_quiet(template: Template, tmp_path: Path):
    assert play(1, tmp_path / "world", template, harm=False) == []


@pytest.mark.parametrize("name", QUICK_MUTATIONS)
def test_a_fault_put_in_on_purpose_is_found(name: str, template: Template, tmp_path: Path):
    with put_in(name):
        findings = next(
            (found for seed in range(1, 9) if (found := play(seed, tmp_path / str(seed), template))), []
        )

    assert findings
