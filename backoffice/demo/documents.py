"""Invented CPF and CNPJ numbers with valid check digits."""

_CNPJ_WEIGHTS = (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)


def cpf(base: int) -> str:
    """A CPF from its first nine digits."""
    digits = [int(digit) for digit in f"{base:09d}"]
    for _ in range(2):
        total = sum(
            digit * weight for digit, weight in zip(digits, range(len(digits) + 1, 1, -1), strict=True)
        )
        digits.append(total * 10 % 11 % 10)
    return "".join(str(digit) for digit in digits)


def cnpj(base: int) -> str:
    """A CNPJ from its first twelve digits."""
    digits = [int(digit) for digit in f"{base:012d}"]
    for _ in range(2):
        weights = _CNPJ_WEIGHTS[-len(digits) :]
        rest = sum(digit * weight for digit, weight in zip(digits, weights, strict=True)) % 11
        digits.append(0 if rest < 2 else 11 - rest)
    return "".join(str(digit) for digit in digits)
