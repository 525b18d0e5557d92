"""A device and a real service: the same bytes on both ways, one effect, whatever is lost between them."""

import json
from datetime import timedelta

import pytest

from tests.onboard.conftest import Bus
from tests.onboard.fleet import DEVICE_KEY, build
from tests.onboard.wire import Wire
from tests.validator.seeded_city import NOW, SeededCity
from validator.onboard.download import Synced
from validator.onboard.journal import Installation
from validator.onboard.keys import public_half, verify
from validator.onboard.uploader import Uploaded
from validator.records.codes import DeviceState, EntryKind, Flag
from validator.records.device_messages import head_message
from validator.records.journal import unpack_head

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"


def kinds(city: SeededCity) -> list[tuple[int, int]]:
    """(kind, sequence) of all entries of the service's journal that have a sequence, in order."""
    entries = [(entry.seq, entry.kind) for entry in city.journal() if entry.kind != EntryKind.HEAD]
    return [(kind, seq) for seq, kind in sorted(entries)]


def exact(bus: Bus, epoch: int = 1) -> list[dict[str, object]]:
    return [json.loads(e.exact) for e in bus.parts.journal.entries(epoch, after=0, limit=100)]


def listed(city: SeededCity, redis_url: str, bus: Bus) -> str:
    """A student with ten passes, in the bundle and on the bus; the card's text."""
    card = city.student(HOLDER)
    build(city, redis_url, [HOLDER])
    bus.go_online()
    assert bus.parts.store.current() is not None
    return card.token.text()


def test_online_the_service_decides_and_the_release_is_a_second_fact(
    city: SeededCity, redis_url: str, bus: Bus
):
    card = listed(city, redis_url, bus)

    shown = bus.tap(card)

    assert (shown.display, shown.turnstile, shown.mode) == ("MEIA 49 RESTAM", "TURN", "online")
    tap, release = exact(bus)
    assert release == {
        "boarding_id": tap["boarding_id"],
        "epoch": 1,
        "device_seq": 2,
        "released": True,
        "mode": "online",
        "class": "HALF",
        "purse": "STUDENT",
    }
    assert kinds(city) == [(EntryKind.BOARDING, 1)]
    assert city.usage(HOLDER).used == {"STUDENT": 1}


def test_the_batch_that_follows_brings_the_release_and_changes_nothing_else(
    city: SeededCity, redis_url: str, bus: Bus
):
    card = listed(city, redis_url, bus)
    bus.tap(card)

    bus.parts.uplink.upload_all()
    bus.parts.uplink.upload_all()

    assert kinds(city) == [(EntryKind.BOARDING, 1), (EntryKind.RELEASE, 2)]
    assert city.usage(HOLDER).used == {"STUDENT": 1}
    heads = [entry for entry in city.journal() if entry.kind == EntryKind.HEAD]
    assert len(heads) == 1


def test_without_a_network_the_list_decides_and_the_service_hears_of_it_later(
    city: SeededCity, redis_url: str, bus: Bus, wire: Wire
):
    card = listed(city, redis_url, bus)
    wire.sever()

    shown = bus.tap(card)

    assert (shown.display, shown.turnstile, shown.mode) == ("MEIA 49 RESTAM", "TURN", "offline")
    assert kinds(city) == []
    wire.mend()
    bus.parts.uplink.upload_all()
    assert kinds(city) == [(EntryKind.BOARDING, 1), (EntryKind.RELEASE, 2)]
    assert city.usage(HOLDER).used == {"STUDENT": 1}
    assert exact(bus)[1]["list_version"] == bus.parts.store.current().version  # type: ignore[union-attr]


def test_a_lost_answer_is_a_replay(city: SeededCity, redis_url: str, bus: Bus, wire: Wire):
    card = listed(city, redis_url, bus)
    wire.deaf = True

    shown = bus.tap(card)

    assert shown.mode == "offline"
    assert kinds(city) == [(EntryKind.BOARDING, 1)]
    wire.sever()
    wire.mend()
    bus.parts.uplink.upload_all()
    assert kinds(city) == [(EntryKind.BOARDING, 1), (EntryKind.RELEASE, 2)]
    assert city.usage(HOLDER).used == {"STUDENT": 1}


def test_an_answer_that_comes_too_late_is_not_waited_for(
    city: SeededCity, redis_url: str, bus: Bus, wire: Wire
):
    card = listed(city, redis_url, bus)
    wire.delay_s = 30.0

    shown = bus.tap(card)

    assert shown.mode == "offline"
    assert shown.released


def test_a_device_that_differs_from_the_service_says_what_it_did(
    city: SeededCity, redis_url: str, bus: Bus, wire: Wire
):
    """The list still shows passes that were used elsewhere meanwhile: the ride is a fact, and flagged."""
    card = listed(city, redis_url, bus)
    city.student(HOLDER, passes=0)
    wire.sever()
    assert bus.tap(card).released
    wire.mend()

    bus.parts.uplink.upload_all()

    releases = [entry for entry in city.journal() if entry.kind == EntryKind.RELEASE]
    assert [Flag(entry.flags) for entry in releases] == [Flag.RELEASED_OVER_REFUSAL]


