"""Where the time of a boarding goes in a worker under full load: a table by part of the code, and a flame picture."""

import http.client
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape

from loadtests.bench.single import SingleRoute
from loadtests.bench.stage import Stage
from loadtests.bench.steps import processor_us
from loadtests.bench.table import Outcome
from loadtests.bench.taps import TapMaker

PARTS = (
    ("validator.domain.", "the law"),
    ("validator.records.", "records packed and unpacked"),
    ("validator.adapters.redis", "commands to Redis and its replies"),
    ("validator.adapters.", "log lines and keys"),
    ("validator.application.", "reading the tap, judging, answering"),
    ("validator.api.", "the boarding routes over ASGI"),
    ("validator.", "the rest of the service"),
    ("uvicorn.", "uvicorn: parsing requests, writing answers"),
    ("asyncio.", "the event loop"),
)
_ELSE = "the standard library, and what was running in C"
_WIDTH, _ROW, _LEAST = 1_200, 17, 0.002
_COLOURS = {"validator": "#e8a33d", "uvicorn": "#7fb2dd", "asyncio": "#b5c9a8"}


def measure_profile(stage: Stage) -> Iterator[Outcome]:
    """Note each part's share among the figures and draw the flame; it fills no row of the target table."""
    with stage.redis(stage.tier.holders) as (url, city), stage.sampled_validator(url) as port:
        route = SingleRoute(stage, url, port, city, TapMaker(city))
        route.run()
        _ask(port, "POST")
        answers, before = 0, processor_us(stage.pids[port])
        for _ in range(stage.tier.rounds):
            answers += len(route.run()[0].answers)
        each_us = (processor_us(stage.pids[port]) - before) / max(1, answers)
        stacks: dict[str, int] = json.loads(_ask(port, "GET"))
    total = sum(stacks.values())
    for part, samples in by_part(stacks).most_common():
        stage.figures.add(f"in service: {part}", "us", each_us * samples / max(1, total))
    stage.figures.add(f"in service: the whole ({total:,} samples of a worker under full load)", "us", each_us)
    stage.flame = flame(stacks)
    yield from ()


def _ask(port: int, method: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, "/sampler")
        return connection.getresponse().read()
    finally:
        connection.close()


def by_part(stacks: Mapping[str, int]) -> Counter[str]:
    """Samples by the part of the code that was running: the innermost function decides."""
    parts: Counter[str] = Counter()
    for stack, samples in stacks.items():
        innermost = stack.rpartition(";")[2]
        parts[next((part for start, part in PARTS if innermost.startswith(start)), _ELSE)] += samples
    return parts


@dataclass(slots=True)
class _Node:
    samples: int = 0
    inner: dict[str, "_Node"] = field(default_factory=dict)


def flame(stacks: Mapping[str, int]) -> str:
    """An SVG in which each function is as wide as its part of the time and stands on what called it."""
    root = _Node()
    for stack, samples in stacks.items():
        root.samples += samples
        node = root
        for name in _shown(stack):
            node = node.inner.setdefault(name, _Node())
            node.samples += samples
    bars: list[str] = []
    depth = _draw(root, root.samples, 0.0, 0, bars)
    height = 40 + (depth + 1) * _ROW
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="monospace" '
        f'font-size="11" role="img">\n<title>Catraca: where the time of a boarding goes</title>\n'
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>\n'
        f'<text x="6" y="18" font-size="14" font-family="sans-serif">A worker under full load: the wider, the more '
        f"processor time; below each function what it calls ({root.samples:,} samples)</text>\n"
    )
    return head + "\n".join(bars) + "\n</svg>\n"


def _shown(stack: str) -> list[str]:
    """The functions from the first that has to do with a request."""
    names = stack.split(";")
    first = next(
        (place for place, name in enumerate(names) if name.startswith(("uvicorn.protocols", "validator."))), 0
    )
    return names[first:]


def _draw(node: _Node, total: int, x: float, depth: int, bars: list[str]) -> int:
    deepest = depth
    for name, inner in sorted(node.inner.items(), key=lambda pair: -pair[1].samples):
        width = _WIDTH * inner.samples / max(1, total)
        if inner.samples >= _LEAST * total:
            bars.append(_bar(name, inner.samples / total, x, depth, width))
            deepest = max(deepest, _draw(inner, total, x, depth + 1, bars))
        x += width
    return deepest


def _bar(name: str, part: float, x: float, depth: int, width: float) -> str:
    y = 30 + depth * _ROW
    module, _, function = name.partition(":")
    fits = int(width / 6.7)
    text = escape(function[:fits]) if fits >= 4 else ""
    colour = _COLOURS.get(module.partition(".")[0], "#d9d9d9")
    return (
        f"<g><title>{escape(name)}: {100 * part:.1f} %</title>"
        f'<rect x="{x:.1f}" y="{y}" width="{max(0.5, width - 0.5):.1f}" height="{_ROW - 1}" fill="{colour}"/>'
        f'<text x="{x + 3:.1f}" y="{y + 12}">{text}</text></g>'
    )
