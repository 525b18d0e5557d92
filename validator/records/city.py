"""The city in Redis, and the view that a validator's process makes of it."""

import json
from datetime import date, datetime
from typing import Any

import msgspec

from validator.domain.city import City, city_of
from validator.domain.fares import Fare
from validator.domain.money import Cents
from validator.domain.rules import parse_rule_book
from validator.domain.vocabulary import FareMedium, Network
from validator.records.codes import NETWORK_CODE, NETWORKS
from validator.records.packing import (
    Packed,
    from_ordinal,
    pack_revised,
    revision_of,
    to_digits,
    to_micros,
    to_ordinal,
    unpack_revised,
)


class FareRecord(Packed, frozen=True):
    """A fare; days as ordinals, centavos."""

    network: int
    first: int
    last: int | None
    cents: int
    line: str | None = None
    medium: str | None = None
    act: str | None = None


class LineRecord(Packed, frozen=True):
    """A line: its code, its network, and the operators that run it."""

    code: str
    network: int
    operators: tuple[str, ...] = ()


class BreakdownRecord(Packed, frozen=True):
    """A vehicle that its operator declared broken from an instant on, until another."""

    vehicle: str
    from_micros: int
    until_micros: int | None = None


class CardKeyRecord(Packed, frozen=True):
    """A key of the city for cards: valid for verifying until `until_micros`."""

    key_id: int
    public_key: bytes
    until_micros: int | None = None


class CityRecord(Packed, frozen=True):
    """All that a validator holds of the city in its process. `law_json` is the rule table's mapping."""

    law_json: str
    fares: tuple[FareRecord, ...] = ()
    lines: tuple[LineRecord, ...] = ()
    vehicles: tuple[tuple[str, str], ...] = ()
    """(vehicle number, operator)."""
    breakdowns: tuple[BreakdownRecord, ...] = ()
    card_keys: tuple[CardKeyRecord, ...] = ()


_city_decoder = msgspec.msgpack.Decoder(CityRecord)


def pack_city(record: CityRecord, revision: int) -> bytes:
    """The city's record as bytes, led by its revision."""
    return pack_revised(record, revision)


def unpack_city(data: bytes) -> CityRecord:
    """The city's record from its bytes."""
    return unpack_revised(data, _city_decoder)


def view_city(data: bytes) -> "CityView":
    """The view of the city's record.

    Raises:
        RecordError: damaged bytes.
        LawError: the rule table breaks its form.
    """
    return CityView(unpack_city(data), revision_of(data))


class CityView:
    """The city in a validator's process: what `decide` needs, and who may run what.

    Attributes:
        revision: Revision of the record that it was made from.
        city: Rules and fares.
        rules: Version of the rule table, as records hold it.
        networks: Network by line.
        line_operators: Operators by line.
        vehicle_operator: Operator by vehicle.
        card_keys: Key of the city by key id.
    """

    def __init__(self, record: CityRecord, revision: int) -> None:
        self.revision = revision
        self.city: City = city_of(
            parse_rule_book(_law_mapping(record.law_json)), [_fare(fare) for fare in record.fares]
        )
        self.rules = to_digits(self.city.book.version)
        self.networks: dict[str, Network] = {line.code: NETWORKS[line.network] for line in record.lines}
        self.line_operators: dict[str, frozenset[str]] = {
            line.code: frozenset(line.operators) for line in record.lines
        }
        self.vehicle_operator: dict[str, str] = dict(record.vehicles)
        self.card_keys: dict[int, CardKeyRecord] = {key.key_id: key for key in record.card_keys}
        self._breakdowns: dict[str, list[BreakdownRecord]] = {}
        for breakdown in record.breakdowns:
            self._breakdowns.setdefault(breakdown.vehicle, []).append(breakdown)

    def broke_down(self, vehicle: str, boarded_at: datetime, at: datetime) -> bool:
        """Whether a vehicle was declared broken between a boarding and a later instant (Lei art. 48, VI)."""
        boarded, now = to_micros(boarded_at), to_micros(at)
        return any(
            b.from_micros <= now and (b.until_micros is None or b.until_micros > boarded)
            for b in self._breakdowns.get(vehicle, ())
        )


def law_json(mapping: dict[str, Any]) -> str:
    """A rule table's mapping as JSON; days are written `{"day": "AAAA-MM-DD"}`, so that they come back as days."""
    return json.dumps(
        mapping, default=lambda day: {"day": day.isoformat()}, ensure_ascii=False, separators=(",", ":")
    )


def _law_mapping(text: str) -> dict[str, Any]:
    def restore(mapping: dict[str, Any]) -> Any:
        return date.fromisoformat(mapping["day"]) if set(mapping) == {"day"} else mapping

    loaded: dict[str, Any] = json.loads(text, object_hook=restore)
    return loaded


def fare_record(fare: Fare) -> FareRecord:
    """A fare as a record."""
    return FareRecord(
        NETWORK_CODE[fare.network],
        fare.first_day.toordinal(),
        to_ordinal(fare.last_day),
        fare.cents,
        fare.line,
        None if fare.medium is None else fare.medium.value,
        fare.act,
    )


def _fare(record: FareRecord) -> Fare:
    first = from_ordinal(record.first)
    assert first is not None
    return Fare(
        NETWORKS[record.network],
        first,
        from_ordinal(record.last),
        Cents(record.cents),
        record.line,
        None if record.medium is None else FareMedium(record.medium),
        record.act,
    )
