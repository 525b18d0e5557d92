"""Logs of the service: one JSON object a line on standard error, also what the libraries say.

A traceback names code and never the value of a variable: among those are tokens of devices and of cards.
"""

import logging
import sys

import structlog


def log_as_json(level: str) -> None:
    """Everything that this process logs from now on is JSON.

    Args:
        level: `debug`, `info`, `warning` or `error`; what is below it is left out.
    """
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    to_json = structlog.processors.JSONRenderer(ensure_ascii=False)
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, *shared, to_json],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )
    libraries = logging.StreamHandler(sys.stderr)
    libraries.setFormatter(structlog.stdlib.ProcessorFormatter(to_json, foreign_pre_chain=shared))
    logging.basicConfig(handlers=[libraries], level=level.upper(), force=True)
