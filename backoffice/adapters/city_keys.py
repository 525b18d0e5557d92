"""The private halves of the city's keys: files in the data folder that only their owner may read."""

import os
import threading
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class KeyMissing(RuntimeError):
    """A private key is not on this machine, or its file cannot be used; the message says what to do."""


class CityKeys:
    """The key files of one folder, `city-<id>.key`, PKCS 8 in PEM without a password, mode 0600."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._keys: dict[int, Ed25519PrivateKey] = {}

    def create(self, key_id: int) -> bytes:
        """Make the key pair of an id, or find the one that is there; its Ed25519 public key, 32 bytes.

        Raises:
            KeyMissing: the file is there and is no key.
        """
        path = self._path(key_id)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            return _public(self._key(key_id))
        # Written aside and linked if absent: of two processes one makes the key, and both read the same.
        temporary = self._folder / f".city-{key_id}.{os.getpid()}.{threading.get_ident()}"
        _write_private(temporary, Ed25519PrivateKey.generate())
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            temporary.unlink(missing_ok=True)
        return _public(self._key(key_id))

    def sign(self, key_id: int, message: bytes) -> bytes:
        """Sign with a key; 64 bytes.

        Raises:
            KeyMissing: this machine does not hold the private key.
        """
        return self._key(key_id).sign(message)

    def _key(self, key_id: int) -> Ed25519PrivateKey:
        key = self._keys.get(key_id)
        if key is None:
            key = self._keys[key_id] = _read_private(self._path(key_id))
        return key

    def _path(self, key_id: int) -> Path:
        return self._folder / f"city-{key_id}.key"


def write_device_key(path: Path) -> bytes:
    """Make a key pair for a device in trials: the private half goes to a new file, the public half is returned.

    Raises:
        FileExistsError: the file is there already; a key is never overwritten.
    """
    key = Ed25519PrivateKey.generate()
    _write_private(path, key)
    return _public(key)


def _public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def _write_private(path: Path, key: Ed25519PrivateKey) -> None:
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(pem)
        file.flush()
        os.fsync(file.fileno())


def _read_private(path: Path) -> Ed25519PrivateKey:
    try:
        pem = path.read_bytes()
    except OSError as error:
        raise KeyMissing(
            f"a chave privada {path} não pode ser lida ({error.strerror}); restaure a cópia de segurança ou "
            "crie outra chave da cidade"
        ) from error
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except ValueError as error:
        raise KeyMissing(f"o arquivo {path} não contém uma chave privada em PEM") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyMissing(f"a chave de {path} não é Ed25519")
    return key
