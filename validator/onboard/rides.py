"""What a device has let in itself: it counts against its riders until a list of the service shows it.

Rows lie beside the journal and are written in the transaction of the release, so they are never ahead or behind.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from validator.domain.usage import Effects
from validator.domain.vocabulary import RideClass
from validator.onboard.journal import Journal
from validator.records.packing import from_micros, pack, to_micros, unpack
from validator.records.usage import EffectRecord, effect_record

_effect = msgspec.msgpack.Decoder(EffectRecord)


@dataclass(frozen=True, slots=True)
class Ride:
    """A ride that the device let in.

    Attributes:
        boarding_id: Its boarding.
        holder: Hot holder id, None for a ride of nobody's card.
        effects: What it changes in the holder's usage, None for nothing.
        occurred_at: When, by the device's clock.
        ride_class: The class that it was let in on, None where the service settles it.
        online: Whether the service answered it; then the service knows it already.
    """

    boarding_id: str
    holder: str | None
    effects: Effects | None
    occurred_at: datetime
    ride_class: RideClass | None
    online: bool


class Rides:
    """The rides of a journal's device."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def recording(self, ride: Ride, at: datetime) -> Callable[[sqlite3.Connection, int], None]:
        """What a release writes beside itself."""
        effect = None if ride.effects is None else pack(effect_record(ride.effects))
        known = to_micros(at) if ride.online else None

        def record(connection: sqlite3.Connection, seq: int) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO rides VALUES (?, (SELECT MAX(epoch) FROM installations), "
                "?, ?, ?, ?, ?, ?, ?, 0)",
                (
                    ride.boarding_id,
                    seq,
                    ride.holder,
                    effect,
                    to_micros(ride.occurred_at),
                    None if ride.ride_class is None else ride.ride_class.value,
                    int(ride.online),
                    known,
                ),
            )

        return record

    def undoing(self, boarding_id: str) -> Callable[[sqlite3.Connection, int], None]:
        """What an annulment writes beside itself."""

        def undo(connection: sqlite3.Connection, _seq: int) -> None:
            connection.execute("UPDATE rides SET undone = 1 WHERE boarding_id = ?", (boarding_id,))

        return undo

    def last(self) -> tuple[str, datetime] | None:
        """Boarding and instant of the last ride that was let in and not undone."""
        rows = self._journal.read(
            "SELECT boarding_id, occurred_micros FROM rides WHERE undone = 0 ORDER BY epoch DESC, seq DESC LIMIT 1",
            (),
        )
        return (str(rows[0][0]), from_micros(int(str(rows[0][1])))) if rows else None

    def of_holder(self, holder: str, listed_at: datetime) -> list[EffectRecord]:
        """Effects of a holder's rides that a list issued at an instant cannot show, oldest first."""
        rows = self._journal.read(
            "SELECT effect FROM rides WHERE holder = ? AND undone = 0 AND effect IS NOT NULL "
            "AND (known_micros IS NULL OR known_micros >= ?) ORDER BY occurred_micros, boarding_id",
            (holder, to_micros(listed_at)),
        )
        return [unpack(row[0], _effect) for row in rows if isinstance(row[0], bytes)]

    def latest_of_holder(self, holder: str) -> list[EffectRecord]:
        """Effects of a holder's two latest rides, shown by a list or not: what a second tap is measured from."""
        rows = self._journal.read(
            "SELECT effect FROM rides WHERE holder = ? AND undone = 0 AND effect IS NOT NULL "
            "ORDER BY occurred_micros DESC LIMIT 2",
            (holder,),
        )
        return [unpack(row[0], _effect) for row in reversed(rows) if isinstance(row[0], bytes)]

    def unheard_half_fares(self) -> int:
        """Half fares that were let in offline and that the service has not heard of."""
        rows = self._journal.read(
            "SELECT COUNT(*) FROM rides WHERE known_micros IS NULL AND undone = 0 AND ride_class = ?",
            (RideClass.HALF.value,),
        )
        return int(str(rows[0][0]))

    def heard(self, epoch: int, first_seq: int, last_seq: int, at: datetime) -> None:
        """The service has recorded these sequences; a list that is issued from now on shows them."""
        self._journal.write(
            "UPDATE rides SET known_micros = ? WHERE epoch = ? AND seq BETWEEN ? AND ? AND known_micros IS NULL",
            (to_micros(at), epoch, first_seq, last_seq),
        )
