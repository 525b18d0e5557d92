"""The closed lists of words that the law and the wire share."""

from enum import StrEnum


class Category(StrEnum):
    """What a rider travels as (`docs/law.md`)."""

    CHILD = "CHILD"
    ELDER = "ELDER"
    FISCAL_MUN = "FISCAL_MUN"
    FISCAL_TRANSP = "FISCAL_TRANSP"
    FISCAL_TRAB = "FISCAL_TRAB"
    OFICIAL_JUST = "OFICIAL_JUST"
    SPECIAL_ED = "SPECIAL_ED"
    TEACHER = "TEACHER"
    STUDENT_50 = "STUDENT_50"
    PREPAID = "PREPAID"
    VT = "VT"
    FULL = "FULL"


class Network(StrEnum):
    """Where a line runs: art. 7 (urban) and art. 8 (interior) of the law."""

    URBAN = "URBAN"
    INTERIOR = "INTERIOR"


class Product(StrEnum):
    """What a purse holds; purses never mix (Decreto 1.827, art. 10, V)."""

    STUDENT = "STUDENT"
    PREPAID = "PREPAID"
    VT = "VT"


class Turnstile(StrEnum):
    """What the turnstile does for a decision."""

    TURN = "TURN"
    HOLD = "HOLD"
    NOT_TURNED = "NOT_TURNED"


class RideClass(StrEnum):
    """All that a device may know of a ride; it hides which right a rider has."""

    FREE = "FREE"
    HALF = "HALF"
    PURSE = "PURSE"
    FULL = "FULL"


class MediumKind(StrEnum):
    """How the rider presented himself."""

    CARD = "card"
    UID = "uid"
    DOCUMENT = "document"
    KEY = "key"
    CASH = "cash"


class FareMedium(StrEnum):
    """The two tariffs a city may have; the card tariff is the one that is halved."""

    CARD = "CARD"
    CASH = "CASH"


RIGHTS_IN_ORDER = (
    Category.CHILD,
    Category.ELDER,
    Category.FISCAL_MUN,
    Category.FISCAL_TRANSP,
    Category.FISCAL_TRAB,
    Category.OFICIAL_JUST,
    Category.SPECIAL_ED,
    Category.TEACHER,
    Category.STUDENT_50,
)
"""The order in which a holder's rights are tried: what the city does not repay comes before what it repays."""

PURSES_IN_ORDER = (Product.PREPAID, Product.VT)
"""The order in which full-fare purses are tried, after all rights."""

AGE_RIGHTS = frozenset({Category.CHILD, Category.ELDER})
"""Rights that follow from the birth date alone and need no registration."""

_CLASSES = {
    Category.STUDENT_50: RideClass.HALF,
    Category.PREPAID: RideClass.PURSE,
    Category.VT: RideClass.PURSE,
    Category.FULL: RideClass.FULL,
}


def class_of(category: Category) -> RideClass:
    """The class that a device may see for a category."""
    return _CLASSES.get(category, RideClass.FREE)


_PURSE_KEYS = {
    (product, network): product.value if network is Network.URBAN else f"{product.value}/{network.value}"
    for product in Product
    for network in Network
}


def purse_key(product: Product, network: Network) -> str:
    """The name of a purse in `used`: the product alone for urban passes, `PREPAID/INTERIOR` for the others."""
    return _PURSE_KEYS[product, network]
