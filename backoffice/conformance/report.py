"""What was found: each clause of the protocol with what was expected and what came."""

from collections.abc import Callable

Say = Callable[[str], None]
"""Takes one line for whoever runs the kit."""

_LONGEST = 600


class Report:
    """Counts clauses, and says each of them at once.

    Attributes:
        passed: Clauses that held.
        failed: Clauses that did not.
        skipped: Clauses that could not be tried, and did not fail.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self.passed = 0
        self.failed = 0
        self.skipped = 0

    def holds(self, section: int, clause: str, expected: str, got: object, held: bool) -> bool:
        """One clause; returns whether it held."""
        if held:
            self.passed += 1
            self._say(f"passou  §{section:<3} {clause}: {expected}")
        else:
            self.failed += 1
            self._say(f"FALHOU  §{section:<3} {clause}")
            self._say(f"              esperado: {expected}")
            self._say(f"              recebido: {str(got)[:_LONGEST]}")
        return held

    def skip(self, section: int, clause: str, why: str) -> None:
        """A clause that cannot be tried here."""
        self.skipped += 1
        self._say(f"pulado  §{section:<3} {clause}: {why}")

    def last_line(self) -> str:
        """The result in one line, for people and programs."""
        return f"{self.passed} passed, {self.failed} failed"
