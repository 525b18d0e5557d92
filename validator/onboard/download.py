"""Fetch the bundle: a signed offer, then its chunks one by one; what has arrived is never fetched again."""

from collections.abc import Callable, Iterator
from datetime import datetime
from enum import StrEnum

import msgspec

from validator.application.errors import Malformed
from validator.application.instants import read_instant
from validator.onboard.city_store import CityStore
from validator.onboard.link import HttpAnswer, LinkDown
from validator.onboard.tokens import Verify
from validator.records.bundle import (
    CHUNK_BYTES,
    OfferMessage,
    StepMessage,
    StepRecord,
    SyncAnswer,
    chunk_digest,
    offer_signed_bytes,
    read_offer,
    unpack_step,
)
from validator.records.packing import RecordError

Get = Callable[[str], HttpAnswer]
"""GET of a path; raises LinkDown."""

_answer = msgspec.json.Decoder(SyncAnswer)


class Synced(StrEnum):
    """What a synchronisation came to."""

    TAKEN = "taken"
    """A newer version was applied."""
    CONFIRMED = "confirmed"
    """The version on disk is current, as of a new instant."""
    UNFINISHED = "unfinished"
    """The link broke, or the service has no bundle; what arrived is kept."""
    REFUSED = "refused"
    """The offer is not the city's, or older than what is on disk; nothing was changed."""


class Downloader:
    """Keeps the store at the service's version."""

    def __init__(
        self, store: CityStore, get: Get, verify: Verify, told: Callable[[datetime], None] | None = None
    ) -> None:
        """A downloader.

        Args:
            store: What it fills.
            get: The way to the service.
            verify: Checks the city's signature.
            told: Is given the service's own time with each offer.
        """
        self._told = told
        self._store = store
        self._get = get
        self._verify = verify
        self.problem = ""
        """Why the last synchronisation was not finished."""
        self.fetched_bytes = 0
        """Bytes of chunks that came over the link in the last synchronisation."""

    def sync(self) -> Synced:
        """Fetch and apply what is newer. Never raises for what the link or the service does."""
        self.problem, self.fetched_bytes = "", 0
        try:
            return self._sync()
        except LinkDown as error:
            self.problem = f"enlace: {error}"
            return Synced.UNFINISHED
        except _Refused as error:
            self.problem = str(error)
            return Synced.REFUSED
        except RecordError as error:
            self.problem = f"pacote ilegível: {error}"
            return Synced.REFUSED

    def _sync(self) -> Synced:
        current = self._store.current()
        have = 0 if current is None else current.version
        answer = self._get(f"/v1/sync?have={have}")
        if answer.status != 200:
            self.problem = f"o serviço respondeu {answer.status}"
            return Synced.UNFINISHED
        offer, issued_at, server_time = self._offer(answer.body)
        if self._told is not None:
            self._told(server_time)
        if offer.have not in (0, have) or offer.version < have:
            raise _Refused(f"a oferta vai da versão {offer.have} à {offer.version}; o aparelho tem a {have}")
        if current is not None and issued_at < current.issued_at:
            raise _Refused("a oferta é mais antiga que a lista do aparelho")
        if offer.version == have:
            self._store.apply(_confirming(offer, have), issued_at, ())
            return Synced.CONFIRMED
        _check_steps(offer)
        for digest in self._store.missing_chunks([d for step in offer.steps for d in step.chunks]):
            if not self._fetch(digest):
                return Synced.UNFINISHED
        self._store.apply(offer, issued_at, self._steps(offer))
        return Synced.TAKEN

    def _offer(self, body: bytes) -> tuple[OfferMessage, datetime, datetime]:
        try:
            signed = _answer.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _Refused(f"resposta ilegível: {error}") from error
        offer = read_offer(signed.offer)
        try:
            issued_at = read_instant(offer.issued_at, "issued_at")
            server_time = read_instant(signed.server_time, "server_time")
        except Malformed as error:
            raise _Refused(error.pt) from error
        key = self._store.trusted(signed.key_id, issued_at)
        if key is None:
            raise _Refused(f"a chave {signed.key_id} não é da cidade, ou não vale mais")
        try:
            signature = bytes.fromhex(signed.signature)
        except ValueError:
            raise _Refused("assinatura ilegível") from None
        if not self._verify(key, signature, offer_signed_bytes(signed.offer)):
            raise _Refused("a assinatura não é da cidade")
        return offer, issued_at, server_time

    def _fetch(self, digest: str) -> bool:
        answer = self._get(f"/v1/sync/chunks/{digest}")
        if answer.status != 200:
            self.problem = f"o serviço respondeu {answer.status} a um pedaço"
            return False
        if chunk_digest(answer.body) != digest:
            self.problem = "um pedaço chegou alterado"
            return False
        self.fetched_bytes += len(answer.body)
        self._store.keep_chunk(digest, answer.body)
        return True

    def _steps(self, offer: OfferMessage) -> Iterator[StepRecord]:
        for step in offer.steps:
            data = b"".join(self._store.chunk(digest) for digest in step.chunks)
            if len(data) != step.size:
                raise RecordError(f"a step of {len(data)} bytes instead of {step.size}")
            yield unpack_step(data)


class _Refused(Exception):
    """The offer cannot be taken."""


def _confirming(offer: OfferMessage, have: int) -> OfferMessage:
    return OfferMessage(offer.version, have, offer.issued_at, offer.max_age_hours, [])


def _check_steps(offer: OfferMessage) -> None:
    """The steps lead from `have` to `version` without a jump, and their chunks fit their size."""
    at = offer.have
    for step in offer.steps:
        if step.from_version != at or not _fits(step):
            raise _Refused("os passos da oferta não se seguem")
        at = step.to_version
    if at != offer.version:
        raise _Refused("os passos da oferta não chegam à versão dela")


def _fits(step: StepMessage) -> bool:
    return len(step.chunks) == -(-step.size // CHUNK_BYTES) and step.size > 0
