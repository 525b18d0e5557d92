"""What the design reserves and this version has not: each call says so and what to do meanwhile."""

from typing import NoReturn

from backoffice.application.errors import NotBuilt


def refuse_merge() -> NoReturn:
    """Merging of two records of one person.

    Raises:
        NotBuilt: always.
    """
    raise NotBuilt(
        "a união de dois cadastros ainda não existe; encerre os direitos e bloqueie os cartões de um deles",
        "merging of holders is not there yet; end the rights and block the cards of one of them",
    )


def refuse_refund() -> NoReturn:
    """Refund of unused passes.

    Raises:
        NotBuilt: always.
    """
    raise NotBuilt(
        "a devolução de passes ainda não existe; passes não vencem e continuam valendo",
        "refunds are not there yet; passes never expire and stay valid",
    )


_STEP_WORDS = {"send": "a entrega", "attest": "o ateste", "cut": "a glosa", "pay": "o pagamento"}


def refuse_step(step: str) -> NoReturn:
    """Steps of a claim after its closing: sending, attesting, cutting, paying.

    Raises:
        NotBuilt: always.
    """
    raise NotBuilt(
        f"{_STEP_WORDS[step]} da fatura ainda não se registra aqui: ela fica fechada; entregue os arquivos exportados "
        "e registre ateste, glosa e pagamento no processo da prefeitura",
        f"the step {step} of a claim is not there yet: it stays closed; hand over the exported files",
    )


def refuse_closing_by_http() -> NoReturn:
    """Closing of a month over HTTP.

    Raises:
        NotBuilt: always.
    """
    raise NotBuilt(
        "o fechamento por HTTP ainda não existe; use o comando: catraca claim close AAAA-MM",
        "closing over HTTP is not there yet; use the command catraca claim close AAAA-MM",
    )
