"""Build the signed bundle of the fleet: what devices need to decide without a network.

A new version is made only when something changed; otherwise the offers are signed again as of now, so that the lists on
board do not grow old. Entries that did not change are in no step: a step is as large as the change.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from backoffice.adapters.bundle_store import BundleStore
from backoffice.application.compile_list import ListCompiler, hot_records
from backoffice.application.ports import CardSigner
from backoffice.domain.offline_policy import OfflinePolicy, refuse_telling
from validator.domain.service_time import civil_date
from validator.records.bundle import (
    BundleState,
    HotRecord,
    ListHead,
    OfferMessage,
    SignedOffer,
    StepMessage,
    StepRecord,
    cut,
    offer_signed_bytes,
    pack_listed,
    pack_step,
    unpack_step,
)
from validator.records.city import CityView, view_city
from validator.records.packing import to_micros
from validator.records.snapshot import unpack_holder
from validator.records.usage import unpack_usage

STEPS_KEPT: Final = 200
"""How many versions back a device may be and still be brought up by steps."""

_CHUNK = 500
_encode = msgspec.json.Encoder().encode
_Step = tuple[int, int, int, tuple[str, ...]]


class BundleNotBuilt(RuntimeError):
    """The hot state has not all that the register has; the last bundle stays. The message says what is missing."""


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a version holds."""

    city: bytes
    head: ListHead
    hot: dict[int, HotRecord]
    entries: dict[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Built:
    """What was built.

    Attributes:
        version: The current version.
        new: Whether it is a new one.
        holders: Entries in the list.
        full_bytes: What a device without any version fetches.
        step_bytes: What a device with the version before fetches; 0 where nothing changed.
    """

    version: int
    new: bool
    holders: int
    full_bytes: int
    step_bytes: int


def build_bundle(
    store: BundleStore,
    holders: Sequence[str],
    policy: OfflinePolicy,
    signer: CardSigner,
    at: datetime,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Built:
    """Build and offer the bundle as of an instant.

    Args:
        store: Where snapshots and usage are read and the bundle is put.
        holders: Hot ids of all holders that are published.
        policy: What a stale list means.
        signer: The city's keys.
        at: The instant; the list is as of it.
        advance: Told how many holders of how many are done.

    Raises:
        BundleNotBuilt: see there.
        PolicyError: the policy would tell who is in special education.
    """
    city = store.city()
    if city is None:
        raise BundleNotBuilt("a cidade ainda não foi publicada; rode: catraca publish")
    view = view_city(city)
    refuse_telling(policy, view.city.book)
    state, before = _before(store)
    today = civil_date(at)
    compiler = ListCompiler(view.city.book, policy, today, before.head if before else ListHead())
    now = _compile(store, holders, compiler, city, advance)
    max_age = view.city.book.parameter_on("list_max_age_hours", today)
    newer, chunks = _next_state(state, before, now, at)
    store.keep_chunks(chunks)
    store.offer(newer, _offers(newer, at, max_age, signer, _signing_key(view, at)))
    _let_go(store, state, newer)
    made = state is None or newer.version != state.version
    step_bytes = newer.steps[-1][2] if made and len(newer.steps) > 1 else 0
    return Built(newer.version, made, len(now.entries), newer.steps[0][2], step_bytes)


def _signing_key(view: CityView, at: datetime) -> int:
    """The oldest of the published keys that verify now: a device whose list is old knows it, and learns the newer."""
    micros = to_micros(at)
    valid = [k.key_id for k in view.card_keys.values() if k.until_micros is None or micros < k.until_micros]
    if not valid:
        raise BundleNotBuilt("nenhuma chave da cidade em vigor foi publicada; rode: catraca key rotate")
    return min(valid)


def _compile(
    store: BundleStore,
    holders: Sequence[str],
    compiler: ListCompiler,
    city: bytes,
    advance: Callable[[int, int], None],
) -> Contents:
    entries: dict[bytes, bytes] = {}
    hot: dict[int, HotRecord] = {}
    for start in range(0, len(holders), _CHUNK):
        chunk = holders[start : start + _CHUNK]
        for hot_id, (snapshot, usage) in zip(chunk, store.holders(chunk), strict=True):
            if snapshot is None or usage is None:
                raise BundleNotBuilt(
                    "o Redis não tem todos os titulares publicados; espere a reconstrução e repita"
                )
            record = unpack_holder(snapshot)
            for card in hot_records(record):
                hot[card.number] = card
            entry = compiler.entry(record, unpack_usage(usage))
            if entry is not None:
                entries[bytes.fromhex(hot_id)] = pack_listed(entry)
        advance(start + len(chunk), len(holders))
    return Contents(city, compiler.head, hot, entries)


def _before(store: BundleStore) -> tuple[BundleState | None, Contents | None]:
    """The last bundle with its contents; None where Redis has lost a part of it."""
    state = store.state()
    if state is None:
        return None, None
    chunks = store.chunks(state.steps[0][3])
    if any(chunk is None for chunk in chunks):
        return state, None
    whole = unpack_step(b"".join(chunk for chunk in chunks if chunk is not None))
    assert whole.city is not None
    return state, Contents(
        whole.city, whole.head, {card.number: card for card in whole.hot}, dict(whole.entries)
    )


def _next_state(
    state: BundleState | None, before: Contents | None, now: Contents, at: datetime
) -> tuple[BundleState, list[tuple[str, bytes]]]:
    """The next state, and the chunks that are new in it. A version is the second of its making, or one more."""
    if state is not None and before is not None and _same(before, now):
        return state, []
    version = max(int(at.timestamp()), state.version + 1 if state is not None else 1)
    whole, chunks = _step(0, version, _whole(now))
    steps: list[_Step] = []
    if state is not None and before is not None:
        step, pieces = _step(state.version, version, _change(before, now))
        steps = [*state.steps[1:], step][-STEPS_KEPT:]
        chunks += pieces
        while sum(size for _, _, size, _ in steps) > whole[2]:
            steps.pop(0)
    return BundleState(version, (whole, *steps)), chunks


def _same(before: Contents, now: Contents) -> bool:
    return before == now


def _whole(now: Contents) -> StepRecord:
    return StepRecord(
        now.city,
        now.head,
        tuple(now.hot[number] for number in sorted(now.hot)),
        (),
        tuple(sorted(now.entries.items())),
    )


def _change(before: Contents, now: Contents) -> StepRecord:
    return StepRecord(
        None if before.city == now.city else now.city,
        now.head,
        tuple(card for number, card in sorted(now.hot.items()) if before.hot.get(number) != card),
        tuple(sorted(set(before.hot) - set(now.hot))),
        tuple((h, entry) for h, entry in sorted(now.entries.items()) if before.entries.get(h) != entry),
        tuple(sorted(set(before.entries) - set(now.entries))),
    )


def _step(first: int, last: int, record: StepRecord) -> tuple[_Step, list[tuple[str, bytes]]]:
    packed = pack_step(record)
    chunks = cut(packed)
    return (first, last, len(packed), tuple(digest for digest, _ in chunks)), chunks


def _offers(
    state: BundleState, at: datetime, max_age_hours: int, signer: CardSigner, key_id: int
) -> Iterator[tuple[int, SignedOffer]]:
    """A signed offer for devices without any version, for each version that steps lead from, and for the current."""
    whole, steps = state.steps[0], state.steps[1:]
    paths: list[tuple[int, Sequence[_Step]]] = [(0, [whole]), (state.version, [])]
    paths += [(step[0], steps[place:]) for place, step in enumerate(steps)]
    for have, path in paths:
        message = OfferMessage(
            version=state.version,
            have=have,
            issued_at=at.isoformat(),
            max_age_hours=max_age_hours,
            steps=[StepMessage(first, last, size, list(chunks)) for first, last, size, chunks in path],
        )
        text = _encode(message).decode()
        yield have, SignedOffer(text, key_id, signer.sign(key_id, offer_signed_bytes(text)).hex())


def _let_go(store: BundleStore, state: BundleState | None, newer: BundleState) -> None:
    if state is None or state.version == newer.version:
        return
    named = {digest for step in newer.steps for digest in step[3]}
    lost = {digest for step in state.steps for digest in step[3]} - named
    offered = {0, newer.version, *(step[0] for step in newer.steps[1:])}
    gone = {state.version, *(step[0] for step in state.steps[1:])} - offered
    store.let_go(sorted(gone), sorted(lost))
