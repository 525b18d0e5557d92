"""Who rides when: the shape of a real city's demand.

Source: boardings of Fortaleza-CE by day, card type, hour and line, three days of March 2018 (the third has 320
boardings only), 1,626,779 boardings; open data of ETUFOR, the city's transport authority.
The file is not shipped; the sums below were taken from it, card types gathered so:

| here | card types of the file |
|---|---|
| VT | 04 vale-transporte, 12 vale-transporte avulso, 08 VT identificacao |
| FULL | inteira (paid in money) |
| PREPAID | pagante em horario diferenciado (a card that pays less off the peaks) |
| STUDENT_50 | 02 estudante, 11 estudante com debito |
| SPECIAL_ED | gratuidade deficiente, with and without companion |
| ELDER | 03 gratuidade idoso (most elders show a document and are not counted there) |
| FISCAL_TRANSP | gratuidade identificada of the authority's own staff |
"""

from typing import Final

from validator.domain.vocabulary import Category

SOURCE: Final = "ETUFOR open data, Fortaleza-CE, March 2018, 1,626,779 boardings"

BOARDINGS_BY_HOUR: Final[dict[Category, tuple[int, ...]]] = {
    Category.VT: (
        *(740, 487, 197, 244, 6302, 41221, 68086, 56936, 35957, 28409, 27562, 31593),
        *(37284, 36187, 35003, 36116, 47576, 67049, 59574, 38851, 23331, 19658, 14624, 2728),
    ),
    Category.FULL: (
        *(439, 219, 71, 84, 2104, 15011, 31564, 32738, 25784, 22003, 21208, 21570),
        *(23173, 23500, 22189, 22020, 25373, 31749, 27977, 16327, 8903, 7557, 5044, 1009),
    ),
    Category.PREPAID: (
        *(240, 244, 156, 169, 786, 4153, 9014, 10844, 11597, 12740, 12894, 11981),
        *(11114, 10165, 11095, 12329, 15336, 17199, 15078, 11141, 8964, 6815, 3899, 1226),
    ),
    Category.STUDENT_50: (
        *(108, 72, 15, 33, 284, 4707, 23390, 21390, 13132, 11004, 11577, 19342),
        *(26229, 17776, 13174, 13862, 18447, 26512, 24863, 14009, 11323, 12684, 7032, 717),
    ),
    Category.SPECIAL_ED: (
        *(6, 0, 0, 3, 30, 308, 791, 965, 919, 1081, 1286, 1418),
        *(1407, 1203, 1110, 1026, 1232, 1242, 871, 567, 462, 336, 121, 18),
    ),
    Category.ELDER: (
        *(2, 4, 1, 1, 28, 319, 714, 1044, 1377, 1559, 1496, 1303),
        *(1078, 998, 1126, 972, 981, 821, 553, 298, 174, 80, 32, 1),
    ),
    Category.FISCAL_TRANSP: (
        *(0, 0, 0, 0, 14, 32, 67, 109, 68, 50, 84, 89),
        *(74, 72, 82, 65, 87, 124, 76, 44, 33, 28, 23, 2),
    ),
}
"""Boardings by category and hour of the civil day."""

CATEGORIES: Final = {category: sum(hours) for category, hours in BOARDINGS_BY_HOUR.items()}
"""Boardings by category, over the whole day."""

HOURS: Final[tuple[int, ...]] = tuple(sum(hours) for hours in zip(*BOARDINGS_BY_HOUR.values(), strict=True))
"""Boardings by hour of the civil day, over all categories."""

PURSE_CATEGORIES: Final = frozenset({Category.VT, Category.PREPAID, Category.STUDENT_50})
"""Categories that spend a pass: three quarters of these boardings."""


def peak_hour() -> int:
    """The fullest hour of the day."""
    return max(range(24), key=HOURS.__getitem__)
