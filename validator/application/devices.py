"""Who sends: a device, known by the token that it carries."""

import hashlib
import hmac
import re

import msgspec

from validator.application.errors import DeviceUnknown, ShardFenced
from validator.application.ports import HotState
from validator.records.codes import DeviceState
from validator.records.keys import device_key, device_shard, fence_key, generation_key
from validator.records.packing import RecordError
from validator.records.snapshot import DeviceRecord, unpack_device

_MOST_KNOWN = 20_000
_ACTIVE = DeviceState.ACTIVE.value
_TOKEN_MAX = 512
_DEVICE_ID = re.compile(rb"[a-z0-9-]{1,32}")


class Device(msgspec.Struct, gc=False):
    """A device that has shown its token.

    Attributes:
        id: Device id.
        token_hash: SHA-256 of the token that it showed.
        record: Its record as last seen.
        packed: The bytes of that record.
        shard: Its shard.
        key: Key of its record.
    """

    id: str
    token_hash: bytes
    record: DeviceRecord
    packed: bytes
    shard: int
    key: bytes

    @property
    def revoked(self) -> bool:
        """Whether it was revoked when last seen."""
        return self.record.state != _ACTIVE

    def sees(self, packed: bytes | None) -> bool:
        """Take note of its record as it stands now; whether it is still this device with this token."""
        if packed == self.packed:
            return True
        if packed is None:
            return False
        record = unpack_device(packed)
        if not hmac.compare_digest(record.token_hash, self.token_hash):
            return False
        self.record, self.packed = record, packed
        return True


class DeviceGate:
    """Lets known devices in; a device that was let in once is not looked up again, only checked with each boarding."""

    def __init__(self, hot: HotState) -> None:
        self._hot = hot
        self._known: dict[bytes, Device] = {}

    def known(self, authorization: bytes) -> Device | None:
        """The device of an Authorization header that was let in before."""
        return self._known.get(authorization)

    async def admit(self, authorization: bytes) -> Device:
        """The device of an Authorization header, looked up now.

        Raises:
            DeviceUnknown: no such device, or another token. A revoked device is let in; its caller decides.
            ShardFenced: its shard is empty or being rebuilt, so nobody can say.
            HotStateAway: Redis is away.
        """
        device_id, token_hash = _read_authorization(authorization)
        shard = device_shard(device_id)
        key = device_key(device_id)
        packed, generation, fence = await self._hot.read([key, generation_key(shard), fence_key(shard)])
        self._known.pop(authorization, None)
        if packed is None:
            raise DeviceUnknown if generation is not None and fence is None else ShardFenced
        try:
            record = unpack_device(packed)
        except RecordError:
            raise ShardFenced from None
        if not hmac.compare_digest(record.token_hash, token_hash):
            raise DeviceUnknown
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        device = self._known[authorization] = Device(device_id, token_hash, record, packed, shard, key)
        return device


def _read_authorization(header: bytes) -> tuple[str, bytes]:
    scheme, _, token = header.partition(b" ")
    device_id, dot, secret = token.partition(b".")
    fits = scheme.lower() == b"bearer" and dot and secret and len(token) <= _TOKEN_MAX
    if not fits or _DEVICE_ID.fullmatch(device_id) is None:
        raise DeviceUnknown
    return device_id.decode("ascii"), hashlib.sha256(token).digest()
