"""Ctrl-C and the signal to end, which must never come between the start of a process and the note that it runs."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While it is entered, both signals raise KeyboardInterrupt; inside `held` they wait until its end."""

    def __init__(self) -> None:
        self._holding = 0
        self._waiting = False
        self._before: dict[signal.Signals, Any] = {}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Work that must not be cut in two.

        Raises:
            KeyboardInterrupt: a signal has come meanwhile.
        """
        self._holding += 1
        try:
            yield
        finally:
            self._holding -= 1
        if self._waiting and not self._holding:
            self._waiting = False
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._interrupt) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._holding:
            self._waiting = True
            return
        raise KeyboardInterrupt
