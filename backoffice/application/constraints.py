"""What the database refused, as a sentence: two desks may pass every check at once, and then a constraint decides."""

from sqlalchemy.exc import IntegrityError

from backoffice.application.errors import Conflict

_SENTENCES = (
    (("uq_persons_cpf", "persons.cpf"), "este CPF já é de outro titular; abra o cadastro dele", "CPF_TAKEN"),
    (("uq_lines_code", "lines.code"), "já há uma linha com este código", "CONFLICT"),
    (("uq_operators_code", "operators.code"), "já há um operador com este código", "CONFLICT"),
    (("uq_operators_document", "operators.document"), "este documento já é de outro operador", "CONFLICT"),
    (("pk_devices", "devices.id"), "já há um validador com este código", "CONFLICT"),
    (("uq_users_login", "users.login"), "já há um usuário com este login", "CONFLICT"),
    (("uq_schools_inep", "schools.inep"), "este código INEP já é de outra escola", "CONFLICT"),
    (("uq_acts_kind_number_signed_on", "acts.kind"), "este ato já está registrado", "CONFLICT"),
    (("uq_sales_request_id", "sales.request_id"), "este número de pedido já foi usado", "CONFLICT"),
    (
        ("uq_card_uids_uid_turn", "card_uids.uid"),
        "outro posto vinculou este chip agora; consulte o cartão e tente de novo",
        "CONFLICT",
    ),
    (("pk_right_decisions", "right_decisions.request_id"), "este pedido já foi decidido", "CONFLICT"),
)


def conflict_of(error: IntegrityError) -> Conflict:
    """The conflict that a violated constraint stands for; the database's own text may hold personal data."""
    said = str(error.orig)
    for names, sentence, code in _SENTENCES:
        if any(name in said for name in names):
            return Conflict(sentence, f"another change came first: {names[0]}", code=code)
    return Conflict(
        "o registro contradiz outro, ou cita um que não existe; confira os números e tente de novo",
        "it contradicts another record, or cites one that does not exist",
    )
