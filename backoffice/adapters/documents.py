"""CPF and CNPJ: reading what people type, checking the digits, and masking what is shown.

Kept as text in canonical form: 11 digits, or 14 characters of which a CNPJ may have letters since 2026
(IN RFB 2.229/2024). Zeros in front belong to the number.
"""

import re
import unicodedata

from validate_docbr import CNPJ, CPF

_CPF = CPF()
_CNPJ = CNPJ()
_MASK = re.compile(r"[\s./-]+", re.ASCII)
_CPF_FORM = re.compile(r"[0-9]{11}", re.ASCII)
_CNPJ_FORM = re.compile(r"[0-9A-Z]{12}[0-9]{2}", re.ASCII)


class DocumentError(ValueError):
    """A text that is no CPF or CNPJ; the message is Portuguese and does not repeat it."""


def read_cpf(text: str) -> str:
    """A CPF as 11 digits, from text with or without mask.

    Raises:
        DocumentError: another length, other characters, or wrong check digits.
    """
    plain = _plain(text)
    if not _CPF_FORM.fullmatch(plain):
        raise DocumentError("o CPF tem 11 algarismos; escreva-o com os zeros da frente, como 000.000.001-91")
    if not _CPF.validate(plain):
        raise DocumentError("os algarismos verificadores do CPF não conferem; confira com o documento")
    return plain


def read_cnpj(text: str) -> str:
    """A CNPJ as 14 characters in upper case, from text with or without mask.

    Raises:
        DocumentError: another length, other characters, or wrong check digits.
    """
    plain = _plain(text).upper()
    if not _CNPJ_FORM.fullmatch(plain):
        raise DocumentError(
            "o CNPJ tem 12 letras ou algarismos e 2 algarismos verificadores, como 12.ABC.345/01DE-35"
        )
    if not _CNPJ.validate(plain):
        raise DocumentError("os algarismos verificadores do CNPJ não conferem; confira com o documento")
    return plain


def masked_cpf(cpf: str) -> str:
    """A CPF for a screen: the middle six digits only, `***.345.678-**`."""
    return f"***.{cpf[3:6]}.{cpf[6:9]}-**"


def _plain(text: str) -> str:
    """The text without its mask; blanks are made plain; digits that are not ASCII are left, to be refused."""
    if any(sign.isalnum() and not sign.isascii() for sign in text):
        return text
    return _MASK.sub("", unicodedata.normalize("NFKC", text))
