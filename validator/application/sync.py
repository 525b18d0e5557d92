"""Hand out the signed bundle: an offer for the version that a device has, and the chunks that it names.

Nothing is signed or made here; the back office put it into Redis whole, chunks before the offers that name them.
"""

from datetime import datetime

from validator.application.devices import DeviceGate
from validator.application.errors import DeviceUnknown
from validator.application.ports import HotState
from validator.records.bundle import SyncAnswer, chunk_key, offer_key, read_signed_offer


async def offer_to(
    authorization: bytes, have: int, *, at: datetime, hot: HotState, gate: DeviceGate
) -> SyncAnswer | None:
    """The offer for a device that has a version; None where no bundle was built yet.

    A version that no steps lead from gets the offer of the whole.

    Args:
        authorization: The Authorization header.
        have: The version on the device, 0 for none.
        at: The service's time, which the answer tells.
        hot: The hot state.
        gate: Knows the devices.

    Raises:
        DeviceUnknown: no such device, another token, or revoked.
        NotServed: nobody can say now.
        RecordError: what stands there is no offer.
    """
    await _admitted(authorization, gate)
    own, whole = await hot.read([offer_key(have), offer_key(0)])
    data = own or whole
    if data is None:
        return None
    signed = read_signed_offer(data)
    return SyncAnswer(signed.offer, signed.key_id, signed.signature, at.isoformat())


async def chunk_to(authorization: bytes, digest: str, *, hot: HotState, gate: DeviceGate) -> bytes | None:
    """A chunk by its digest; None where no bundle names it any more.

    Raises:
        DeviceUnknown: no such device, another token, or revoked.
        NotServed: nobody can say now.
    """
    await _admitted(authorization, gate)
    (piece,) = await hot.read([chunk_key(digest)])
    return piece


async def _admitted(authorization: bytes, gate: DeviceGate) -> None:
    """Looked up anew each time: a stolen device learns nothing more from the moment of its revocation."""
    device = await gate.admit(authorization)
    if device.revoked:
        raise DeviceUnknown
