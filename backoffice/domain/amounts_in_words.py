"""Amounts in words (por extenso), as a claim prints its total: 123456 is
mil duzentos e trinta e quatro reais e cinquenta e seis centavos."""

from validator.domain.money import Cents

LARGEST = Cents(99_999_999_999_999)
"""The largest amount that has words here: below a trillion reais."""

_SMALL = (
    "zero", "um", "dois", "três", "quatro", "cinco", "seis", "sete", "oito", "nove",
    "dez", "onze", "doze", "treze", "catorze", "quinze", "dezesseis", "dezessete", "dezoito", "dezenove",
)  # fmt: skip
_TENS = (
    "", "", "vinte", "trinta", "quarenta", "cinquenta", "sessenta", "setenta", "oitenta", "noventa",
)  # fmt: skip
_HUNDREDS = (
    "", "cento", "duzentos", "trezentos", "quatrocentos", "quinhentos",
    "seiscentos", "setecentos", "oitocentos", "novecentos",
)  # fmt: skip
_GROUPS = (
    (1_000_000_000, "bilhão", "bilhões"),
    (1_000_000, "milhão", "milhões"),
)


def in_words(amount: Cents) -> str:
    """An amount of reais in Portuguese words; below zero it begins with `menos`.

    Raises:
        ValueError: the amount is beyond a trillion reais.
    """
    if abs(amount) > LARGEST:
        raise ValueError(f"{amount} centavos has no words here; the largest amount is {LARGEST}")
    if amount < 0:
        return f"menos {in_words(Cents(-amount))}"
    reais, cents = divmod(amount, 100)
    parts = []
    if reais or not cents:
        of = "de " if reais and reais % 1_000_000 == 0 else ""
        parts.append(f"{_number(reais)} {of}{'real' if reais == 1 else 'reais'}")
    if cents:
        parts.append(f"{_number(cents)} {'centavo' if cents == 1 else 'centavos'}")
    return " e ".join(parts)


def figures(amount: Cents) -> str:
    """An amount in figures: `R$ 1.234,56`."""
    return f"{'-' if amount < 0 else ''}R$ {decimal_comma(Cents(abs(amount)), grouped=True)}"


def decimal_comma(amount: Cents, *, grouped: bool = False) -> str:
    """An amount as `1234,56`, or grouped as `1.234,56`; below zero with a minus sign."""
    reais, cents = divmod(abs(amount), 100)
    whole = f"{reais:,}".replace(",", ".") if grouped else str(reais)
    return f"{'-' if amount < 0 else ''}{whole},{cents:02}"


def _number(number: int) -> str:
    """A whole number below a trillion."""
    if number < 1000:
        return _below_thousand(number)
    spoken: list[tuple[str, int]] = []
    rest = number
    for size, one, many in _GROUPS:
        count, rest = divmod(rest, size)
        if count:
            spoken.append((f"{_below_thousand(count)} {one if count == 1 else many}", count))
    thousands, units = divmod(rest, 1000)
    if thousands:
        spoken.append(("mil" if thousands == 1 else f"{_below_thousand(thousands)} mil", thousands))
    if units:
        spoken.append((_below_thousand(units), units))
    *first, (last, value) = spoken
    if not first:
        return last
    return " ".join(text for text, _ in first) + (f" e {last}" if _takes_and(value) else f" {last}")


def _takes_and(group: int) -> bool:
    """The last group is joined by `e` where it is below a hundred or whole hundreds: mil e cem, mil cento e um."""
    return group < 100 or group % 100 == 0


def _below_thousand(number: int) -> str:
    if number == 100:
        return "cem"
    hundreds, rest = divmod(number, 100)
    parts = [_HUNDREDS[hundreds]] if hundreds else []
    if rest or not hundreds:
        parts.append(_below_hundred(rest))
    return " e ".join(parts)


def _below_hundred(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    tens, unit = divmod(number, 10)
    return f"{_TENS[tens]} e {_SMALL[unit]}" if unit else _TENS[tens]
