"""Why a ride is not billed: a closed list in order of precedence, each with the sentence that a claim prints."""

from collections.abc import Iterable
from enum import StrEnum

from validator.domain.reasons import Reason


class ExclusionReason(StrEnum):
    """Why rating excludes a boarding. Of several reasons the one that stands first is named.

    The first group says that there was no ride, or that nobody knows when; the second that its card was not good; the
    third is the law; the last waits for a person or for the device, after which the ride may still be billed.
    """

    DUPLICATE = "DUPLICATE"
    ANNULLED = "ANNULLED"
    CLOCK_INVALID = "CLOCK_INVALID"
    DEVICE_REVOKED = "DEVICE_REVOKED"

    TOKEN_INVALID = "TOKEN_INVALID"
    CARD_UNKNOWN = "CARD_UNKNOWN"
    CARD_REPLACED = "CARD_REPLACED"
    CARD_BLOCKED = "CARD_BLOCKED"

    CATEGORY_NOT_KEYABLE = "CATEGORY_NOT_KEYABLE"
    RIGHT_NOT_STARTED = "RIGHT_NOT_STARTED"
    RIGHT_ENDED = "RIGHT_ENDED"
    RIGHT_SUSPENDED = "RIGHT_SUSPENDED"
    NO_RIGHT = "NO_RIGHT"
    NOT_VALID_ON_LINE = "NOT_VALID_ON_LINE"
    OVER_CAP = "OVER_CAP"
    NO_PASSES = "NO_PASSES"
    PASSBACK = "PASSBACK"
    INSUFFICIENT_TENDER = "INSUFFICIENT_TENDER"
    CHANGE_ABOVE_LIMIT = "CHANGE_ABOVE_LIMIT"

    LINE_UNSETTLED = "LINE_UNSETTLED"
    LINE_UNKNOWN = "LINE_UNKNOWN"
    VEHICLE_UNSETTLED = "VEHICLE_UNSETTLED"
    NO_RELEASE = "NO_RELEASE"
    NOT_COVERED = "NOT_COVERED"

    @property
    def sentence(self) -> str:
        """The Portuguese sentence for a claim."""
        return _SENTENCES[self]

    @property
    def may_be_settled(self) -> bool:
        """Whether a person, or the device's own journal, may still turn the ride into a billable one."""
        return self in _SETTLED_LATER


_SENTENCES = {
    ExclusionReason.DUPLICATE: "Segundo registro do mesmo embarque; vale o primeiro.",
    ExclusionReason.ANNULLED: "Embarque anulado: a catraca não girou.",
    ExclusionReason.CLOCK_INVALID: "Relógio do validador fora do limite; aguarda datação por uma pessoa.",
    ExclusionReason.DEVICE_REVOKED: "Enviado por validador revogado.",
    ExclusionReason.TOKEN_INVALID: "O código do cartão não é autêntico.",
    ExclusionReason.CARD_UNKNOWN: "O cartão não está no cadastro.",
    ExclusionReason.CARD_REPLACED: "O cartão já tinha sido substituído por outra via.",
    ExclusionReason.CARD_BLOCKED: "O cartão já estava bloqueado.",
    ExclusionReason.CATEGORY_NOT_KEYABLE: "A categoria não pode ser liberada pela tecla do motorista.",
    ExclusionReason.RIGHT_NOT_STARTED: "O direito ainda não tinha começado.",
    ExclusionReason.RIGHT_ENDED: "O direito já tinha terminado.",
    ExclusionReason.RIGHT_SUSPENDED: "O direito estava suspenso.",
    ExclusionReason.NO_RIGHT: "Liberado como gratuito, sem direito cadastrado.",
    ExclusionReason.NOT_VALID_ON_LINE: "O passe não vale na linha (passe escolar só em linha urbana).",
    ExclusionReason.OVER_CAP: "Acima do limite mensal de embarques com meia passagem da pessoa.",
    ExclusionReason.NO_PASSES: "Sem passes comprados na data do embarque.",
    ExclusionReason.PASSBACK: "Segundo uso do direito pessoal no mesmo veículo em poucos minutos.",
    ExclusionReason.INSUFFICIENT_TENDER: "O valor entregue era menor que a tarifa.",
    ExclusionReason.CHANGE_ABOVE_LIMIT: "O troco passava de dez vezes a tarifa.",
    ExclusionReason.LINE_UNSETTLED: "Linha desconhecida ou de outra operadora; aguarda decisão.",
    ExclusionReason.LINE_UNKNOWN: "Linha desconhecida na data do embarque.",
    ExclusionReason.VEHICLE_UNSETTLED: "Veículo desconhecido ou de outra operadora; aguarda decisão.",
    ExclusionReason.NO_RELEASE: "O diário do validador ainda não diz se o passageiro foi liberado.",
    ExclusionReason.NOT_COVERED: "Ainda não coberto por fecho assinado do diário do validador.",
}

_SETTLED_LATER = frozenset(
    {
        ExclusionReason.CLOCK_INVALID,
        ExclusionReason.DEVICE_REVOKED,
        ExclusionReason.LINE_UNSETTLED,
        ExclusionReason.LINE_UNKNOWN,
        ExclusionReason.VEHICLE_UNSETTLED,
        ExclusionReason.NO_RELEASE,
        ExclusionReason.NOT_COVERED,
    }
)

_RANK = {reason: rank for rank, reason in enumerate(ExclusionReason)}


def first_named(reasons: Iterable[ExclusionReason | None]) -> ExclusionReason | None:
    """Of several reasons, the one that is named; None for none."""
    given = [reason for reason in reasons if reason is not None]
    if len(given) < 2:
        return given[0] if given else None
    return min(given, key=_RANK.__getitem__)


def exclusion_of(refusal: Reason) -> ExclusionReason:
    """What a refusal by `decide` is called in a claim."""
    if refusal is Reason.STUDENT_CAP_REACHED:
        return ExclusionReason.OVER_CAP
    return ExclusionReason(refusal.name)
