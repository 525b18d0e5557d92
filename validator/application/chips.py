"""Taps of contactless chips. A chip says its uid and nothing else, so its holder is looked up before it is judged.

The hot state holds, under the uid, the holder whom the chip was bound to last; that is a way and no more. The holder's
snapshot alone says what the chip may do, and the boarding's home is that holder's shard, as with a card. The id of the
boarding remembers the home that it was first heard with: the same tap after the chip was bound elsewhere is settled
there, so that it is answered once.
"""

from collections.abc import Sequence

from msgspec import structs

from validator.application.attempt import Attempt, Desk
from validator.application.cards import ReadCard, card_of
from validator.application.devices import Device
from validator.application.errors import RegisterBehind, ShardFenced
from validator.application.holders import ReadHolder
from validator.application.ports import Commit, HotState, Values
from validator.application.tap_records import TapFacts
from validator.records.card_token import CardToken
from validator.records.chip_uid import uid_bytes
from validator.records.city import CityView
from validator.records.device_messages import UidMedium
from validator.records.journal import pack_id, unpack_id
from validator.records.keys import (
    fence_key,
    generation_key,
    raw_id_key,
    raw_seen_key,
    uid_key,
    uid_shard,
)
from validator.records.snapshot import unpack_uid_holder


class ChipAttempt(Attempt):
    """A tap of a chip as an item of the hot state; settled once to look its holder up, and once more to be judged."""

    reads_on = True

    def __init__(self, device: Device, facts: TapFacts, flags: int, desk: Desk, medium: UidMedium) -> None:
        super().__init__(device, facts, flags, desk)
        self._uid = uid_bytes(medium.uid)
        number = uid_shard(self._uid)
        self._way = (uid_key(self._uid), generation_key(number), fence_key(number))
        self._looked_up = False
        self.claim = None

    def first_keys(self) -> Sequence[bytes]:
        """The way to the holder, or what the boarding of a known holder needs."""
        return super().first_keys() if self._looked_up else self._way

    def more_keys(self, values: Values) -> Sequence[bytes]:
        """The answer in another home, where the same tap was heard before its chip was bound to another holder."""
        stands = None if self.claim is None else values.get(self.claim[0])
        if stands is None or self.claim is None or stands[:16] != self.claim[1][:16]:
            return ()
        self._move(unpack_id(stands).home)
        return (self._seen_key,)

    def decide(self, values: Values) -> Commit | None:
        """The first time only who the holder is; then as with a card.

        Raises:
            ShardFenced: nobody can say now whom the chip belongs to.
            BoardingError: no answer is possible now.
        """
        if self._looked_up:
            return super().decide(values)
        way, generation, fence = (values[key] for key in self._way)
        if way is None and (not generation or fence is not None):
            raise ShardFenced
        holder = None if way is None else unpack_uid_holder(way).holder
        if holder is not None:
            card = card_of(CardToken(0, holder, 0, 0), b"")
            self.facts = structs.replace(self.facts, card=card)
            self.home = card.home
        boarding = self.facts.boarding
        self.claim = (raw_id_key(boarding), pack_id(self.facts.digest, self.home))
        self._seen_key = raw_seen_key(self.home, boarding)
        self._looked_up = True
        return None

    def _move(self, home: int) -> None:
        """Settle in the home that the boarding's id names; there, the chip's new holder is out of reach."""
        if home == self.home:
            return
        self.home = home
        boarding = self.facts.boarding
        self.claim = (raw_id_key(boarding), pack_id(self.facts.digest, home))
        self._seen_key = raw_seen_key(home, boarding)
        self.facts = structs.replace(self.facts, card=None)

    def _judge(self, values: Values) -> Commit:
        card = self.facts.card
        if card is not None:
            snapshot = values[card.holder_key]
            if snapshot is None:
                raise RegisterBehind
            read = self._desk.holders.read(card.holder_key, snapshot)
            self.facts = structs.replace(self.facts, card=self._named(card, read))
        return super()._judge(values)

    def _named(self, card: ReadCard, read: ReadHolder) -> ReadCard | None:
        """The card that the snapshot binds the chip to, good as its live token is; None for a chip of nobody.

        A tap in a batch that is older than the binding was another holder's, or nobody's.
        """
        for chip in read.uids:
            if chip.uid == self._uid and not (
                self.facts.batch and self.facts.dated_micros < chip.since_micros
            ):
                live = next((c.token_hash for c in read.cards if c.number == chip.number), b"")
                token = CardToken(0, card.token.holder_id, chip.number, chip.issue)
                return structs.replace(card, token=token, hash=live)
        return None

    def _is_of_valid_key(self, card: ReadCard, view: CityView) -> bool:
        """A chip bears no signature; that it is this holder's stands in the snapshot."""
        return True

    _is_signed = _is_of_valid_key


def attempt_of(device: Device, facts: TapFacts, flags: int, desk: Desk) -> Attempt:
    """A tap as an item of the hot state."""
    medium = facts.message.medium
    if type(medium) is UidMedium:
        return ChipAttempt(device, facts, flags, desk, medium)
    return Attempt(device, facts, flags, desk)


async def look_up(items: Sequence[object], hot: HotState) -> None:
    """Look up the holders of the chips among some items; an item whose holder is not found out has failed.

    Raises:
        HotStateAway: Redis is away.
    """
    chips = [item for item in items if type(item) is ChipAttempt]
    if chips:
        await hot.settle_all(chips)
