"""The auditor's reading of journals and rows: every entry is one row, and rows say what the entries say."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.simulation.auditor_law import AHEAD, ANNUL, BEHIND, Tap
from tests.simulation.facts import Attempt, Facts, Journal, Observed

Row = dict[str, Any]

CLOCK_SKEWED, LINE_UNKNOWN, LINE_FOREIGN, VEHICLE_FOREIGN, QUARANTINE = 1, 2, 4, 8, 16
REVOKED, ANNUL_LATE, SEEN_GONE = 32, 64, 512


@dataclass
class Release:
    """What the device did about a tap."""

    seq: int
    released: bool
    ride_class: str | None
    purse: str | None
    online: bool


@dataclass
class TapFact:
    """A tap that a device journalled, with what it did about it.

    Attributes:
        token: Text of the card's token, None for another medium.
        annulled: When the turnstile was said not to have turned, by the device's clock and by sequence.
    """

    device: str
    epoch: int
    seq: int
    boarding: str
    digest: bytes
    occurred: datetime
    line: str
    vehicle: str
    medium: str
    category: str | None
    tendered: int
    token: str | None
    continues: str | None = None
    release: Release | None = None
    annulled: tuple[tuple[tuple[str, int, int], datetime], ...] = ()

    def is_annulled(self, unheard: Collection[tuple[str, int, int]] = ()) -> bool:
        """Said in time, by the device's own clock; `unheard` are sequences that say nothing."""
        return any(
            timedelta(0) <= at - self.occurred <= ANNUL for key, at in self.annulled if key not in unheard
        )

    def dated(self, attempt: Attempt) -> tuple[datetime, int]:
        """The instant that decides, and the flag where it is not the device's own."""
        received, sane = attempt.received, -BEHIND <= self.occurred - attempt.received <= AHEAD
        if attempt.kind == "batch":
            return (self.occurred, 0) if sane else (received, QUARANTINE)
        if sane and abs(received - attempt.sent) <= AHEAD:
            return self.occurred, 0
        return received, CLOCK_SKEWED

    def tap(self, at: datetime, facts: Facts, goes_on_as: str | None = None) -> Tap:
        line = facts.lines.get(self.line)
        network = None if line is None else line[0]
        place = (self.line, network, self.vehicle)
        return Tap(self.boarding, at, *place, self.medium, self.category, self.tendered, goes_on_as)


def digest(device: str, raw: bytes) -> bytes:
    return hashlib.sha256(b"catraca-entry-1\x00" + device.encode() + b"\x00" + raw).digest()


class Entries:
    """All journals, read."""

    def __init__(self, facts: Facts) -> None:
        self.taps: dict[str, TapFact] = {}
        self.kinds: dict[tuple[str, int, int], tuple[str, bytes]] = {}
        self.cites: dict[tuple[str, int, int], str] = {}
        for journal in facts.journals.values():
            for seq, raw in enumerate(journal.entries, start=1):
                self._read(journal, seq, raw)

    def _read(self, journal: Journal, seq: int, raw: bytes) -> None:
        entry = json.loads(raw)
        key = (journal.device, journal.epoch, seq)
        if "medium" in entry:
            self.kinds[key] = ("TAP", digest(journal.device, raw))
            self.taps[entry["boarding_id"]] = _tap(journal, seq, raw, entry)
        elif "released" in entry:
            self.kinds[key] = ("RELEASE", digest(journal.device, raw))
            self.cites[key] = entry["boarding_id"]
            tap = self.taps[entry["boarding_id"]]
            if tap.release is None and tap.device == journal.device:
                tap.release = Release(
                    seq, entry["released"], entry.get("class"), entry.get("purse"), entry["mode"] == "online"
                )
        else:
            self.kinds[key] = ("ANNULMENT", digest(journal.device, raw))
            self.cites[key] = entry["annuls"]
            tap = self.taps[entry["annuls"]]
            tap.annulled += ((key, datetime.fromisoformat(entry["occurred_at"])),)


def _tap(journal: Journal, seq: int, raw: bytes, entry: dict[str, Any]) -> TapFact:
    medium = entry["medium"]
    return TapFact(
        journal.device,
        journal.epoch,
        seq,
        entry["boarding_id"],
        digest(journal.device, raw),
        datetime.fromisoformat(entry["occurred_at"]),
        entry["line"],
        entry["vehicle"],
        medium["kind"],
        medium.get("category"),
        medium.get("tendered_cents", 0),
        medium.get("token"),
        entry.get("continues"),
    )


