"""Batches: what the service has not got, in order, as the exact bytes, under a signed head."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from validator.onboard.journal import Entry, Installation, Journal
from validator.onboard.keys import sign
from validator.records.device_messages import MAX_BATCH_BYTES, MAX_BATCH_ENTRIES, head_message

_encode = msgspec.json.Encoder().encode
_ROOM_FOR_FRAME = 2_000


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch ready to be sent: its body, and which sequences it holds; none where it is a head alone."""

    epoch: int
    first_seq: int
    last_seq: int
    body: bytes
    closing: bool

    @property
    def size(self) -> int:
        """How many entries it holds."""
        return self.last_seq - self.first_seq + 1


def make_batch(
    journal: Journal,
    installation: Installation,
    *,
    after: int,
    limit: int,
    at: datetime,
    closing: bool = False,
    head_owed: bool = False,
) -> Batch | None:
    """The next batch of an epoch behind a sequence; None where there is nothing to say.

    Args:
        journal: The journal.
        installation: The epoch and its key.
        after: The last sequence that the service has, or was just sent.
        limit: Most entries to take.
        at: The instant, kept with the signed head.
        closing: Whether the head closes the epoch, if the batch reaches its end.
        head_owed: Whether the head is sent even where no entry is: the service has not recorded it yet.
    """
    epoch = installation.epoch
    entries = _fitting(journal.entries(epoch, after=after, limit=min(limit, MAX_BATCH_ENTRIES)))
    last_seq, head = journal.last(epoch)
    if entries:
        closes = closing and entries[-1].seq == last_seq
        last_seq, head = entries[-1].seq, entries[-1].head
    elif not head_owed or after < last_seq:
        return None
    else:
        closes = closing
    message = head_message(installation.device_id, epoch, last_seq, head, closing=closes)
    signature = sign(installation.private_key, message)
    journal.keep_head(epoch, last_seq, head, signature, at, closes)
    first_seq = entries[0].seq if entries else last_seq + 1
    body: dict[str, object] = {
        "epoch": epoch,
        "first_seq": first_seq,
        "entries": [entry.exact.decode() for entry in entries],
        "head": head.hex(),
        "signature": signature.hex(),
    }
    if closes:
        body["closing"] = True
    return Batch(epoch, first_seq, last_seq, _encode(body), closes)


def _fitting(entries: list[Entry]) -> list[Entry]:
    """As many entries as fit a batch's bytes; JSON inside JSON doubles each quotation mark."""
    taken, room = [], MAX_BATCH_BYTES - _ROOM_FOR_FRAME
    for entry in entries:
        room -= len(entry.exact) + entry.exact.count(b'"') + entry.exact.count(b"\\") + 3
        if room < 0:
            break
        taken.append(entry)
    return taken
