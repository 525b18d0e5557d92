"""Money: whole centavos, and each rounding as a named function."""

from typing import NewType

Cents = NewType("Cents", int)
"""An amount in centavos of real; never a float."""

ZERO = Cents(0)


def riders_half(fare: Cents) -> Cents:
    """The rider's part of a half fare, in centavos, rounded down.

    The city pays what is left, so that both parts always sum to the fare: 3,65 is 1,82 and 1,83; 2,75 is 1,37 and 1,38.
    Rounding up would charge the rider more than the 50 % of Lei 1.055/91, art. 48, X.
    """
    return Cents(fare // 2)


def share_of(amount: Cents, percent: int) -> Cents:
    """`percent` of `amount` in centavos, rounded down: whoever pays a share never pays a centavo too much."""
    return Cents(amount * percent // 100)