def one_row_each(facts: Facts, observed: Observed, entries: Entries) -> Iterator[str]:
    """Every sequence that a device journalled is exactly one row of its kind, and nothing else is."""
    keys = {(r["device"], r["epoch"], r["seq"]): r for r in observed.rows["tap_keys"]}
    for key, (kind, exact) in entries.kinds.items():
        row = keys.get(key)
        if row is None:
            yield f"lost: {key} ({kind}) is no row"
            continue
        allowed = ("BOARDING", "REFUSAL") if kind == "TAP" else (kind,)
        if row["kind"] not in allowed:
            yield f"{key} is a row of kind {row['kind']} instead of {kind}"
        if row["digest"] != exact:
            yield f"{key} stands with another digest"
    for key in sorted(keys.keys() - entries.kinds.keys()):
        yield f"invented: {key} is a row and no device wrote it"
    of_kind = {"boardings": "TAP", "releases": "RELEASE", "annulments": "ANNULMENT"}
    for table, kind in of_kind.items():
        counted = Counter((r["device"], r["epoch"], r["seq"]) for r in observed.rows[table])
        wanted = [key for key, (one, _) in entries.kinds.items() if one == kind]
        for key in wanted:
            if counted[key] != 1:
                yield f"{key} is {counted[key]} rows of {table}"
    for table in ("rejected", "forks"):
        for row in observed.rows[table]:
            yield f"set apart in {table}: {row['device']} {row['seq']} {row['kind']}: {row['note']}"


def durable_is_final(facts: Facts, observed: Observed) -> Iterator[str]:
    """In SQL and Redis everything is durable, covered by a valid head, and closed."""
    epochs = {(r["device"], r["epoch"]): r for r in observed.rows["device_epochs"]}
    for key, journal in facts.journals.items():
        last = len(journal.entries)
        if not last:
            continue
        row = epochs.get(key)
        if row is None:
            yield f"{key} has no progress in SQL"
            continue
        said = (row["durable_seq"], row["top_seq"], row["covered_seq"], row["broken"], row["closed"])
        if said != (last, last, last, False, True):
            yield f"{key}: durable, top, covered, broken, closed are {said}; the journal ends at {last}"
        if observed.told.get(key) != (last, last):
            yield f"{key}: Redis tells devices {observed.told.get(key)}; the journal ends at {last}"


def rows_as_sent(facts: Facts, observed: Observed, entries: Entries) -> Iterator[str]:
    """A row was received when its bytes were, and says of the tap what the bytes say."""
    attempts = {attempt.received: attempt for attempt in facts.attempts}
    for row in observed.rows["boardings"]:
        fact = entries.taps.get(row["boarding_id"])
        attempt = attempts.get(row["received_at"])
        if fact is None or attempt is None:
            yield f"{row['boarding_id']} was never sent at {row['received_at']}"
            continue
        inside = attempt.device == fact.device and attempt.first <= fact.seq <= attempt.last
        if not inside or row["batch"] != (attempt.kind == "batch"):
            yield f"{fact.boarding} did not come in the attempt of {row['received_at']}"
        dated, flag = fact.dated(attempt)
        flags = flag | _place_flags(fact, facts)
        if has_gone(fact.device, row["received_at"], facts):
            flags |= REVOKED
        said = (row["dated_at"], row["occurred_at"], row["line"], row["vehicle"], row["medium"], row["flags"])
        wanted = (dated, fact.occurred, fact.line, fact.vehicle, fact.medium, flags)
        if said != wanted:
            yield f"{fact.boarding}: the row says {said}, the device {wanted}"


def has_gone(device: str, at: datetime, facts: Facts) -> bool:
    """Whether a device was revoked by then."""
    revoked = facts.revoked.get(device)
    return revoked is not None and at >= revoked.at


def void_keys(rows: Iterable[Row], facts: Facts) -> set[tuple[str, int, int]]:
    """The sequences among some rows that came when their device had been revoked."""
    return {
        (r["device"], r["epoch"], r["seq"]) for r in rows if has_gone(r["device"], r["received_at"], facts)
    }


def _place_flags(fact: TapFact, facts: Facts) -> int:
    own, line = facts.devices[fact.device], facts.lines.get(fact.line)
    flags = LINE_UNKNOWN if line is None else LINE_FOREIGN if line[1] != own else 0
    return flags | (0 if facts.vehicles.get(fact.vehicle) == own else VEHICLE_FOREIGN)
