"""What use cases need from outside: chance, and the city's signing key. Adapters give it; a demonstration its own."""

from typing import Protocol


class Chance(Protocol):
    """Draws of numbers that nobody may guess."""

    def hot_id(self) -> str:
        """A new holder's pseudonym: 16 hexadecimal digits."""
        ...

    def card_number(self) -> int:
        """A new card's number, whose last decimal digit is its Luhn check digit."""
        ...

    def secret(self) -> str:
        """The secret part of a token: at least 128 bits, URL-safe."""
        ...


class CardSigner(Protocol):
    """The private halves of the city's keys."""

    def create(self, key_id: int) -> bytes:
        """Make the key pair of an id, or find the one that is there; its Ed25519 public key, 32 bytes."""
        ...

    def sign(self, key_id: int, message: bytes) -> bytes:
        """Sign with a key; 64 bytes.

        Raises:
            KeyMissing: this machine does not hold the private key.
        """
        ...
