"""A closing shows what the devices' journals lack: gaps, losses, forks, a tail that nobody signed. It still closes."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.backoffice.claims_city import CLOSING, HASH, LONG_AGO, ClaimsCity, at, make_claims_city
from tests.backoffice.claims_month import close, documents


@pytest.fixture
def city(sqlite_url: str) -> Iterator[ClaimsCity]:
    made = make_claims_city(sqlite_url)
    yield made
    made.engine.dispose()


def epoch_of(city: ClaimsCity, epoch: int = 1, **state: Any) -> None:
    fields = {"durable_seq": 0, "top_seq": 0, "covered_seq": 0, "broken": False, "closed": False}
    city.register("device_epochs", device="d-azul", epoch=epoch, **(fields | state))


def rides(city: ClaimsCity, *seqs: int) -> None:
    """One cash ride under each sequence; its release has the same device's next number, far away."""
    for seq in seqs:
        city.seqs["d-azul"] = seq - 1
        city.cash(at(f"2026-03-10 07:{seq % 60:02}"), released=None)
    city.store()


def closed(city: ClaimsCity) -> dict[str, Any]:
    document: dict[str, Any] = documents(close(city))["azul"]
    return document


def test_a_jump_in_the_numbers_is_named_with_both_its_ends(city: ClaimsCity):
    rides(city, 1, 2, 118, 119, 126)
    epoch_of(city, durable_seq=2, top_seq=126)

    document = closed(city)

    (journal,) = document["completeness"]
    assert (journal["top_seq"], journal["missing"], journal["missing_count"]) == (
        126,
        [[3, 117], [120, 125]],
        121,
    )
    assert any("faltam 121 sequências (3 a 117, 120 a 125)" in warning for warning in document["warnings"])


def test_a_whole_journal_with_a_signed_end_is_no_warning(city: ClaimsCity):
    rides(city, 1, 2)
    epoch_of(city, durable_seq=2, top_seq=2, closed=True)

    document = closed(city)

    assert document["completeness"][0]["missing"] == []
    assert not any("validador d-azul" in warning for warning in document["warnings"])


def test_a_journal_without_a_signed_end_is_a_tail_unknown(city: ClaimsCity):
    rides(city, 1)
    epoch_of(city, durable_seq=1, top_seq=1)

    assert any("fim do diário desconhecido" in warning for warning in closed(city)["warnings"])


@pytest.mark.parametrize("largest", [2**53 + 1, 2**63 - 1])
def test_a_number_at_the_end_of_all_numbers_is_a_gap_and_no_work(city: ClaimsCity, largest: int):
    """A device that writes it makes one range, not as many rows as there are numbers."""
    rides(city, 1, largest)
    epoch_of(city, durable_seq=1, top_seq=largest)

    (journal,) = closed(city)["completeness"]

    assert (journal["missing"], journal["missing_count"]) == ([[2, largest - 1]], largest - 2)


def test_losses_forks_and_a_broken_chain_are_told(city: ClaimsCity):
    rides(city, 1)
    epoch_of(city, durable_seq=3, top_seq=3, broken=True)
    where = {"device": "d-azul", "epoch": 1, "received_at": LONG_AGO, "note": "-"}
    for seq in (2, 3):
        city.register("rejected", kind="DECLARED_LOST", seq=seq, flags=0, **where)
    commit = {"shard": 0, "generation": 1, "commit_no": 9}
    city.register("forks", kind="BOARDING", seq=1, digest=HASH, raw=b"{}", **where, **commit)

    warnings = closed(city)["warnings"]

    for said in (
        "2 sequências declaradas perdidas",
        "1 sequência com dois registros",
        "contradizem um fecho",
    ):
        assert any(said in warning for warning in warnings), (said, warnings)


def test_a_loss_and_a_fork_that_come_after_the_instant_of_closing_are_not_told(city: ClaimsCity):
    rides(city, 1)
    epoch_of(city, durable_seq=2, top_seq=2)
    where = {"device": "d-azul", "epoch": 1, "received_at": CLOSING + timedelta(minutes=1), "note": "-"}
    city.register("rejected", kind="DECLARED_LOST", seq=2, flags=0, **where)
    commit = {"shard": 0, "generation": 1, "commit_no": 9}
    city.register("forks", kind="BOARDING", seq=1, digest=HASH, raw=b"{}", **where, **commit)

    (journal,) = closed(city)["completeness"]

    assert (journal["lost"], journal["forks"]) == (0, 0)


def test_a_replaced_device_starts_at_one_again_under_another_epoch(city: ClaimsCity):
    """Sequence 1 of two epochs are two rides, each in a journal of its own."""
    rides(city, 1)
    epoch_of(city, durable_seq=1, top_seq=1, closed=True)
    city.seqs.clear()
    city.cash(at("2026-03-11 07:00"), released=None)
    for _, values in city.rows:
        values["epoch"] = 2
    city.store()
    epoch_of(city, epoch=2, durable_seq=1, top_seq=1)

    document = closed(city)

    assert [(journal["epoch"], journal["top_seq"]) for journal in document["completeness"]] == [
        (1, 1),
        (2, 1),
    ]
    assert [warning for warning in document["warnings"] if "desconhecido" in warning] == [
        "validador d-azul, época 2: fim do diário desconhecido (sem fecho final assinado)"
    ]
