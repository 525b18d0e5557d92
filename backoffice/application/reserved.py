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
