"""Plays seeds in one process, all on one template; a module of its own, so that a pool's processes can import it."""

import logging
import tempfile
import time
from pathlib import Path

import structlog

from tests.simulation.play import play
from tests.simulation.template import Template, make_template
from tests.simulation.world import Size


def be_quiet() -> None:
    """The services have much to say about what is broken on purpose."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


class Player:
    """Plays seeds in one process, on one template."""

    template: Template | None = None
    folder: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def play(cls, task: tuple[int, Size]) -> tuple[int, float, list[str]]:
        seed, size = task
        if cls.template is None:
            be_quiet()
            cls.folder = tempfile.TemporaryDirectory(prefix="catraca-simulation-", ignore_cleanup_errors=True)
            cls.template = make_template(Path(cls.folder.name) / "template", size.copies)
        assert cls.folder is not None
        began = time.monotonic()
        try:
            findings = play(seed, Path(cls.folder.name) / str(seed), cls.template, size)
        except Exception as error:  # noqa: BLE001 - a seed that breaks the player is a finding too
            findings = [f"{type(error).__name__}: {error}"]
        return seed, time.monotonic() - began, findings
