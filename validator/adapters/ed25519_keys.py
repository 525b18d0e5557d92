"""Ed25519 signatures of cards and devices."""

from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


@lru_cache(maxsize=10_000)
def _key(public_key: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(public_key)


def verify(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether a signature is true; a key or signature of the wrong form is not."""
    try:
        _key(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
