"""The frozen verdicts of a closing as rows, in the form that the database's driver takes fastest."""

from typing import Any

from backoffice.application.rate_month import MonthRide
from backoffice.persistence.bulk import Wire
from backoffice.persistence.claims import ClosingRow
from validator.domain.usage import Usage
from validator.records.packing import to_micros
from validator.records.usage import pack_usage


def verdict_values(closing: ClosingRow, rides: list[MonthRide], wire: Wire) -> list[tuple[Any, ...]]:
    """The row of each ride: values in the order of the columns of `rated_boardings`."""
    closing_id, month = closing.id, closing.month
    return [_rated_values(closing_id, month, ride, wire) for ride in rides]


def end_state_values(closing: ClosingRow, states: dict[str, Usage]) -> list[tuple[Any, ...]]:
    """The row of each holder's end state, in the order of the columns of `holder_end_states`."""
    return [(holder, closing.id, pack_usage(usage)) for holder, usage in sorted(states.items())]


def _rated_values(closing_id: int, month: str, ride: MonthRide, wire: Wire) -> tuple[Any, ...]:
    rated = ride.rated
    journalled, reason, category = rated.ride, rated.reason, rated.category
    tap, release = journalled.tap, journalled.release
    return (
        wire.as_id(bytes.fromhex(tap.boarding_id.replace("-", ""))),
        closing_id,
        month,
        ride.holder,
        ride.operator,
        journalled.device,
        journalled.epoch,
        journalled.device_seq,
        to_micros(tap.occurred_at) - wire.origin_micros,
        tap.line,
        tap.vehicle,
        rated.verdict._value_,
        None if reason is None else reason._value_,
        None if category is None else category._value_,
        None if release is None else release.ride_class._value_,
        None if rated.rule is None else rated.rule.id,
        ride.turnstile._value_,
        rated.fare_cents,
        rated.rider_cents,
        rated.city_cents,
        rated.operator_cents,
        rated.purse,
        rated.pass_number,
        rated.counts_cap,
        rated.personal,
        rated.took,
        reason is not None and reason.may_be_settled,
    )
