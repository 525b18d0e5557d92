"""The demonstration city's key for cards, drawn from the seed and put where the back office keeps its keys."""

import hashlib
import os
import random
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from backoffice.adapters.chance import with_check_digit
from validator.records.card_token import CardToken, read_token


class SeededChance:
    """Draws that repeat for the same seed, so that two demonstrations may be compared byte for byte.

    For demonstrations only: whoever knows the seed knows the secrets.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"catraca-demo-chance {seed}")

    def hot_id(self) -> str:
        """A holder's pseudonym: 16 hexadecimal digits."""
        return f"{self._random.getrandbits(64):016x}"

    def card_number(self) -> int:
        """A card's number with its check digit."""
        return with_check_digit(10**10 + self._random.randrange(9 * 10**10))

    def secret(self) -> str:
        """The secret part of a token."""
        return f"{self._random.getrandbits(256):064x}"


def seeded_key(seed: int, name: str) -> Ed25519PrivateKey:
    """A key pair drawn from the seed."""
    secret = hashlib.sha256(f"catraca-demo-key {seed} {name}".encode()).digest()
    return Ed25519PrivateKey.from_private_bytes(secret)


def write_city_key(folder: Path, seed: int, key_id: int = 1) -> None:
    """Put the key where the back office will find it, as if it had been made there."""
    folder.mkdir(parents=True, mode=0o700)
    pem = seeded_key(seed, "city").private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    descriptor = os.open(folder / f"city-{key_id}.key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(pem)


def forged(token_text: str, seed: int) -> str:
    """The same card's token, signed by somebody who is not the city."""
    token = read_token(token_text)
    signature = seeded_key(seed, "forger").sign(token.signed_bytes())
    return CardToken(token.key_id, token.holder_id, token.card_number, token.issue, signature).text()
