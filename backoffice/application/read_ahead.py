"""Read the next portion while the last one is worked on."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def read_ahead(portions: Iterator[T]) -> Iterator[T]:
    """The same portions; each is made by another thread while the caller works on the one before it.

    The caller leaves to that thread what the portions are read from. An error while reading is raised here.
    """
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, portions, None)
        while (portion := coming.result()) is not None:
            coming = reader.submit(next, portions, None)
            yield portion