def test_what_is_not_durable_after_a_minute_is_sent_again(city: SeededCity, redis_url: str, bus: Bus):
    card = listed(city, redis_url, bus)
    uploader = bus.parts.uplink.uploader
    bus.tap(card)
    bus.parts.uplink.upload_all()
    assert uploader.upload_next(1) is Uploaded.NOTHING

    bus.now += timedelta(seconds=61)
    assert uploader.upload_next(1) is Uploaded.TAKEN
    city.durable(city.devices["val-1"], 2)
    bus.now += timedelta(seconds=61)
    assert uploader.upload_next(1) is Uploaded.TAKEN
    assert uploader.owes() == 0
    bus.now += timedelta(seconds=61)
    assert uploader.upload_next(1) is Uploaded.NOTHING
    assert set(kinds(city)) == {(EntryKind.BOARDING, 1), (EntryKind.RELEASE, 2)}
    assert city.usage(HOLDER).used == {"STUDENT": 1}


def test_what_the_service_lacks_is_sent_again_from_the_first_gap(city: SeededCity, redis_url: str, bus: Bus):
    card = listed(city, redis_url, bus)
    for _ in range(3):
        bus.tap(card, after=timedelta(minutes=6))
    bus.parts.uplink.upload_all()
    city.durable(city.devices["val-1"], 1, 6, [(2, 3)])
    before = kinds(city)
    for _ in range(2):
        bus.now += timedelta(seconds=61)
        bus.parts.uplink.upload_all()

    assert (EntryKind.RELEASE, 2) in before
    assert kinds(city).count((EntryKind.RELEASE, 2)) > before.count((EntryKind.RELEASE, 2))


def test_an_annulment_goes_online_and_gives_back_the_pass(city: SeededCity, redis_url: str, bus: Bus):
    card = listed(city, redis_url, bus)
    bus.tap(card)

    shown = bus.tap('{"not_turned":true}', after=timedelta(seconds=20))

    assert shown.display == "EMBARQUE ANULADO"
    assert kinds(city) == [(EntryKind.BOARDING, 1), (EntryKind.ANNULMENT, 3)]
    assert city.usage(HOLDER).remaining("STUDENT", 10) == 10
    bus.parts.uplink.upload_all()
    assert city.usage(HOLDER).remaining("STUDENT", 10) == 10


def test_a_revoked_device_goes_on_deciding_and_only_uploads(city: SeededCity, redis_url: str, bus: Bus):
    card = listed(city, redis_url, bus)
    city.device(state=int(DeviceState.REVOKED))

    assert bus.tap(card).mode == "offline"
    assert bus.parts.uplink.sync() is Synced.UNFINISHED
    bus.parts.uplink.upload_all()

    assert {Flag(entry.flags) for entry in city.journal()} == {Flag.REVOKED_DEVICE}
    assert city.usage(HOLDER).used == {}


def test_a_clock_that_died_is_set_at_the_first_contact(city: SeededCity, redis_url: str, bus: Bus):
    listed(city, redis_url, bus)
    bus.now = NOW - timedelta(days=20_000)
    bus.restart()
    bus.go_online()

    shown = bus.tap('{"tap":{"kind":"document","category":"ELDER","document":"RG"}}')

    assert shown.mode == "online"
    assert str(exact(bus)[0]["occurred_at"]).startswith("2026-03-02T07:15:0")
    (entry,) = city.journal()
    assert entry.flags == 0


def test_an_epoch_is_closed_with_a_signed_head_when_the_device_leaves_service(
    city: SeededCity, redis_url: str, bus: Bus
):
    card = listed(city, redis_url, bus)
    bus.tap(card)
    bus.parts.uplink.uploader.closing = True
    bus.parts.uplink.upload_all()
    city.durable(city.devices["val-1"], 2)
    bus.now += timedelta(seconds=61)
    bus.parts.uplink.upload_all()

    installation = bus.parts.journal.installation()
    assert installation is not None
    assert installation.closed


def test_a_reinstalled_device_delivers_and_closes_its_earlier_epoch(
    city: SeededCity, redis_url: str, bus: Bus, wire: Wire
):
    card = listed(city, redis_url, bus)
    wire.sever()
    bus.tap(card)
    wire.mend()
    new_key = bytes(range(32))
    device = city.device(epoch=2, public_key=public_half(new_key))
    bus.parts.journal.install(Installation("val-1", 2, new_key, device.token), NOW)

    bus.tap('{"tap":{"kind":"cash","tendered_cents":450}}')
    bus.parts.uplink.upload_all()
    heads = [unpack_head(e.raw) for e in city.journal() if e.kind == EntryKind.HEAD and e.raw is not None]

    assert sorted((e.epoch, e.seq) for e in city.journal() if e.kind != EntryKind.HEAD) == [
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
    ]
    old = next(head for head in heads if head.closing)
    signed = head_message("val-1", 1, 2, old.head, closing=True)
    assert verify(public_half(DEVICE_KEY), old.signature, signed)


def test_an_epoch_that_the_service_does_not_take_holds_up_no_other(
    city: SeededCity, redis_url: str, bus: Bus
):
    """The register never issued epoch 2, as after an older copy of its database was put back."""
    card = listed(city, redis_url, bus)
    bus.parts.uplink.state.online = False
    bus.tap(card)
    bus.parts.journal.install(Installation("val-1", 2, bytes(range(32)), "val-1.a-secret-of-tests"), NOW)
    bus.tap(card)

    bus.parts.uplink.upload_all()

    assert kinds(city) == [(EntryKind.BOARDING, 1), (EntryKind.RELEASE, 2)]
    assert any("época" in line or "422" in line for line in bus.said)
