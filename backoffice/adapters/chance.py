"""Chance from the operating system."""

import secrets


class SystemChance:
    """Draws that nobody can guess."""

    def hot_id(self) -> str:
        """A new holder's pseudonym: 16 hexadecimal digits."""
        return secrets.token_hex(8)

    def card_number(self) -> int:
        """A new card's number: eleven random digits, the first not zero, and a Luhn check digit."""
        return with_check_digit(10**10 + secrets.randbelow(9 * 10**10))

    def secret(self) -> str:
        """The secret part of a token: 256 bits, URL-safe."""
        return secrets.token_urlsafe(32)


def with_check_digit(number: int) -> int:
    """A number followed by its Luhn check digit."""
    return number * 10 + luhn_digit(number)


def luhn_digit(number: int) -> int:
    """The Luhn check digit of a number: 7992739871 has 3."""
    total = 0
    for place, digit in enumerate(reversed(str(number))):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return -total % 10
