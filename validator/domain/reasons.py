"""Why a tap was answered as it was: a closed list in order of precedence, numbers never reused."""

from enum import IntEnum


class Reason(IntEnum):
    """The reason of a decision; the number is the wire's code."""

    OK = 0
    BOARDING_ID_CONFLICT = 1
    TOKEN_INVALID = 2
    CARD_UNKNOWN = 3
    CARD_REPLACED = 4
    CARD_BLOCKED = 5
    LINE_UNKNOWN = 6
    CLOCK_INVALID = 7
    CATEGORY_NOT_KEYABLE = 8
    RIGHT_NOT_STARTED = 9
    RIGHT_ENDED = 10
    RIGHT_SUSPENDED = 11
    NOT_VALID_ON_LINE = 12
    STUDENT_CAP_REACHED = 13
    NO_PASSES = 14
    PASSBACK = 15
    INSUFFICIENT_TENDER = 16
    CHANGE_ABOVE_LIMIT = 17

    @property
    def final(self) -> bool:
        """True where the same tap can never be answered otherwise; False where a later tap of the rider may."""
        return self not in _RETRY_MAY_DIFFER

    @property
    def display(self) -> str:
        """The Portuguese text for a validator's display, at most 20 characters."""
        return _TEXTS[self][0]

    def sentence(self, language: str = "pt-BR") -> str:
        """The sentence for the desk, in Portuguese, or in English for `en`."""
        return _TEXTS[self][2 if language.startswith("en") else 1]


_RETRY_MAY_DIFFER = frozenset(
    {
        Reason.LINE_UNKNOWN,
        Reason.CLOCK_INVALID,
        Reason.RIGHT_NOT_STARTED,
        Reason.RIGHT_SUSPENDED,
        Reason.NOT_VALID_ON_LINE,
        Reason.STUDENT_CAP_REACHED,
        Reason.NO_PASSES,
        Reason.PASSBACK,
        Reason.INSUFFICIENT_TENDER,
        Reason.CHANGE_ABOVE_LIMIT,
    }
)

_TEXTS: dict[Reason, tuple[str, str, str]] = {
    Reason.OK: ("LIBERADO", "Embarque liberado.", "Boarding accepted."),
    Reason.BOARDING_ID_CONFLICT: (
        "REPETIR LEITURA",
        "Este identificador de embarque já foi usado com outros dados; vale o primeiro.",
        "This boarding id was already used with other data; the first one stands.",
    ),
    Reason.TOKEN_INVALID: (
        "CARTÃO INVÁLIDO",
        "O código do cartão não é autêntico ou está ilegível.",
        "The card's token is not authentic or cannot be read.",
    ),
    Reason.CARD_UNKNOWN: (
        "CARTÃO DESCONHECIDO",
        "Cartão não encontrado no cadastro.",
        "The card is not in the register.",
    ),
    Reason.CARD_REPLACED: (
        "CARTÃO SUBSTITUÍDO",
        "Este cartão foi substituído por uma segunda via.",
        "This card was replaced by a newer issue.",
    ),
    Reason.CARD_BLOCKED: (
        "CARTÃO BLOQUEADO",
        "Este cartão está bloqueado; procure o posto de atendimento.",
        "This card is blocked; please go to the service desk.",
    ),
    Reason.LINE_UNKNOWN: (
        "LINHA DESCONHECIDA",
        "A linha informada pelo validador não está cadastrada.",
        "The line sent by the validator is not in the register.",
    ),
    Reason.CLOCK_INVALID: (
        "RELÓGIO INVÁLIDO",
        "A hora do validador está fora do limite aceito; o embarque será datado por uma pessoa.",
        "The validator's clock is out of bounds; a person will date this boarding.",
    ),
    Reason.CATEGORY_NOT_KEYABLE: (
        "TECLA NÃO PERMITIDA",
        "O motorista não pode liberar esta categoria pela tecla; é preciso o cartão.",
        "The driver cannot key this category; a card is needed.",
    ),
    Reason.RIGHT_NOT_STARTED: (
        "DIREITO NÃO INICIADO",
        "O direito deste titular ainda não começou.",
        "This holder's right has not started yet.",
    ),
    Reason.RIGHT_ENDED: (
        "DIREITO ENCERRADO",
        "O direito deste titular terminou; procure o posto para renovar.",
        "This holder's right has ended; please renew it at the desk.",
    ),
    Reason.RIGHT_SUSPENDED: (
        "DIREITO SUSPENSO",
        "O direito deste titular está suspenso nesta data.",
        "This holder's right is suspended on this day.",
    ),
    Reason.NOT_VALID_ON_LINE: (
        "NÃO VALE NESTA LINHA",
        "Este passe não vale nesta linha (passe escolar só em linha urbana).",
        "This pass is not valid on this line (student passes are for urban lines only).",
    ),
    Reason.STUDENT_CAP_REACHED: (
        "LIMITE DO MÊS",
        "O limite mensal de embarques com meia passagem foi atingido; a passagem inteira continua disponível.",
        "The monthly limit of half-fare boardings was reached; the full fare remains available.",
    ),
    Reason.NO_PASSES: (
        "SEM PASSES",
        "Não há passes para este embarque; a passagem inteira continua disponível.",
        "There is no pass for this boarding; the full fare remains available.",
    ),
    Reason.PASSBACK: (
        "JÁ USADO AGORA",
        "Este direito pessoal acabou de ser usado neste veículo.",
        "This personal right was used on this vehicle a moment ago.",
    ),
    Reason.INSUFFICIENT_TENDER: (
        "VALOR INSUFICIENTE",
        "O valor entregue é menor que a tarifa.",
        "The amount tendered is less than the fare.",
    ),
    Reason.CHANGE_ABOVE_LIMIT: (
        "TROCO MUITO ALTO",
        "O troco passa de dez vezes a tarifa; o motorista pode pedir valor menor (Decreto 1.827, art. 72).",
        "The change is more than ten fares; the driver may ask for a smaller amount (Decreto 1.827, art. 72).",
    ),
}
