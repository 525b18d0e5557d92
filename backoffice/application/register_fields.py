"""Texts that people type into the register: trimmed, of sensible length, without control characters."""

import re
import unicodedata
from datetime import date

from backoffice.adapters.documents import DocumentError, read_cnpj, read_cpf
from backoffice.application.errors import Invalid
from validator.records.chip_uid import is_uid, plain_uid

_CODE = re.compile(r"[a-z0-9-]{1,32}", re.ASCII)
_INEP = re.compile(r"[0-9]{8}", re.ASCII)
_PLATE = re.compile(r"[A-Z]{3}[0-9][0-9A-Z][0-9]{2}", re.ASCII)
FIRST_YEAR = 1900
LAST_YEAR = 2200
"""Years that a day or an instant of the register may have; any other is a slip of the finger."""


def text_of(value: str, field: str, longest: int = 200) -> str:
    """A text that must be there, with single blanks and composed letters.

    Raises:
        Invalid: empty, too long, or with control characters.
    """
    plain = " ".join(unicodedata.normalize("NFC", value).split())
    if not plain:
        raise Invalid(f"{field}: preencha o campo", f"{field}: is missing")
    if len(plain) > longest:
        raise Invalid(f"{field}: no máximo {longest} caracteres", f"{field}: at most {longest} characters")
    if any(unicodedata.category(sign).startswith("C") for sign in plain):
        raise Invalid(
            f"{field}: contém caracteres de controle; digite o texto de novo",
            f"{field}: holds control characters",
        )
    return plain


def search_name(name: str) -> str:
    """A name without accents and capitals: `JOÃO` and `João` are found by `joao`."""
    letters = (sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign))
    return "".join(letters).casefold()[:400]


def optional_text(value: str | None, field: str, longest: int = 200) -> str | None:
    """A text, or None for none or an empty one.

    Raises:
        Invalid: see `text_of`.
    """
    return None if value is None or not value.strip() else text_of(value, field, longest)


def code_of(value: str, field: str) -> str:
    """A code of an operator, a device or a user: lower-case letters, digits and hyphens.

    Raises:
        Invalid: anything else.
    """
    if not _CODE.fullmatch(value):
        raise Invalid(
            f"{field}: use de 1 a 32 letras minúsculas sem acento, algarismos ou hífens",
            f"{field}: 1 to 32 of a-z, 0-9 and hyphen",
        )
    return value


def printable_code(value: str, field: str, longest: int = 64) -> str:
    """A code of a line, vehicle or trip: what a device may send, without blanks at its ends.

    Raises:
        Invalid: empty, too long, or not printable.
    """
    if not value or len(value) > longest or not value.isprintable() or value != value.strip():
        raise Invalid(
            f"{field}: de 1 a {longest} caracteres imprimíveis, sem espaços nas pontas",
            f"{field}: 1 to {longest} printable characters without blanks at the ends",
        )
    return value


def cpf_of(value: str | None, field: str = "cpf") -> str | None:
    """An own or a guardian's CPF as 11 digits; None for none.

    Raises:
        Invalid: no CPF; the message does not repeat it.
    """
    if value is None or not value.strip():
        return None
    try:
        return read_cpf(value)
    except DocumentError as error:
        raise Invalid(
            f"{field}: {error}", f"{field}: is no CPF: 11 digits with its zeros and right check digits"
        ) from error


def cnpj_of(value: str, field: str = "document") -> str:
    """A CNPJ as 14 characters.

    Raises:
        Invalid: no CNPJ; the message does not repeat it.
    """
    try:
        return read_cnpj(value)
    except DocumentError as error:
        raise Invalid(
            f"{field}: {error}", f"{field}: is no CNPJ: 14 characters with right check digits"
        ) from error


def inep_of(value: str | None) -> str | None:
    """An INEP code as 8 digits; None for none.

    Raises:
        Invalid: anything else.
    """
    if value is None or not value.strip():
        return None
    if not _INEP.fullmatch(value.strip()):
        raise Invalid("inep: o código INEP tem 8 algarismos", "inep: eight digits")
    return value.strip()


def plate_of(value: str | None) -> str | None:
    """A number plate, old or Mercosul, without hyphen; None for none.

    Raises:
        Invalid: anything else.
    """
    if value is None or not value.strip():
        return None
    plain = value.strip().upper().replace("-", "").replace(" ", "")
    if not _PLATE.fullmatch(plain):
        raise Invalid("plate: a placa é como ABC1D23 ou ABC1234", "plate: such as ABC1D23 or ABC1234")
    return plain


def uid_of(value: str) -> str:
    """A chip's uid as it stands on the wire; small letters and `:`, `-` or blanks between its bytes are taken.

    Raises:
        Invalid: not 4, 7 or 10 bytes, or a random one, which is another at each tap.
    """
    plain = plain_uid(value)
    if not is_uid(plain):
        raise Invalid(
            "uid: leia o chip de novo; são 8, 14 ou 20 dígitos hexadecimais (4, 7 ou 10 bytes), como 04A2B3C4D5E680",
            "uid: 8, 14 or 20 hexadecimal digits (4, 7 or 10 bytes), such as 04A2B3C4D5E680",
        )
    if len(plain) == 8 and plain.startswith("08"):
        raise Invalid(
            "uid: este chip inventa outro uid a cada leitura (celular ou relógio); use um cartão ou chaveiro",
            "uid: this chip makes up another uid at each reading (a telephone or watch); use a card or key ring",
        )
    return plain


def day_of(value: date, field: str) -> date:
    """A civil day of a sensible year.

    Raises:
        Invalid: before 1900 or after 2200, which is a slip of the finger.
    """
    if not FIRST_YEAR <= value.year <= LAST_YEAR:
        raise Invalid(
            f"{field}: o ano {value.year} está errado; confira a data", f"{field}: year {value.year} is wrong"
        )
    return value


def seen_day_of(value: date, field: str, today: date) -> date:
    """The civil day on which somebody saw a document.

    Raises:
        Invalid: it lies ahead, or before 1900.
    """
    if day_of(value, field) > today:
        raise Invalid(
            f"{field}: o dia {value:%d/%m/%Y} ainda não chegou", f"{field}: {value} is still to come"
        )
    return value
