"""Play seeds on demand: `make simulate SEEDS=200 FIRST=1`. Failing seeds are kept in `seeds.txt`.

python -m tests.simulation --seeds 200 --first 1       seeds one after the other, in two processes
python -m tests.simulation --seeds 1 --first 7 --large one large world
python -m tests.simulation --mutations                 every fault of `mutations.py`, each of which must be found
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.simulation.mutations import MUTATIONS, put_in
from tests.simulation.player import Player
from tests.simulation.world import LARGE, SMALL, Size

KEPT = Path(__file__).parent / "seeds.txt"
SHOWN = 8
MUTATION_SEEDS = 12


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def command_for(seed: int, size: Size) -> str:
    """What reproduces a seed."""
    large = " LARGE=yes" if size == LARGE else ""
    return f"make simulate SEEDS=1 FIRST={seed}{large}"


def kept_seeds() -> list[int]:
    """Small seeds that have failed once, whatever was wrong then."""
    lines = (line.split("#")[0].strip() for line in KEPT.read_text("utf-8").splitlines())
    return [int(line) for line in lines if line]


def keep(seed: int) -> None:
    """Remember a seed that fails."""
    if seed not in kept_seeds():
        with KEPT.open("a", encoding="utf-8") as file:
            file.write(f"{seed}\n")


def play_all(seeds: range, size: Size, processes: int) -> Iterator[tuple[int, float, list[str]]]:
    """The outcome of each seed, as they come."""
    tasks = [(seed, size) for seed in seeds]
    if processes == 1 or len(seeds) == 1:
        yield from map(Player.play, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(Player.play, tasks)


def simulate(seeds: range, size: Size, processes: int) -> int:
    """Play seeds, show progress, and keep those that fail; the number of failures."""
    began, failed = time.monotonic(), 0
    for done, (seed, _, findings) in enumerate(play_all(seeds, size, processes), start=1):
        if findings:
            failed += 1
            if size == SMALL:
                keep(seed)
            say(f"\nseed {seed}: {len(findings)} findings; again with: {command_for(seed, size)}")
            for finding in findings[:SHOWN]:
                say(f"    {finding}")
        if done % 10 == 0 or done == len(seeds):
            passed = time.monotonic() - began
            left = passed / done * (len(seeds) - done)
            say(f"{done} of {len(seeds)} seeds, {failed} failed, {passed:.0f} s, about {left:.0f} s left")
    return failed


_BROKEN = ("TypeError:", "AttributeError:", "NameError:")


def find_mutations(names: list[str]) -> int:
    """Put each fault in and play seeds until it is found; the number of those that are not."""
    missed = 0
    for name in names:
        began = time.monotonic()
        found = finding = ""
        for seed in range(1, MUTATION_SEEDS + 1):
            with put_in(name):
                _, _, findings = Player.play((seed, SMALL))
            if findings and not findings[0].startswith(_BROKEN):  # a patch that no longer fits finds nothing
                found, finding = f"seed {seed}", findings[0][:120]
                break
        missed += not found
        say(f"{name}: {found or 'NOT FOUND'} ({time.monotonic() - began:.0f} s) {finding}")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first")
    parser.add_argument("--large", action="store_true", help="hundreds of riders over a month")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument(
        "--mutations", nargs="*", metavar="NAME", help="faults to put in; all where none is named"
    )
    chosen = parser.parse_args()
    if chosen.mutations is not None:
        return find_mutations(chosen.mutations or list(MUTATIONS))
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    return simulate(seeds, LARGE if chosen.large else SMALL, chosen.processes)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
