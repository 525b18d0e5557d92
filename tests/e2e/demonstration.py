"""Runs the demonstration as a user does, and looks for what it leaves behind."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-m", "backoffice.cli"]


@dataclass(frozen=True)
class Ended:
    """A demonstration that has ended: exit code, what it said, its folder, and processes that outlived it."""

    code: int
    said: str
    folder: Path
    orphans: list[int]

    def claims(self) -> dict[str, bytes]:
        """The files of the claims, by name."""
        return {path.name: path.read_bytes() for path in sorted((self.folder / "claims").iterdir())}


def demonstrate(data_dir: Path, *arguments: str, database_url: str | None = None) -> Ended:
    """Run `catraca demo --exit` to its end."""
    with demonstrating(data_dir, *arguments, "--exit", database_url=database_url) as (process, mark):
        said = process.communicate(timeout=300)[0]
    return Ended(process.returncode, said, newest_folder(data_dir), marked(mark))


@contextmanager
def demonstrating(
    data_dir: Path, *arguments: str, database_url: str | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start `catraca demo`; the process, and the mark that all its descendants carry in their environment."""
    mark = f"CATRACA_TEST_MARK={uuid.uuid4()}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CATRACA_")}
    environment |= dict([mark.split("=")]) | {"CATRACA_DATA_DIR": str(data_dir)}
    if database_url is not None:
        environment["CATRACA_DATABASE_URL"] = database_url
    process = subprocess.Popen(
        [*COMMAND, "demo", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process, mark
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


def newest_folder(data_dir: Path) -> Path:
    """The folder of the last demonstration."""
    return max((data_dir / "demo").iterdir())


def marked(mark: str) -> list[int]:
    """Processes that carry a mark in their environment; Linux only, elsewhere none is found."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            continue
    return found
