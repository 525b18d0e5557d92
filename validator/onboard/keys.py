"""Ed25519 on the device: its own key, and the city's signatures. The same rules as the service's."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def verify(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether a signature is true; a key or signature of the wrong form is not."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def new_key() -> bytes:
    """A new private key, 32 bytes, drawn by the operating system. It never leaves the device."""
    return Ed25519PrivateKey.generate().private_bytes_raw()


def public_half(private_key: bytes) -> bytes:
    """The public half of a private key, 32 bytes."""
    return Ed25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw()


def sign(private_key: bytes, message: bytes) -> bytes:
    """Sign; 64 bytes."""
    return Ed25519PrivateKey.from_private_bytes(private_key).sign(message)
