"""The peers trust a card's token: they take the holder out of it and verify nothing, which favours them."""

import base64


def holder_of(token: str) -> str:
    """The holder that a token's text names."""
    return base64.b32decode(token + "=" * (-len(token) % 8))[3:11].hex()
