"""The QR code that is printed on a card: the text of its token, as SVG or PNG."""

import io
from enum import StrEnum

import segno

MODULE_MM = 0.8
"""Side of a module on a printed card: the whole code, with its quiet zone, fits the height of an ISO card (54 mm)."""

_QUIET_ZONE = 4
_PIXELS_A_MODULE = 10
_DPI = round(_PIXELS_A_MODULE / MODULE_MM * 25.4)


class Picture(StrEnum):
    """Kinds of pictures, by the ending of their files."""

    SVG = "svg"
    PNG = "png"


def card_qr(token_text: str) -> segno.QRCode:
    """The code of a token's text: alphanumeric, error correction M (15 % of the code may be worn off)."""
    return segno.make_qr(token_text, error="m", mode="alphanumeric", boost_error=False)


def draw_qr(token_text: str, picture: Picture) -> bytes:
    """The picture of a token's code, with the quiet zone of four modules; both kinds print at `MODULE_MM`."""
    buffer = io.BytesIO()
    code = card_qr(token_text)
    if picture is Picture.SVG:
        code.save(buffer, kind="svg", scale=MODULE_MM, unit="mm", border=_QUIET_ZONE, light="#fff")
    else:
        code.save(buffer, kind="png", scale=_PIXELS_A_MODULE, border=_QUIET_ZONE, dpi=_DPI)
    return buffer.getvalue()
