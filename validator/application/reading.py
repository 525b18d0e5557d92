"""What a device sent, read strictly: exact types, no unknown field, no key twice, nothing that SQL cannot keep."""

import json
import re
from typing import Any, TypeVar
from unicodedata import normalize
from uuid import UUID

import msgspec

from validator.application.errors import Malformed
from validator.application.instants import not_an_instant, read_instant
from validator.domain.vocabulary import Category
from validator.records.chip_uid import is_uid
from validator.records.device_messages import (
    MAX_TAP_BYTES,
    AnnulMessage,
    BatchMessage,
    DocumentMedium,
    KeyMedium,
    ReleaseMessage,
    TapMessage,
    UidMedium,
)

T = TypeVar("T")

_tap = msgspec.json.Decoder(TapMessage)
_release = msgspec.json.Decoder(ReleaseMessage)
_annul = msgspec.json.Decoder(AnnulMessage)
_batch = msgspec.json.Decoder(BatchMessage)


class _Envelope(msgspec.Struct):
    """A batch whose entries are not read."""

    entries: msgspec.Raw


_envelope = msgspec.json.Decoder(_Envelope)

_QUOTED = {name: f'"{name}"' for name in ("medium", "released")}
_BACKSLASH = ord("\\")  # as a number, since to look for bytes of length one takes five times as long
_KEYABLE_WORDS = frozenset(Category)
_DOCUMENT = re.compile(r"[^\W\d_]+(?:[ /-][^\W\d_]+)*")
_PATH = re.compile(r" - at `(?P<path>[^`]*)`$")

_PHRASES = (
    (re.compile(r"Object contains unknown field `(.*)`"), "o campo `{}` não existe nesta mensagem; retire-o"),
    (re.compile(r"Object missing required field `(.*)`"), "falta o campo obrigatório `{}`"),
    (re.compile(r"Expected `(.*)`, got `(.*)`"), "esperado `{}`, recebido `{}`"),
    (re.compile(r"Expected `(.*)` (<=|>=) (.*)"), "esperado `{}` {} {}"),
    (re.compile(r"Expected `(.*)` of length (<=|>=) (.*)"), "esperado `{}` de tamanho {} {}"),
    (re.compile(r"Invalid value '(.*)'"), "o valor '{}' não é um dos aceitos"),
    (re.compile(r"Invalid enum value '(.*)'"), "o valor '{}' não é um dos aceitos"),
)


def read_tap(raw: bytes) -> TapMessage:
    """Read a tap.

    Raises:
        Malformed: it breaks the form; the message says what to send instead.
    """
    message = _decode(_tap, raw)
    medium = message.medium
    if raw.count(b":") != _colons_of_tap(message) or _BACKSLASH in raw:
        refuse_double_keys(raw)  # the count is a cheap way to know that there are none
    if not (message.line.isprintable() and message.vehicle.isprintable()):
        _refuse_unprintable("line" if message.vehicle.isprintable() else "vehicle")
    if message.trip is not None and not message.trip.isprintable():
        _refuse_unprintable("trip")
    if type(medium) is KeyMedium or type(medium) is DocumentMedium:
        _check_keyed(medium)
    elif type(medium) is UidMedium and not is_uid(medium.uid):
        raise Malformed(
            "medium.uid",
            "Envie o uid do chip em hexadecimal maiúsculo, com 4, 7 ou 10 bytes, como 04A2B3C4D5E680.",
            "Send the chip's uid in upper-case hexadecimal, 4, 7 or 10 bytes, such as 04A2B3C4D5E680.",
        )
    return message


def _colons_of_tap(message: TapMessage) -> int:
    """How many colons a tap without double keys, nulls or escapes has: one for each key, and those inside texts."""
    colons = 9 + message.occurred_at.count(":") + message.line.count(":") + message.vehicle.count(":")
    if message.trip is not None:
        colons += 1 + message.trip.count(":")
    if message.continues is not None:
        colons += 1
    return colons + 1 if type(message.medium) is DocumentMedium else colons


def _check_keyed(medium: KeyMedium | DocumentMedium) -> None:
    if medium.category not in _KEYABLE_WORDS:
        words = ", ".join(category.value for category in Category)
        raise Malformed(
            "medium.category",
            f"Envie uma das categorias: {words}.",
            f"Send one of the categories: {words}.",
        )
    if type(medium) is DocumentMedium and _DOCUMENT.fullmatch(normalize("NFC", medium.document)) is None:
        raise Malformed(
            "medium.document",
            "Envie só o tipo do documento, como RG; nunca o seu número.",
            "Send only the kind of document, such as RG; never its number.",
        )


def read_release(raw: bytes) -> ReleaseMessage:
    """Read a release.

    Raises:
        Malformed: it breaks the form.
    """
    message = _decode(_release, raw)
    refuse_double_keys(raw)
    return message


