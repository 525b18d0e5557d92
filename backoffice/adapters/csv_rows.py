"""Rows of a CSV file that somebody else wrote, one by one, with the line on which each stands.

Forgiven: a byte order mark, blanks around headers and values, blank lines, short rows, empty columns at the end.
Refused with file and line: other encodings than UTF-8, quotes that never close, values beyond the last column.
"""

import csv
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

LONGEST_LINE = 1_000_000
"""Bytes; a longer line is no CSV."""


class FileFault(ValueError):
    """A file that cannot be read as it must be; the message is Portuguese, with file and line."""


def csv_rows(
    name: str,
    file: BinaryIO,
    needed: Iterable[str],
    *,
    delimiter: str = ",",
    read_bytes: Callable[[int], None] | None = None,
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows as (line, values by column); columns that are missing read as an empty text.

    Args:
        name: Name of the file, for messages.
        file: Opened for reading bytes.
        needed: Columns that must be there.
        delimiter: What separates the values.
        read_bytes: Told after each line how many bytes it had.

    Raises:
        FileFault: see above; while iterating.
    """
    reader = csv.reader(_lines(name, file, read_bytes), delimiter=delimiter, strict=True)
    try:
        header = [column.strip().lower() for column in next(reader, [])]
        _check_header(name, header, needed)
        for values in reader:
            if not any(value.strip() for value in values):
                continue
            if any(value.strip() for value in values[len(header) :]):
                raise FileFault(
                    f"{name}, linha {reader.line_num}: há {len(values)} valores e só {len(header)} colunas; "
                    "confira as aspas e os separadores"
                )
            row = dict.fromkeys(header, "")
            row.update((column, value.strip()) for column, value in zip(header, values, strict=False))
            yield reader.line_num, row
    except csv.Error as error:
        raise FileFault(f"{name}, linha {reader.line_num}: não é CSV ({error})") from error


def _lines(name: str, file: BinaryIO, read_bytes: Callable[[int], None] | None) -> Iterator[str]:
    number = 0
    while raw := file.readline(LONGEST_LINE):
        number += 1
        if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
            raise FileFault(f"{name}, linha {number}: longa demais para um arquivo CSV")
        if read_bytes is not None:
            read_bytes(len(raw))
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise FileFault(
                f"{name}, linha {number}: não está em UTF-8 (parece Latin-1 ou Windows-1252); salve o arquivo "
                "em UTF-8 e importe de novo"
            ) from error
        if "\0" in text:
            raise FileFault(f"{name}, linha {number}: não é texto em UTF-8; salve o arquivo em UTF-8")
        yield text


def _check_header(name: str, header: list[str], needed: Iterable[str]) -> None:
    missing = [column for column in needed if column not in header]
    if missing:
        raise FileFault(f"{name}, linha 1: falta a coluna {missing[0]}")
    twice = [column for column in header if column and header.count(column) > 1]
    if twice:
        raise FileFault(f"{name}, linha 1: a coluna {twice[0]} aparece duas vezes")
