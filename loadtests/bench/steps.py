"""Where the time of a boarding goes: microseconds of each step alone, and of the whole in the server."""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from loadtests.bench.city import BenchCity, make_city
from loadtests.bench.generator import closed_loop
from loadtests.bench.ingest import on_server_processor
from loadtests.bench.single import SingleRoute
from loadtests.bench.stage import Stage, now
from loadtests.bench.table import Outcome
from loadtests.bench.taps import TapMaker, body_of
from validator.adapters.ed25519_keys import verify
from validator.adapters.redis_link import packed
from validator.adapters.redis_scripts import claim_command, commit_command
from validator.api.canonical_lines import boarding_line
from validator.application.attempt import Attempt, Desk
from validator.application.board import answer_to, facts_of
from validator.application.cards import CardReader
from validator.application.current_city import CurrentCity
from validator.application.devices import Device
from validator.application.holders import HolderReader
from validator.application.instants import read_instant
from validator.application.ports import Commit, Values
from validator.application.reading import read_tap
from validator.records.city import view_city
from validator.records.device_messages import TapMessage, digest_of
from validator.records.keys import CITY, SHARDS, device_key, device_shard
from validator.records.packing import to_micros
from validator.records.snapshot import unpack_device
from validator.records.usage import pack_usage_record, unpack_usage_record

_TAPS = 400
_IN_ONE_CALL = 16
_REPEATS = 40
_encode = msgspec.json.Encoder().encode


def measure_steps(stage: Stage) -> Iterator[Outcome]:
    """Note the steps among the absolute figures; they fill no row of the target table."""
    with on_server_processor():
        _alone(stage)
    _in_service(stage)
    yield from ()


class _Bench:
    """Taps at every stage of their way, made once."""

    def __init__(self) -> None:
        city, pairs = make_city(2_000)
        laid = list(pairs)
        store = dict(zip(laid[::2], laid[1::2], strict=True))
        taps = TapMaker(city).singles(_TAPS, now())
        self.view = view_city(store[CITY])
        self.desk = Desk(CurrentCity(self.view), CardReader(), HolderReader(), verify)
        self.devices = [_device(city, number, store) for number in taps.devices]
        self.bodies = [body_of(request) for request in taps.requests]
        self.messages: list[TapMessage] = [read_tap(body) for body in self.bodies]
        self.digests = [digest_of(d.id, b) for d, b in zip(self.devices, self.bodies, strict=True)]
        self.received = to_micros(datetime.now(UTC))
        self.attempts = [self.attempt(place) for place in range(_TAPS)]
        self.values = Values()
        for attempt in self.attempts:
            assert attempt.claim is not None
            self.values.update({key: store.get(key) for key in attempt.first_keys()})
            self.values[attempt.claim[0]] = attempt.claim[1]
        self.commits = [self.decide(attempt) for attempt in self.attempts]
        for attempt in self.attempts:
            attempt.committed()
        self.usages = [
            v for a in self.attempts if a.facts.card and (v := self.values[a.facts.card.usage_key])
        ]

    def attempt(self, place: int) -> Attempt:
        """A tap that was read, before anything is decided."""
        message = self.messages[place]
        at = read_instant(message.occurred_at, "occurred_at")
        facts = facts_of(
            self.devices[place], message, self.digests[place], at, self.received, at, self.desk, batch=False
        )
        return Attempt(self.devices[place], facts, 0, self.desk)

    def decide(self, attempt: Attempt) -> Commit:
        """Its decision, with everything that will be written."""
        commit = attempt.decide(self.values)
        assert commit is not None
        return commit


def _device(city: BenchCity, number: int, store: dict[bytes, bytes]) -> Device:
    key = device_key(city.devices[number].id)
    record = unpack_device(store[key])
    name = city.devices[number].id
    return Device(name, record.token_hash, record, store[key], device_shard(name), key)


def _alone(stage: Stage) -> None:
    """Each step in a loop of its own: the least that it costs, with warm caches."""
    bench = _Bench()
    places = list(range(_TAPS))
    tokens = [m.medium.token for m in bench.messages if hasattr(m.medium, "token")]
    steps: list[tuple[str, Callable[[Any], object], Sequence[Any]]] = [
        ("read the tap (msgspec, strict)", read_tap, bench.bodies),
        ("digest of the exact bytes", lambda n: digest_of(bench.devices[n].id, bench.bodies[n]), places),
        ("a card's token, first sight", lambda text: CardReader().read(text), tokens),
        ("facts, keys and instants of the tap", bench.attempt, places),
        ("judge, decide and pack all that is written", bench.decide, bench.attempts),
        ("  of it: usage from its bytes", unpack_usage_record, bench.usages),
        ("  of it: usage to bytes", pack_usage_record, [unpack_usage_record(u) for u in bench.usages]),
        ("answer to the device, encoded", lambda a: _encode(answer_to(a, "pt-BR")), bench.attempts),
        ("line of log", lambda a: _encode(boarding_line(a, 0.003)), bench.attempts),
    ]
    for name, step, inputs in steps:
        stage.figures.add(f"step: {name}", "us", _least_us(step, inputs))
    groups = [bench.attempts[start : start + _IN_ONE_CALL] for start in range(0, _TAPS, _IN_ONE_CALL)]
    stage.figures.add("step: commands to read", "us", _least_us(_read_commands, groups) / _IN_ONE_CALL)
    commits = [bench.commits[start : start + _IN_ONE_CALL] for start in range(0, _TAPS, _IN_ONE_CALL)]
    stage.figures.add("step: command to commit", "us", _least_us(_commit_command, commits) / _IN_ONE_CALL)


def _read_commands(attempts: list[Attempt]) -> None:
    claim_command([a.claim for a in attempts if a.claim is not None])
    packed(b"MGET", *dict.fromkeys(key for a in attempts for key in a.first_keys()))


def _commit_command(commits: list[Commit]) -> None:
    shards = list(dict.fromkeys(commit.shard for commit in commits))
    commit_command(commits, shards, [b"1"] * SHARDS, [0] * SHARDS)


def _least_us(step: Callable[[Any], object], inputs: Sequence[Any]) -> float:
    """The least of some passes over all inputs, a pass being the mean: what disturbed it is left out."""
    passes = []
    for _ in range(_REPEATS):
        began = time.perf_counter_ns()
        for value in inputs:
            step(value)
        passes.append((time.perf_counter_ns() - began) / len(inputs) / 1_000)
    return min(passes)


def _in_service(stage: Stage) -> None:
    """Processor time of the server's process for each answer, of a boarding and of doing nothing."""
    if not Path("/proc/self/stat").exists():
        return
    ours, nothing = [], []
    with (
        stage.redis(stage.tier.holders) as (url, city),
        stage.validator(url) as port,
        stage.null("shim") as null,
    ):
        route = SingleRoute(stage, url, port, city, TapMaker(city))
        for _ in range(stage.tier.rounds):
            before = processor_us(stage.pids[port])
            load, taps = route.run()
            ours.append((processor_us(stage.pids[port]) - before) / len(load.answers))
            before = processor_us(stage.pids[null])
            answered = closed_loop(null, taps.requests, seconds=stage.tier.seconds).answers
            nothing.append((processor_us(stage.pids[null]) - before) / len(answered))
    stage.figures.add("server's processor time, one boarding", "us", statistics.median(ours))
    stage.figures.add("server's processor time, null through the same shim", "us", statistics.median(nothing))


def processor_us(pid: int) -> float:
    """User and system time of a process so far, in microseconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000 / os.sysconf("SC_CLK_TCK")
