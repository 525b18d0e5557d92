"""The auditor's replay of what validators committed: each decision by the law, each holder's usage from what happened.

Rows are taken in the order in which they came into SQL, which for each shard is that of its commits; what they decided
and what is left of each holder is worked out here, from the bytes that the devices wrote.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from tests.simulation.auditor_breakdown import Boarded, goes_on_as
from tests.simulation.auditor_journal import (
    QUARANTINE,
    SEEN_GONE,
    Entries,
    Row,
    TapFact,
    has_gone,
)
from tests.simulation.auditor_law import (
    CAP,
    STUDENT,
    Known,
    Law,
    Outcome,
    Taking,
    Used,
    class_of,
    day_of,
    known,
    month_of,
)
from tests.simulation.facts import Answer, Attempt, Facts, Observed, Token

_KEPT = timedelta(hours=24)
"""How long an answer is kept at least after its tap has come."""


class Hot:
    """Replays the commits of all shards."""

    def __init__(self, facts: Facts, observed: Observed, entries: Entries, law: Law) -> None:
        self._facts = facts
        self._observed = observed
        self._entries = entries
        self._law = law
        self._attempts = {attempt.received: attempt for attempt in facts.attempts}
        self._used: dict[str, Used] = {}
        self._taken: dict[str, Taking] = {}
        self._holder: dict[str, str | None] = {}
        self._annulled: set[str] = set()
        self._newest: dict[int, int] = {}
        self._came = {row["boarding_id"]: row["received_at"] for row in observed.rows["boardings"]}
        self.outcomes: dict[str, Outcome] = {}

    def findings(self) -> Iterator[str]:
        """What is wrong with decisions and usage."""
        for kind, row in self._commits():
            self._newest[row["shard"]] = max(self._newest.get(row["shard"], 0), row["generation"])
            if kind == "boardings":
                yield from self._boarding(row)
            elif kind == "releases":
                yield from self._release(row)
            else:
                yield from self._annulment(row)
        yield from self._usage()
        yield from self._answers()

    def _commits(self) -> list[tuple[str, Row]]:
        rows = [
            (kind, row)
            for kind in ("boardings", "releases", "annulments")
            for row in self._observed.rows[kind]
        ]
        came = self._observed.order
        return sorted(rows, key=lambda r: (r[1]["shard"], came[r[1]["device"], r[1]["epoch"], r[1]["seq"]]))

    # Decisions

    def _boarding(self, row: Row) -> Iterator[str]:
        fact = self._entries.taps.get(row["boarding_id"])
        attempt = self._attempts.get(row["received_at"])
        if fact is None or attempt is None:
            return
        at, flag = fact.dated(attempt)
        token = self._facts.tokens.get(fact.token or "")
        outcome, holder = self._decide(fact, attempt, at, flag, token)
        self.outcomes[fact.boarding] = outcome
        self._holder[fact.boarding] = holder
        wanted = (
            "BOARDING" if outcome.accepted else "REFUSAL",
            outcome.reason,
            outcome.category,
            outcome.fare,
            outcome.rider,
            outcome.city,
            outcome.operator,
            outcome.change,
            outcome.turnstile,
        )
        names = ("kind", "reason", "category", "fare_cents", "rider_cents", "city_cents", "operator_cents")
        said = tuple(row[name] for name in (*names, "change_cents", "turnstile"))
        if said != wanted:
            yield f"{fact.boarding} of {fact.device} at {at}: decided {said}; the law says {wanted}"
        if has_gone(fact.device, row["received_at"], self._facts):
            self._holder[fact.boarding] = None  # it counts for nobody until a person lets it in
        elif outcome.accepted and holder is not None:
            self._stand(fact.boarding, holder, _taking(outcome, fact, at))
            if not self._is_of_a_lost_world(row):
                yield from self._left(row, outcome, holder, at, attempt)

    def _decide(
        self, fact: TapFact, attempt: Attempt, at: datetime, flag: int, token: Token | None
    ) -> tuple[Outcome, str | None]:
        """The outcome, and the holder for whom the tap counts."""
        if flag == QUARANTINE:
            return Outcome("CLOCK_INVALID"), None
        if fact.token is None:
            return self._law.decide(fact.tap(at, self._facts), None, Used()), None
        if token is None:
            return Outcome("TOKEN_INVALID"), None
        person = self._facts.people.get(token.hot_id)
        if person is None:
            return Outcome("TOKEN_INVALID"), None
        holder = known(person, shown=attempt.received)
        refusal = card_refusal(token, holder)
        if refusal is not None:
            proved = refusal in ("CARD_REPLACED", "CARD_BLOCKED")
            return Outcome(refusal), token.hot_id if proved else None
        used = self._of(token.hot_id)
        goes_on = goes_on_as(
            self._facts, used.latest, fact.continues, fact.vehicle, at, shown=attempt.received
        )
        return self._law.decide(fact.tap(at, self._facts, goes_on), holder, used), token.hot_id

    def _is_of_a_lost_world(self, row: Row) -> bool:
        """Whether an older file of Redis brought the row after a rebuild: it counts, but not what was left then."""
        return bool(row["generation"] < self._newest[row["shard"]])

    def _left(self, row: Row, outcome: Outcome, holder: str, at: datetime, attempt: Attempt) -> Iterator[str]:
        """What the answer said to remain."""
        if outcome.purse is None:
            wanted: tuple[int | None, int | None] = (None, None)
        else:
            state = known(self._facts.people[holder], shown=attempt.received)
            used = self._of(holder)
            passes = state.bought(outcome.purse) - used.spent(outcome.purse)
            wanted = (CAP - used.half(month_of(at)) if outcome.counts else None, passes)
        said = (row["month_boardings"], row["passes"])
        if said != wanted:
            yield f"{row['boarding_id']}: said to remain {said}, truly {wanted}"

    # Releases and annulments

    def _release(self, row: Row) -> Iterator[str]:
        key = (row["device"], row["epoch"], row["seq"])
        boarding = self._entries.cites.get(key)
        if boarding is None:
            return
        fact = self._entries.taps[boarding]
        release = fact.release
        if has_gone(row["device"], row["received_at"], self._facts):
            return
        if release is None or release.seq != row["seq"] or fact.device != row["device"]:
            return
        if row["flags"] & SEEN_GONE:
            yield from self._gone(row, boarding, "release")
            return
        outcome, holder = self.outcomes.get(boarding), self._holder.get(boarding)
        if outcome is None or holder is None:
            return
        if not release.released or boarding in self._annulled:
            self._stand(boarding, holder, None)
        elif not (outcome.accepted and _same_ride(outcome, release.ride_class, release.purse)):
            at = self._dated(boarding)
            self._stand(boarding, holder, self._taken_on(fact, release.ride_class, release.purse, at))

    def _taken_on(
        self, fact: TapFact, ride_class: str | None, purse: str | None, at: datetime
    ) -> Taking | None:
        """What a ride on a class takes, whatever was answered; nothing on a day without fare."""
        tap = fact.tap(at, self._facts)
        if ride_class in (None, "FULL") or self._law.fare(tap.network, day_of(at)) == 0:
            return None
        outcome = self.outcomes[fact.boarding]
        if outcome.went_on:
            return None  # it goes on from a ride that took its pass, whatever the device says
        personal = (at, fact.boarding, fact.vehicle)
        month = month_of(at)
        if ride_class == "HALF":
            return Taking(month, True, "STUDENT", personal, Boarded(*personal, STUDENT))
        if ride_class == "PURSE":
            spent = (
                purse or "PREPAID"
            )  # docs/device-protocol.md: over a refusal, where the release names none
            return Taking(month, False, spent, None, Boarded(*personal, spent.split("/")[0]))
        answered = outcome.category if class_of(outcome.category) == "FREE" else None
        return Taking(month, personal=personal, boarded=Boarded(*personal, answered or "ELDER"))

    def _annulment(self, row: Row) -> Iterator[str]:
        boarding = self._entries.cites.get((row["device"], row["epoch"], row["seq"]))
        if boarding is None:
            return
        if row["flags"] & SEEN_GONE:
            yield from self._gone(row, boarding, "annulment")
            return
        fact, holder = self._entries.taps[boarding], self._holder.get(boarding)
        if has_gone(row["device"], row["received_at"], self._facts):
            return
        if fact.is_annulled():
            self._annulled.add(boarding)
            if holder is not None:
                self._stand(boarding, holder, None)

    def _gone(self, row: Row, boarding: str, what: str) -> Iterator[str]:
        """Whether the service may have let go of a boarding before what cites it came: after a day, not sooner."""
        came = self._came.get(boarding)
        if came is None or row["received_at"] - came < _KEPT:
            yield f"{what} of {boarding}: the service no longer knows the boarding, and it should"

    def _dated(self, boarding: str) -> datetime:
        fact = self._entries.taps[boarding]
        return fact.dated(self._attempts[self._came[boarding]])[0]

    # Usage

    def _of(self, holder: str) -> Used:
        return self._used.setdefault(holder, Used())

    def _stand(self, boarding: str, holder: str, taking: Taking | None) -> None:
        """From now on a boarding has taken this, and nothing else."""
        used, was = self._of(holder), self._taken.pop(boarding, None)
        if was is not None:
            used.take(was, -1)
        if taking is not None and not taking.is_nothing:
            used.take(taking)
            self._taken[boarding] = taking

    def _usage(self) -> Iterator[str]:
        for holder in self._facts.people:
            said, used = self._observed.usage.get(holder), self._of(holder)
            if said is None:
                yield f"holder {holder} has no usage in Redis"
                continue
            net = {
                key: count - _counts(said["returned"]).get(key, 0)
                for key, count in _counts(said["used"]).items()
            }
            net = {key: count for key, count in net.items() if count}
            if _counts(said["half"]) != used.months():
                yield f"holder {holder}: Redis counts half fares {said['half']}, truly {used.months()}"
            if net != used.purses():
                yield f"holder {holder}: Redis counts passes {net}, truly {used.purses()}"
            last = None if used.last is None else used.last[1]
            if said["last"] != last:
                yield f"holder {holder}: Redis remembers {said['last']} as the last ride, truly {last}"

    # Answers

    def _answers(self) -> Iterator[str]:
        """The same bytes, the same answer; and the row says what was answered last."""
        rows = {row["boarding_id"]: row for row in self._observed.rows["boardings"]}
        first: dict[tuple[str, bytes], Answer] = {}
        for answer in self._facts.answers:
            if answer.outcome == "recorded":
                continue
            key = (answer.boarding, answer.digest)
            before = first.get(key)
            if before is not None and _said(before) != _said(answer) and not self._lost(before, answer):
                yield f"{answer.boarding}: answered {_said(before)}, and then {_said(answer)}"
            first[key] = answer
        for (boarding, _), answer in first.items():
            row = rows.get(boarding)
            if row is None or any(loss > answer.received for loss in self._facts.losses):
                continue
            if _told(answer) != _told_by(row):
                yield f"{boarding}: answered {_told(answer)}; the row says {_told_by(row)}"

    def _lost(self, before: Answer, after: Answer) -> bool:
        return any(before.received <= loss <= after.received for loss in self._facts.losses)


def _counts(value: object) -> dict[str, int]:
    assert isinstance(value, dict)
    return value


def card_refusal(token: Token, holder: Known) -> str | None:
    if not token.signed:
        return "TOKEN_INVALID"
    card = holder.cards.get(token.number)
    if card is None:
        return "CARD_UNKNOWN"
    if token.issue < card[0] or card[1] == "REPLACED":
        return "CARD_REPLACED"
    if card[1] == "BLOCKED":
        return "CARD_BLOCKED"
    return None if token.issue == card[0] else "TOKEN_INVALID"


def _taking(outcome: Outcome, fact: TapFact, at: datetime) -> Taking:
    here = (at, fact.boarding, fact.vehicle)
    personal = here if outcome.personal else None
    is_kept = outcome.personal or outcome.purse is not None or outcome.went_on
    boarded = Boarded(*here, outcome.category or "") if is_kept else None
    return Taking(month_of(at), outcome.counts, outcome.purse, personal, boarded)


def _same_ride(outcome: Outcome, ride_class: str | None, purse: str | None) -> bool:
    if ride_class is None or outcome.category is None:
        return True
    if class_of(outcome.category) != ride_class:
        return False
    return purse is None or outcome.purse is None or purse == outcome.purse


def _told(answer: Answer) -> tuple[object, ...]:
    return (
        answer.outcome,
        answer.reason,
        answer.ride_class,
        answer.fare,
        answer.rider,
        answer.change,
        answer.turnstile,
        answer.left_in_month,
        answer.passes,
    )


def _said(answer: Answer) -> tuple[object, ...]:
    return (*_told(answer), answer.purse)


def _told_by(row: Row) -> tuple[object, ...]:
    accepted = row["kind"] == "BOARDING"
    return (
        "accepted" if accepted else "refused",
        row["reason"],
        class_of(row["category"]),
        row["fare_cents"],
        row["rider_cents"],
        row["change_cents"],
        row["turnstile"],
        row["month_boardings"],
        row["passes"],
    )
