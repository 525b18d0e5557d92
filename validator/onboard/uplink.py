"""The way to the service: taps with a deadline, and a thread that uploads, synchronises and probes."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitedTooLong
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from validator.domain.service_time import SAO_PAULO
from validator.onboard.city_store import CityStore
from validator.onboard.device_clock import DeviceClock
from validator.onboard.download import Downloader, Synced
from validator.onboard.journal import Entry, Journal
from validator.onboard.link import HttpAnswer, Link, LinkDown
from validator.onboard.link_state import LinkState
from validator.onboard.rides import Rides
from validator.onboard.service_messages import Contact, TapAnswer, read
from validator.onboard.tokens import Verify
from validator.onboard.uploader import Uploaded, Uploader

_TELLING_S: Final = 3.0
"""The longest exchange from which the device sets its clock, in seconds."""

Say = Callable[[str], None]
"""Writes one line for the operator's log; no personal data."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How long the device waits, and how often it calls.

    Attributes:
        tap_s: For the answer to a tap.
        batch_s: For the answer to a batch or a chunk.
        upload: Between uploads.
        probe: Between probes while offline.
        sync: Between synchronisations.
        prune: Between clearings of the journal.
    """

    tap_s: float = 0.3
    batch_s: float = 20.0
    upload: timedelta = timedelta(seconds=5)
    probe: timedelta = timedelta(seconds=2)
    sync: timedelta = timedelta(minutes=10)
    prune: timedelta = timedelta(hours=6)


class Uplink:
    """Everything that goes over the network. The reader's thread posts taps; one thread of its own does the rest."""

    def __init__(
        self,
        address: str,
        journal: Journal,
        store: CityStore,
        rides: Rides,
        clock: DeviceClock,
        verify: Verify,
        say: Say,
        rhythm: Rhythm | None = None,
    ) -> None:
        self.state = LinkState()
        self._journal = journal
        self._clock = clock
        self._say = say
        self._rhythm = rhythm or Rhythm()
        self._taps = Link(address)
        self._rest = Link(address)
        self._poster = ThreadPoolExecutor(1, thread_name_prefix="taps")
        self._posting: Future[HttpAnswer] | None = None
        self._judging = threading.Lock()
        self.uploader = Uploader(journal, rides, clock, self._post_rest)
        self.downloader = Downloader(store, self._get, verify, self._told)
        self._offer_took = 0.0
        self._due: dict[str, datetime] = {}
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    # Taps, from the reader's thread

    def post_tap(self, entry: Entry) -> TapAnswer | None:
        """Post a tap and wait for its answer; None where none came in time or the device must decide itself."""
        answer = self._in_time("/v1/boardings", entry.exact)
        message = None if answer is None else read(TapAnswer, answer)
        if message is not None:
            self.uploader.learn(entry.epoch, message.durable_seq, message.missing)
        return message

    def post_annulment(self, entry: Entry) -> bool:
        """Post an annulment; whether the service has recorded it. Otherwise it goes with the next batch."""
        answer = self._in_time(f"/v1/boardings/{entry.boarding_id}/annul", entry.exact)
        message = None if answer is None else read(Contact, answer)
        if message is not None:
            self.uploader.learn(entry.epoch, message.durable_seq, message.missing)
        return message is not None

    def _in_time(self, path: str, body: bytes) -> HttpAnswer | None:
        if not self.state.online:
            return None
        if self._posting is not None and not self._posting.done():
            self._judge(worked=False)  # still held up by the one before, in a name service for example
            return None
        self._posting = self._poster.submit(self._exchange, self._taps, path, body, self._rhythm.tap_s)
        try:
            answer = self._posting.result(self._rhythm.tap_s)
        except (LinkDown, WaitedTooLong) as error:
            self._taps.abort()
            self._judge(worked=False)
            self._say(f"sem resposta a tempo: {error or 'tempo esgotado'}")
            return None
        # A service that says it cannot answer now is as good as none; one that refuses the device is there.
        self._judge(worked=answer.status != 503)
        if answer.status != 200:
            self._say(f"o serviço respondeu {answer.status} a {path}")
            return None
        return answer

    # The rest, from a thread of its own

    def start(self) -> None:
        """Begin to upload and synchronise."""
        self._thread = threading.Thread(target=self._run, name="uplink", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close the connections; what is under way is given up."""
        self._stopping.set()
        self._wake.set()
        self._rest.abort()
        if self._thread is not None:
            self._thread.join(5)
        self._poster.shutdown(wait=False, cancel_futures=True)
        self._taps.close()
        self._rest.close()

    def wake(self) -> None:
        """Upload now: a trip has ended."""
        self._due.pop("upload", None)
        self._wake.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.turn()
            except LinkDown as error:
                self._judge(worked=False)
                self._say(f"enlace: {error}")
            self._wake.wait(0.5)
            self._wake.clear()

    def turn(self) -> None:
        """One round: probe while offline, else upload what is due, synchronise, clear.

        Raises:
            LinkDown: an exchange had no answer.
        """
        if not self.state.online:
            if not self._is_due("probe", self._rhythm.probe):
                return
            self._probe()
        if self._is_due("upload", self._rhythm.upload):
            self.upload_all()
        if self._is_due("sync", self._rhythm.sync):
            self._sync()
        if self._clock.skew is not None and self._is_due("prune", self._rhythm.prune):
            self._journal.prune(self._clock.now())

    def upload_all(self) -> None:
        """Upload until nothing is owed, or the service cannot take more now.

        Raises:
            LinkDown: no answer came.
        """
        result = self.uploader.upload(self._stopping.is_set)
        if result in (Uploaded.LATER, Uploaded.REFUSED):
            self._say(self.uploader.problem)
        if self.uploader.behind:
            self._say(
                "o diário é mais antigo que o do serviço: reinstale o validador (catraca onboard enrol)"
            )

    def sync(self) -> Synced:
        """Synchronise now."""
        result = self.downloader.sync()
        if self.downloader.problem:
            self._say(f"lista: {self.downloader.problem}")
        return result

    def _sync(self) -> None:
        result = self.sync()
        if result is Synced.UNFINISHED:
            self._due["sync"] = self._clock.now() + self._rhythm.probe * 5

    def _probe(self) -> None:
        answer = self._exchange(self._rest, "/v1/health/ready", None, self._rhythm.tap_s)
        self._judge(worked=answer.status == 200)
        if answer.status != 200:
            raise LinkDown(f"o serviço não está pronto ({answer.status})")

    def _is_due(self, what: str, every: timedelta) -> bool:
        now = self._clock.now()
        due = self._due.get(what)
        if due is not None and now < due <= now + every:
            return False
        self._due[what] = now + every
        return True

    def _judge(self, *, worked: bool) -> None:
        with self._judging:
            was = self.state.online
            if worked:
                self.state.worked(self._clock.now())
            else:
                self.state.failed(self._clock.now())
            if self.state.online != was:
                self._say("com rede" if self.state.online else "sem rede: o validador decide sozinho")

    def _post_rest(self, path: str, body: bytes) -> HttpAnswer:
        return self._exchange(self._rest, path, body, self._rhythm.batch_s)

    def _get(self, path: str) -> HttpAnswer:
        began = monotonic()
        answer = self._exchange(self._rest, path, None, self._rhythm.batch_s)
        self._offer_took = monotonic() - began
        return answer

    def _told(self, server_time: datetime) -> None:
        """The service's own time, as it was half an exchange ago; an exchange that took long tells nothing."""
        if self._offer_took < _TELLING_S:
            self._clock.contact(server_time + timedelta(seconds=self._offer_took / 2))

    def _exchange(self, link: Link, path: str, body: bytes | None, timeout_s: float) -> HttpAnswer:
        installation = self._journal.installation()
        headers = {"Catraca-Sent-At": instant_text(self._clock.now())}
        if installation is not None:
            headers["Authorization"] = f"Bearer {installation.token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        return link.exchange("GET" if body is None else "POST", path, headers, body, timeout_s)


def instant_text(at: datetime) -> str:
    """An instant as a device writes it: the city's offset, milliseconds."""
    return at.astimezone(SAO_PAULO).isoformat(timespec="milliseconds")
