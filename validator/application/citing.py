"""Releases and annulments on their way: entries that cite a boarding, and rows that cite none."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from validator.application.attempt import Fate
from validator.application.devices import Device
from validator.application.errors import BoardingError, BoardingPending, DeviceUnknown, UsageLost
from validator.application.follow_up import FollowUp
from validator.application.ports import Commit, Undecided, Values
from validator.records.codes import EntryKind, Flag
from validator.records.journal import (
    AnswerRecord,
    JournalEntry,
    pack_answer,
    pack_entry,
    unpack_answer,
    unpack_id,
)
from validator.records.keys import durable_key, holder_shard, raw_id_key, raw_seen_key, usage_key
from validator.records.snapshot import DurableRecord, unpack_durable
from validator.records.usage import fold, pack_usage, unpack_usage

Follow = Callable[[AnswerRecord], FollowUp | None]
"""What an entry does to the boarding that it cites; None for nothing, and the entry says so."""


class Row:
    """A journal entry that cites no boarding: rejected bytes, or a signed head.

    Attributes:
        fate: What became of it.
        durable: What of the device's epoch is durable in SQL.
        error: Why it was not recorded.
    """

    claim: tuple[bytes, bytes] | None = None
    reads_on = False

    def __init__(self, device: Device, entry: JournalEntry) -> None:
        self.device = device
        self.entry = entry
        self.fate = Fate.OPEN
        self.durable = DurableRecord()
        self.error: BoardingError | None = None
        self._durable_key = durable_key(device.id, entry.epoch)

    def first_keys(self) -> Sequence[bytes]:
        """The device, and what of it is durable."""
        return (self.device.key, self._durable_key)

    def more_keys(self, values: Values) -> Sequence[bytes]:
        """Nothing more."""
        return ()

    def decide(self, values: Values) -> Commit | None:
        """The entry as it is, unless it is durable already."""
        if self._is_recorded(values):
            return None
        return Commit(self.device.shard, pack_entry(self.entry))

    def _is_recorded(self, values: Values) -> bool:
        if not self.device.sees(values[self.device.key]):
            raise DeviceUnknown
        self.durable = unpack_durable(values[self._durable_key])
        if self.entry.seq and self.durable.covers(self.entry.seq):
            self.fate = Fate.RECORDED
            return True
        return False

    def committed(self) -> None:
        """It is recorded."""
        self.fate = Fate.ANSWERED

    def replayed(self, seen: bytes) -> None:
        """Never: it keeps no answer of its own."""
        raise AssertionError("a row without an answer cannot be replayed")

    def failed(self, error: BoardingError) -> None:
        """It is not recorded."""
        if self.fate is Fate.OPEN:
            self.fate = Fate.FAILED
            self.error = error


class Citing(Row):
    """A release or an annulment.

    Attributes:
        boarding: The boarding that it cites.
        answer: What is kept of that boarding from now on, None where nothing is.
        refused: Whether it came too late, or cites another device's boarding.
    """

    reads_on = True

    def __init__(self, device: Device, entry: JournalEntry, follow: Follow) -> None:
        super().__init__(device, entry)
        assert entry.boarding is not None
        self.boarding = entry.boarding
        self.answer: AnswerRecord | None = None
        self.refused = False
        self._follow = follow
        self._id_key = raw_id_key(self.boarding)
        self._decided: tuple[AnswerRecord | None, bool] = (None, False)

    def first_keys(self) -> Sequence[bytes]:
        """Where the boarding is kept."""
        return (self.device.key, self._durable_key, self._id_key)

    def more_keys(self, values: Values) -> Sequence[bytes]:
        """The kept answer, then the usage of its holder."""
        stands = values[self._id_key]
        if stands is None:
            return ()
        key = raw_seen_key(unpack_id(stands).home, self.boarding)
        seen = values.get(key)
        if seen is None:
            return (key,)
        holder = unpack_answer(seen).holder_id
        return () if holder is None else (usage_key(holder),)

    def decide(self, values: Values) -> Commit | None:
        """What the entry does to its boarding, or a row that does nothing.

        Raises:
            Undecided: the boarding is answered in this very cycle, and its holder's usage was not read.
            BoardingPending: the boarding is not recorded yet, and may still come: its batch was overtaken by this one.
            DeviceUnknown: the device has another token now.
        """
        if self._is_recorded(values):
            return None
        stands = values[self._id_key]
        key = None if stands is None else raw_seen_key(unpack_id(stands).home, self.boarding)
        seen = None if key is None else values.get(key)
        if stands is None or key is None or seen is None:
            if self.durable.durable_seq < self.entry.seq - 1:
                raise BoardingPending  # once all that came before is durable, nothing can be pending
            return self._without(None, Flag.SEEN_GONE)
        answer = unpack_answer(seen)
        if self.device.revoked:
            return self._without(answer, Flag.REVOKED_DEVICE)
        done = self._follow(answer) if answer.device == self.device.id else None
        if done is None:
            return self._without(answer, Flag.ANNUL_LATE)
        return self._with(done, unpack_id(stands).home, key, seen, values)

    def _without(self, answer: AnswerRecord | None, flag: Flag) -> Commit:
        """A row that does nothing to its boarding."""
        self._decided = (answer, True)
        if self.device.revoked:
            flag |= Flag.REVOKED_DEVICE  # also where the answer is gone: the rating goes by the flag
        if flag is Flag.ANNUL_LATE and self.entry.kind == EntryKind.RELEASE:
            entry = replace(self.entry, note="cites a boarding of another device")
        else:
            entry = replace(self.entry, flags=self.entry.flags | int(flag))
        return Commit(self.device.shard, pack_entry(entry))

    def _with(self, done: FollowUp, home: int, key: bytes, seen: bytes, values: Values) -> Commit:
        self._decided = (done.answer, False)
        holder = done.answer.holder_id
        entry = replace(
            self.entry,
            flags=self.entry.flags | done.flags,
            effects=done.effects,
            holder=done.answer.holder,
        )
        commit = Commit(home, pack_entry(entry), key, seen, pack_answer(done.answer))
        if done.effects and holder is not None:
            # A boarding that names a holder is at home in that holder's shard, and so is the usage.
            assert holder_shard(holder) == home
            used = usage_key(holder)
            if used not in values:
                raise Undecided
            was = values[used]
            if was is None:
                raise UsageLost(home)
            commit.usage_key, commit.usage_was = used, was
            commit.usage_now = pack_usage(fold(unpack_usage(was), done.effects))
        return commit

    def committed(self) -> None:
        """It is recorded, with what it did."""
        super().committed()
        self.answer, self.refused = self._decided
