"""A GTFS feed as a zip file: agencies, routes and trips, streamed, with a message for whatever cannot be read."""

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from backoffice.adapters.csv_rows import FileFault, csv_rows

LARGEST_FILE = 4 * 1024**3
"""Bytes of one unpacked file; a feed of a country has less."""

Progress = Callable[[str, int], None]
"""Told the file's name and how many more bytes of it were read."""

_TIME = re.compile(r"([0-9]{1,3}):([0-5][0-9]):([0-5][0-9])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Agency:
    """A row of agency.txt; `id` is empty where the feed has none."""

    id: str
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Route:
    """A row of routes.txt."""

    id: str
    agency_id: str
    short_name: str
    long_name: str
    line: int
    columns: dict[str, str]


@dataclass(frozen=True, slots=True)
class Trip:
    """A row of trips.txt; `direction` is 0, 1 or None."""

    id: str
    route_id: str
    headsign: str
    direction: int | None
    line: int


class GtfsFeed:
    """An open feed. All readers raise FileFault with file and line for what cannot be read."""

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        """Open a feed.

        Raises:
            FileFault: no zip file, or without agency.txt, routes.txt or trips.txt.
        """
        self._progress = progress
        try:
            self._zip = zipfile.ZipFile(path)
        except FileNotFoundError as error:
            raise FileFault(f"o arquivo {path} não existe; confira o caminho") from error
        except (zipfile.BadZipFile, OSError, RuntimeError) as error:
            raise FileFault(
                f"{path} não é um zip que se possa abrir ({error}); baixe o feed de novo"
            ) from error
        self._folder = self._find_folder(path)
        for needed in ("agency.txt", "routes.txt", "trips.txt"):
            if not self.has(needed):
                self._zip.close()
                raise FileFault(f"{path}: falta {needed}; isto não é um feed GTFS completo")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def has(self, name: str) -> bool:
        """Whether the feed has a file."""
        return self._folder + name in self._zip.NameToInfo

    def size(self, name: str) -> int:
        """Bytes of a file when unpacked; 0 for none."""
        return self._zip.getinfo(self._folder + name).file_size if self.has(name) else 0

    def agencies(self) -> Iterator[Agency]:
        """All agencies, repeated ones included."""
        for line, row in self._rows("agency.txt", ["agency_name"]):
            if not row["agency_name"]:
                raise FileFault(f"agency.txt, linha {line}: agency_name está vazio")
            yield Agency(row.get("agency_id", ""), row["agency_name"], line)

    def routes(self) -> Iterator[Route]:
        """All routes."""
        for line, row in self._rows("routes.txt", ["route_id"]):
            if not row["route_id"]:
                raise FileFault(f"routes.txt, linha {line}: route_id está vazio")
            yield Route(
                row["route_id"],
                row.get("agency_id", ""),
                row.get("route_short_name", ""),
                row.get("route_long_name", ""),
                line,
                row,
            )

    def trips(self) -> Iterator[Trip]:
        """All trips."""
        for line, row in self._rows("trips.txt", ["route_id", "trip_id"]):
            if not row["trip_id"] or not row["route_id"]:
                raise FileFault(f"trips.txt, linha {line}: trip_id ou route_id está vazio")
            direction = row.get("direction_id", "")
            if direction not in ("", "0", "1"):
                raise FileFault(f"trips.txt, linha {line}: direction_id é 0 ou 1, não {direction!r}")
            yield Trip(
                row["trip_id"],
                row["route_id"],
                row.get("trip_headsign", ""),
                int(direction) if direction else None,
                line,
            )

    def trip_times(self) -> dict[str, tuple[int, int]]:
        """First departure and last arrival by trip, in seconds after midnight of the operational day.

        Times after 24:00 stay as they are; stops without a time are passed over. A missing or empty file has none.
        """
        times: dict[str, tuple[int, int]] = {}
        if not self.size("stop_times.txt"):
            return times
        for line, row in self._rows("stop_times.txt", ["trip_id"]):
            for column in ("arrival_time", "departure_time"):
                text = row.get(column, "")
                if text:
                    second = _seconds(text, column, line)
                    first, last = times.get(row["trip_id"], (second, second))
                    times[row["trip_id"]] = (min(first, second), max(last, second))
        return times

    def _rows(self, name: str, needed: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
        if self.size(name) > LARGEST_FILE:
            raise FileFault(f"{name}: o arquivo é grande demais para um feed GTFS")

        def read(count: int) -> None:
            if self._progress is not None:
                self._progress(name, count)

        try:
            # Buffered, since the reader of a zip ignores the limit of a line.
            with self._zip.open(self._folder + name) as packed, io.BufferedReader(packed) as file:  # type: ignore[type-var]
                yield from csv_rows(name, file, needed, read_bytes=read)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise FileFault(f"{name}: o zip está danificado ({error}); baixe o feed de novo") from error

    def _find_folder(self, path: Path) -> str:
        """Where in the zip the files lie: at its root, or in the only folder that has routes.txt."""
        if "routes.txt" in self._zip.NameToInfo:
            return ""
        folders = [
            name.removesuffix("routes.txt") for name in self._zip.NameToInfo if name.endswith("/routes.txt")
        ]
        folders = [folder for folder in folders if not folder.startswith("__MACOSX/")]
        if len(folders) != 1:
            self._zip.close()
            raise FileFault(f"{path}: falta routes.txt; isto não é um feed GTFS completo")
        return folders[0]


def _seconds(text: str, column: str, line: int) -> int:
    found = _TIME.fullmatch(text)
    if found is None:
        raise FileFault(
            f"stop_times.txt, linha {line}: {column} é uma hora como 07:05:00 ou 25:10:00, não {text!r}"
        )
    hours, minutes, seconds = (int(part) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds
