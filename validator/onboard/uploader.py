"""Uploads the journal: every epoch in order, again what is not durable after a minute, until the service has it all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from validator.onboard.device_clock import DeviceClock
from validator.onboard.journal import Installation, Journal
from validator.onboard.link import HttpAnswer
from validator.onboard.rides import Rides
from validator.onboard.service_messages import BatchAnswer, first_missing, read
from validator.onboard.upload import Batch, make_batch
from validator.records.device_messages import MAX_BATCH_ENTRIES
from validator.records.packing import to_micros

RESENT_AFTER: Final = timedelta(minutes=1)
"""How old an entry that is not durable must be to be sent again."""

Post = Callable[[str, bytes], HttpAnswer]
"""POST of a body to a path; raises LinkDown."""


class Uploaded(StrEnum):
    """What one batch came to."""

    NOTHING = "nothing"
    """There was nothing to send."""
    TAKEN = "taken"
    """The service has recorded it, or a part of it."""
    LATER = "later"
    """The service could not take it now."""
    REFUSED = "refused"
    """The service does not take it as it is; it is tried again in smaller pieces."""


_WORST_FIRST = (Uploaded.LATER, Uploaded.REFUSED, Uploaded.TAKEN, Uploaded.NOTHING)


@dataclass(slots=True)
class _Progress:
    """How far an epoch was sent since this process began; all of it can be lost.

    Attributes:
        sent: Last sequence that was sent and recorded.
        resent_at: When sending began again from what is durable.
        head_owed: Whether the last head was not recorded.
        closed_at: The last sequence of the epoch under a closing head that was recorded.
        missing: What the service said to lack.
    """

    sent: int
    resent_at: datetime
    head_owed: bool = False
    closed_at: int | None = None
    missing: tuple[tuple[int, int], ...] = ()


class Uploader:
    """Sends batches, one at a time, from one thread."""

    def __init__(self, journal: Journal, rides: Rides, clock: DeviceClock, post: Post) -> None:
        self._journal = journal
        self._rides = rides
        self._clock = clock
        self._post = post
        self._progress: dict[int, _Progress] = {}
        self._limit = MAX_BATCH_ENTRIES
        self.closing = False
        """Whether the current epoch is to be closed: the device leaves service."""
        self.problem = ""
        """Why the last batch was not taken."""
        self.behind = False
        """Whether the service has more of this epoch than the journal: an older copy was put back."""

    def upload(self, stopping: Callable[[], bool] = lambda: False) -> Uploaded:
        """Send what every epoch owes, oldest first. An epoch that the service cannot take holds up no other.

        Returns the worst that an epoch came to, `NOTHING` where none owed anything.

        Raises:
            LinkDown: no answer came.
        """
        results = [Uploaded.NOTHING]
        for epoch in self._journal.epochs():
            result = Uploaded.REFUSED
            while result in (Uploaded.TAKEN, Uploaded.REFUSED) and not stopping():
                result = self.upload_next(epoch)
                results.append(result)
        return next(r for r in _WORST_FIRST if r in results)

    def upload_next(self, epoch: int) -> Uploaded:
        """Send the next batch of an epoch.

        Raises:
            LinkDown: no answer came.
        """
        installation = self._journal.installation(epoch)
        if installation is None or installation.closed:
            return Uploaded.NOTHING
        batch = self._next(installation, closing=self.closing or epoch != self._journal.epochs()[-1])
        return Uploaded.NOTHING if batch is None else self._send(batch)

    def learn(self, epoch: int, durable_seq: int, missing: Sequence[tuple[int, int]]) -> None:
        """Any answer tells what the service has in its database."""
        if not self._journal.durable(epoch, durable_seq):
            self.behind = True
        progress = self._progress.get(epoch)
        if progress is not None:
            progress.missing = tuple(missing)

    def owes(self) -> int:
        """How many entries of all epochs the service has not reported durable."""
        owed = 0
        for epoch in self._journal.epochs():
            installation = self._journal.installation(epoch)
            owed += 0 if installation is None else self._journal.last(epoch)[0] - installation.durable_seq
        return owed

    def _next(self, installation: Installation, *, closing: bool) -> Batch | None:
        epoch, now = installation.epoch, self._clock.now()
        progress = self._progress.setdefault(epoch, _Progress(installation.durable_seq, now))
        self._go_back(installation, progress, now)
        last, _ = self._journal.last(epoch)
        if closing and progress.closed_at == last:
            if installation.durable_seq >= last:
                self._journal.close_epoch(epoch)
                return None
            closing = progress.sent < last  # again with what is sent again, never by itself
        closing_owed = closing and progress.closed_at != last
        return make_batch(
            self._journal,
            installation,
            after=progress.sent,
            limit=self._limit,
            at=now,
            closing=closing,
            head_owed=progress.head_owed or closing_owed,
        )

    def _go_back(self, installation: Installation, progress: _Progress, now: datetime) -> None:
        """Send again from the first entry that is not durable, once it is older than a minute, once a minute."""
        due = not timedelta(0) <= now - progress.resent_at < RESENT_AFTER
        if not due or progress.sent <= installation.durable_seq:
            return
        lacking = first_missing(progress.missing)
        start = max(installation.durable_seq, (lacking or 0) - 1)
        oldest = self._journal.entries(installation.epoch, after=start, limit=1)
        if oldest and abs(to_micros(now) - oldest[0].written_micros) >= RESENT_AFTER / timedelta(
            microseconds=1
        ):
            progress.sent = min(progress.sent, start)
            progress.resent_at = now

    def _send(self, batch: Batch) -> Uploaded:
        answer = self._post("/v1/boardings/batch", batch.body)
        if answer.status != 200:
            self.problem = f"lote {batch.epoch}/{batch.first_seq}: o serviço respondeu {answer.status}"
            if answer.status in (413, 422) and batch.size > 1:
                self._limit = max(1, batch.size // 2)
                return Uploaded.REFUSED
            return Uploaded.LATER
        message = read(BatchAnswer, answer)
        if message is None or len(message.items) != batch.size:
            self.problem = f"lote {batch.epoch}/{batch.first_seq}: resposta ilegível"
            return Uploaded.LATER
        self._limit = min(self._limit * 2, MAX_BATCH_ENTRIES)
        return self._taken(batch, message)

    def _taken(self, batch: Batch, message: BatchAnswer) -> Uploaded:
        progress = self._progress[batch.epoch]
        now = self._clock.now()
        recorded = next((n for n, item in enumerate(message.items) if not item.recorded), batch.size)
        if recorded:
            self._rides.heard(batch.epoch, batch.first_seq, batch.first_seq + recorded - 1, now)
        progress.sent = batch.first_seq + recorded - 1
        progress.head_owed = recorded == batch.size and not message.head_recorded
        self.learn(batch.epoch, message.durable_seq, message.missing)
        if recorded < batch.size:
            self.problem = f"lote {batch.epoch}/{batch.first_seq}: {batch.size - recorded} a repetir"
            return Uploaded.LATER
        if batch.closing and message.head_recorded:
            progress.closed_at = batch.last_seq
        self.problem = ""
        return Uploaded.TAKEN