def read_annul(raw: bytes) -> AnnulMessage:
    """Read an annulment.

    Raises:
        Malformed: it breaks the form.
    """
    message = _decode(_annul, raw)
    refuse_double_keys(raw)
    read_instant(message.occurred_at, "occurred_at")
    return message


def read_batch(raw: bytes) -> BatchMessage:
    """Read a batch; its entries stay texts.

    Raises:
        Malformed: it breaks the form.
    """
    message = _decode(_batch, raw)
    entries: bytes = _decode(_envelope, raw).entries
    refuse_double_keys(raw.replace(entries, b"[]", 1))  # texts have no keys, and are nearly all of it
    for name in ("head", "signature"):
        if re.fullmatch(r"[0-9a-f]+", getattr(message, name)) is None:
            raise Malformed(
                name, "Envie dígitos hexadecimais minúsculos.", "Send lower-case hexadecimal digits."
            )
    return message


def read_entry(text: str, raw: bytes) -> TapMessage | ReleaseMessage | AnnulMessage:
    """Read one entry of a batch; its kind shows by the field that only this kind has.

    Args:
        text: The entry.
        raw: The same as bytes, which whoever asks has made for its digest.

    Raises:
        Malformed: it is none of the three, or breaks its form.
    """
    if len(raw) > MAX_TAP_BYTES:
        raise Malformed(
            "$",
            f"A entrada tem {len(raw)} bytes; o limite é {MAX_TAP_BYTES}.",
            f"The entry has {len(raw)} bytes; the limit is {MAX_TAP_BYTES}.",
        )
    if _has_field(text, "medium"):
        return read_tap(raw)
    return read_release(raw) if _has_field(text, "released") else read_annul(raw)


def _has_field(text: str, name: str) -> bool:
    """Whether an entry seems to have a field. A name with escapes is the same name, as on the single route."""
    if "\\" not in text:
        return _QUOTED[name] in text
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and name in entry


def read_boarding_id(text: str, field: str = "boarding_id") -> UUID:
    """Read a boarding id: a UUID with its hyphens.

    Raises:
        Malformed: anything else.
    """
    return UUID(bytes=read_boarding_bytes(text, field))


def read_boarding_bytes(text: str, field: str = "boarding_id") -> bytes:
    """Read a boarding id as its 16 bytes.

    Raises:
        Malformed: anything but a UUID with its hyphens.
    """
    if len(text) == 36 and text[8] == text[13] == text[18] == text[23] == "-":
        try:
            raw = bytes.fromhex(text.replace("-", ""))
        except ValueError:
            raw = b""
        if len(raw) == 16:
            return raw
    raise Malformed(
        field,
        "Envie um UUID com hífens, como 0193c0de-7b0a-7000-8000-000000000001.",
        "Send a UUID with hyphens, such as 0193c0de-7b0a-7000-8000-000000000001.",
    )


def refuse_double_keys(raw: bytes) -> None:
    """Refuse a JSON text in which an object has a key twice: readers differ in which one they believe.

    Raises:
        Malformed: names the key.
    """

    def check(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        seen = dict(pairs)
        if len(seen) != len(pairs):
            names = [name for name, _ in pairs]
            double = next(name for name in names if names.count(name) > 1)
            raise Malformed(
                double[:64],
                f"A chave `{double[:64]}` aparece duas vezes; envie cada chave uma só vez.",
                f"The key `{double[:64]}` appears twice; send every key once.",
            )
        return seen

    json.loads(raw, object_pairs_hook=check)


def _decode(decoder: msgspec.json.Decoder[T], raw: bytes) -> T:
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise _translated(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(
            "$",
            "O corpo não é um texto JSON em UTF-8. Envie um objeto JSON, sem marca de ordem de bytes.",
            f"The body is not JSON in UTF-8 ({error}). Send a JSON object, without a byte order mark.",
        ) from error
    except RecursionError:
        raise Malformed(
            "$", "O JSON tem objetos demais um dentro do outro.", "The JSON is nested too deeply."
        ) from None


def _translated(text: str) -> Malformed:
    path = _PATH.search(text)
    what = text if path is None else text[: path.start()]
    field = "$" if path is None else path["path"].removeprefix("$.")
    if field == "occurred_at":
        return not_an_instant(field)
    for pattern, phrase in _PHRASES:
        match = pattern.fullmatch(what)
        if match is not None:
            return Malformed(
                field, f"Em `{field}`: {phrase.format(*match.groups())}.", f"At `{field}`: {what}."
            )
    return Malformed(field, f"Em `{field}`: {what}.", f"At `{field}`: {what}.")


def _refuse_unprintable(field: str) -> None:
    raise Malformed(
        field,
        "Envie só caracteres imprimíveis, sem quebras nem caracteres de controle.",
        "Send printable characters only, without line breaks or control characters.",
    )
