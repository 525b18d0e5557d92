"""What each worker says of itself, in memory that parent and workers share: nobody asks anybody, so nobody waits."""

import mmap
import struct
import zlib
from dataclasses import dataclass

import msgspec

_HEAD = struct.Struct("<dII")
_COUNT = struct.Struct("<I")
_SLOT_BYTES = 256 * 1024
_TRIES = 3


class Notice(msgspec.Struct, frozen=True):
    """What one worker says.

    Attributes:
        lacks: Why it cannot answer boardings; empty when it can.
        metrics: Its page of metrics.
    """

    lacks: tuple[str, ...]
    metrics: str


@dataclass(frozen=True, slots=True)
class Posted:
    """A notice, and when it was written in seconds of the machine's monotonic clock."""

    at: float
    notice: Notice


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Notice).decode


class Noticeboard:
    """A slot for each worker; made before the workers are forked.

    A slot has one writer. Whoever reads checks a sum, and reads again what was being written meanwhile.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._counts = workers * _SLOT_BYTES
        self._memory = mmap.mmap(-1, self._counts + workers * _COUNT.size)

    def post(self, worker: int, notice: Notice, at: float) -> None:
        """Replace what a worker says; a page of metrics that does not fit is left out."""
        data = _encode(notice)
        if len(data) > _SLOT_BYTES - _HEAD.size:
            data = _encode(Notice(notice.lacks, ""))
        start = worker * _SLOT_BYTES
        body = start + _HEAD.size
        self.clear(worker)
        self._memory[body : body + len(data)] = data
        self._memory[start:body] = _HEAD.pack(at, len(data), zlib.crc32(data))

    def clear(self, worker: int) -> None:
        """The worker says nothing: it has ended, or not begun."""
        start = worker * _SLOT_BYTES
        self._memory[start : start + _HEAD.size] = bytes(_HEAD.size)

    def read(self, worker: int) -> Posted | None:
        """What a worker said last; None where it says nothing."""
        start = worker * _SLOT_BYTES
        body = start + _HEAD.size
        for _ in range(_TRIES):
            at, length, checksum = _HEAD.unpack(self._memory[start:body])
            data = self._memory[body : body + length]
            if length and zlib.crc32(data) == checksum:
                return Posted(at, _decode(data))
        return None

    def restarted(self, worker: int) -> None:
        """The parent starts a worker again."""
        place = self._counts + worker * _COUNT.size
        _COUNT.pack_into(self._memory, place, self.restarts()[worker] + 1)

    def restarts(self) -> list[int]:
        """How often each worker was started again."""
        counts = self._memory[self._counts :]
        return [number for (number,) in _COUNT.iter_unpack(counts)]
