"""What a device is told, in Portuguese or English: the class of a ride, never which right the rider has."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from validator.domain.reasons import Reason
from validator.domain.vocabulary import RideClass, class_of
from validator.records.codes import CATEGORIES, PURSES, TURNSTILES
from validator.records.journal import AnswerRecord
from validator.records.snapshot import DurableRecord

DISPLAY_WIDTH = 20
"""Characters of a validator's display."""

Range = Annotated[
    tuple[int, ...], Meta(min_length=2, max_length=2, description="First and last, both inclusive.")
]
AnnulOutcome = Literal["annulled", "refused", "recorded"]
RideClassName = Literal["FREE", "HALF", "PURSE", "FULL"]
PurseName = Literal["STUDENT", "STUDENT/INTERIOR", "PREPAID", "PREPAID/INTERIOR", "VT", "VT/INTERIOR"]
TurnstileName = Literal["TURN", "HOLD", "NOT_TURNED"]
ReasonName = Literal[
    "OK",
    "BOARDING_ID_CONFLICT",
    "TOKEN_INVALID",
    "CARD_UNKNOWN",
    "CARD_REPLACED",
    "CARD_BLOCKED",
    "LINE_UNKNOWN",
    "CLOCK_INVALID",
    "CATEGORY_NOT_KEYABLE",
    "RIGHT_NOT_STARTED",
    "RIGHT_ENDED",
    "RIGHT_SUSPENDED",
    "NOT_VALID_ON_LINE",
    "STUDENT_CAP_REACHED",
    "NO_PASSES",
    "PASSBACK",
    "INSUFFICIENT_TENDER",
    "CHANGE_ABOVE_LIMIT",
]


class ReasonAnswer(msgspec.Struct, frozen=True, gc=False):
    """Why: a number and a name that never change. `final`: the same tap can never be answered otherwise."""

    code: int
    name: ReasonName
    final: bool


class RemainingAnswer(msgspec.Struct, frozen=True, gc=False):
    """What is left after this boarding; null where the ride counts in no cap or uses no purse."""

    month_boardings: int | None
    passes: int | None


class BoardingAnswer(msgspec.Struct, frozen=True, gc=False):
    """The answer to a tap; amounts in centavos. `missing` lists ranges of sequences to send again, in a batch.

    `purse` names where the pass of the ride comes from, null where none is used. The release repeats it, so that the
    ride is known even where this answer is lost.
    """

    boarding_id: str
    outcome: Literal["accepted", "refused"]
    reason: ReasonAnswer
    fare_cents: int
    rider_cents: int
    change_cents: int
    turnstile: TurnstileName
    remaining: RemainingAnswer
    rules: str
    display: str
    message: str
    replayed: bool
    durable_seq: int
    missing: tuple[Range, ...]
    ride_class: RideClassName | None = field(default=None, name="class")
    purse: PurseName | None = None


class RecordedAnswer(msgspec.Struct, frozen=True, gc=False):
    """The tap is in the register already, and its answer is no longer kept; nothing changed."""

    boarding_id: str
    outcome: Literal["recorded"]
    display: str
    message: str
    replayed: bool
    durable_seq: int
    missing: tuple[Range, ...]


class AnnulAnswer(msgspec.Struct, frozen=True, gc=False):
    """Whether the boarding was annulled; a late attempt is recorded and refused."""

    boarding_id: str
    outcome: AnnulOutcome
    display: str
    message: str
    durable_seq: int
    missing: tuple[Range, ...]


REASONS = {
    reason.value: ReasonAnswer(reason.value, reason.name, reason.final)  # type: ignore[arg-type]
    for reason in Reason
}
_SENTENCES = {
    language: {reason.value: reason.sentence(language) for reason in Reason} for language in ("pt-BR", "en")
}
# As plain texts, since an enum's `value` is slow to ask for.
_TURNSTILES: tuple[TurnstileName, ...] = tuple(turnstile.value for turnstile in TURNSTILES)
_HALF = RideClass.HALF
_FULL_DISPLAY = Reason.OK.display
_PURSES: tuple[PurseName, ...] = PURSES  # type: ignore[assignment]
_CLASSES: dict[RideClass, RideClassName] = {ride_class: ride_class.value for ride_class in RideClass}
_RECORDED = {
    "pt-BR": "Este embarque já está registrado; nada mudou.",
    "en": "This boarding is recorded already; nothing changed.",
}


def boarding_answer(
    boarding_id: str, answer: AnswerRecord, durable: DurableRecord, *, replayed: bool, language: str
) -> BoardingAnswer:
    """The answer to a tap, as the device gets it."""
    category = None if answer.category is None else CATEGORIES[answer.category]
    ride_class = None if category is None else class_of(category)
    return BoardingAnswer(
        boarding_id,
        "accepted" if answer.reason == 0 else "refused",
        REASONS[answer.reason],
        answer.fare_cents,
        answer.rider_cents,
        answer.change_cents,
        _TURNSTILES[answer.turnstile],
        RemainingAnswer(answer.month_boardings, answer.passes),
        answer.rules_version,
        display_of(answer, ride_class),
        _SENTENCES[language][answer.reason],
        replayed,
        durable.durable_seq,
        durable.missing,
        None if ride_class is None else _CLASSES[ride_class],
        None if answer.purse is None else _PURSES[answer.purse],
    )


def recorded_answer(boarding_id: str, durable: DurableRecord, language: str) -> RecordedAnswer:
    """The answer to a tap that is durable and whose answer is gone."""
    return RecordedAnswer(
        boarding_id,
        "recorded",
        "JÁ REGISTRADO",
        _RECORDED[language],
        True,
        durable.durable_seq,
        durable.missing,
    )


_ANNULMENTS: dict[str, tuple[str, dict[str, str]]] = {
    "annulled": (
        "ANULADO",
        {"pt-BR": "Embarque anulado; nada foi consumido.", "en": "Boarding annulled; nothing was consumed."},
    ),
    "refused": (
        "NÃO ANULADO",
        {
            "pt-BR": "O embarque não pode mais ser anulado por este validador; a tentativa ficou registrada.",
            "en": "This device can no longer annul this boarding; the attempt was recorded.",
        },
    ),
    "recorded": (
        "JÁ REGISTRADO",
        {"pt-BR": "Esta anulação já está registrada.", "en": "This annulment is recorded already."},
    ),
}


def annul_answer(
    boarding_id: str,
    outcome: AnnulOutcome,
    durable: DurableRecord,
    language: str,
) -> AnnulAnswer:
    """The answer to an annulment."""
    display, messages = _ANNULMENTS[outcome]
    return AnnulAnswer(
        boarding_id, outcome, display, messages[language], durable.durable_seq, durable.missing
    )


def display_of(answer: AnswerRecord, ride_class: RideClass | None) -> str:
    """What a validator's display shows, in Portuguese, in at most 20 characters."""
    if ride_class is None:
        return Reason(answer.reason).display
    if ride_class is _HALF and answer.month_boardings is not None:
        return f"MEIA {answer.month_boardings} RESTAM"
    if answer.passes is not None:
        word = "MEIA" if ride_class is _HALF else "PASSE"
        text = f"{word} {answer.passes} RESTAM"
        return text if len(text) <= DISPLAY_WIDTH else word
    if answer.change_cents:
        text = f"TROCO R$ {answer.change_cents // 100},{answer.change_cents % 100:02}"
        return text if len(text) <= DISPLAY_WIDTH else "TROCO"
    return _FULL_DISPLAY
