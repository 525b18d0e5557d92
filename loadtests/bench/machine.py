"""The machine that figures come from, and which of its processors each part of a run may use."""

import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Processors:
    """Which processors the server under load has, and which are left for the load, Redis and databases."""

    server: frozenset[int]
    rest: frozenset[int]


@functools.cache
def processors() -> Processors:
    """One processor for the server under load and all others for the rest; a machine with only one shares it.

    As it was when first asked: this process then leaves the server's processor itself.
    """
    if not hasattr(os, "sched_getaffinity"):
        return Processors(frozenset(), frozenset())
    usable = sorted(os.sched_getaffinity(0))
    return Processors(frozenset(usable[:1]), frozenset(usable[1:] or usable))


def pin(pid: int, to: frozenset[int]) -> None:
    """Keep a process on some processors, where the system can."""
    if to and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(pid, to)


def description() -> dict[str, object]:
    """What a reader must know of the machine; no name of it and no path."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count() or 1,
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "python_pgo": "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or ""),
        "python_compiler": platform.python_compiler(),
        "packages": {
            name: importlib.metadata.version(name)
            for name in (
                "uvicorn",
                "uvloop",
                "httptools",
                "redis",
                "hiredis",
                "msgspec",
                "psycopg",
                "sqlalchemy",
            )
        },
    }


def commit() -> str:
    """The commit that is measured, with a mark where the tree has changes; empty outside a checkout."""
    try:
        said = _git("describe", "--always", "--dirty", "--abbrev=7", "--exclude=*")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return said


def _git(*arguments: str) -> str:
    here = Path(__file__).parent
    done = subprocess.run(["git", *arguments], cwd=here, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _cpu_name() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.is_file():
        seen = _fields(facts.read_text().splitlines())
        name = seen.get("model name", platform.machine())
        return f"{name}, family {seen.get('cpu family', '?')} model {seen.get('model', '?')}"
    return platform.processor() or platform.machine()


def _fields(lines: Sequence[str]) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _memory_gb() -> int | None:
    if sys.platform == "win32":
        return None
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
