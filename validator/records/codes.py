"""Numbers that stand for words inside records: append only, never renumber."""

from enum import IntEnum, IntFlag

from validator.domain.vocabulary import Category, MediumKind, Network, Product, Turnstile, purse_key

CATEGORIES = (
    Category.CHILD,
    Category.ELDER,
    Category.FISCAL_MUN,
    Category.FISCAL_TRANSP,
    Category.FISCAL_TRAB,
    Category.OFICIAL_JUST,
    Category.SPECIAL_ED,
    Category.TEACHER,
    Category.STUDENT_50,
    Category.PREPAID,
    Category.VT,
    Category.FULL,
)
PRODUCTS = (Product.STUDENT, Product.PREPAID, Product.VT)
NETWORKS = (Network.URBAN, Network.INTERIOR)
TURNSTILES = (Turnstile.TURN, Turnstile.HOLD, Turnstile.NOT_TURNED)
MEDIA = (MediumKind.CARD, MediumKind.UID, MediumKind.DOCUMENT, MediumKind.KEY, MediumKind.CASH)
PURSES = tuple(purse_key(product, network) for product in PRODUCTS for network in NETWORKS)

CATEGORY_CODE = {category: code for code, category in enumerate(CATEGORIES)}
PRODUCT_CODE = {product: code for code, product in enumerate(PRODUCTS)}
NETWORK_CODE = {network: code for code, network in enumerate(NETWORKS)}
TURNSTILE_CODE = {turnstile: code for code, turnstile in enumerate(TURNSTILES)}
MEDIUM_CODE = {kind: code for code, kind in enumerate(MEDIA)}
PURSE_CODE = {key: code for code, key in enumerate(PURSES)}


class EntryKind(IntEnum):
    """What one sequence of a device's journal became."""

    BOARDING = 0
    REFUSAL = 1
    RELEASE = 2
    ANNULMENT = 3
    CONFLICT = 4
    REJECTED = 5
    DECLARED_LOST = 6
    HEAD = 7


class Flag(IntFlag):
    """What a person should know of an entry; none of them strands a rider."""

    CLOCK_SKEWED = 1
    """Online, the device's clock was off: decided and dated on the service's own time."""
    LINE_UNKNOWN = 2
    """Nobody knows the line: no price until a person settles it."""
    LINE_FOREIGN = 4
    """The line is not one of the device's operator."""
    VEHICLE_FOREIGN = 8
    """The vehicle is not one of the device's operator."""
    CLOCK_QUARANTINE = 16
    """Offline, from the future or too old: not rated until a person dates it."""
    REVOKED_DEVICE = 32
    """Uploaded by a revoked device: not rated until a person lets it through."""
    ANNUL_LATE = 64
    """An annulment that came too late, or of another device's boarding: recorded and without effect."""
    RELEASED_OVER_REFUSAL = 128
    """The device let the rider through over a refused answer."""
    HELD_OVER_ACCEPTANCE = 256
    """The device held the rider over an accepted answer."""
    SEEN_GONE = 512
    """The boarding that the entry cites is no longer in the hot state; rating settles it."""


class CardState(IntEnum):
    """The state of a card in a snapshot."""

    LIVE = 0
    BLOCKED = 1
    REPLACED = 2


class DeviceState(IntEnum):
    """The state of a device."""

    ACTIVE = 0
    REVOKED = 1
