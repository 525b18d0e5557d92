"""The validator as its API sees it: everything that a boarding needs, put together once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from validator.application.attempt import Desk
from validator.application.devices import DeviceGate
from validator.application.ports import Clock, HotState


@dataclass(frozen=True)
class Readiness:
    """Whether boardings can be answered, and why not: one word for each thing that lacks."""

    ready: bool
    lacks: tuple[str, ...] = ()


@dataclass
class Service:
    """What the API is given.

    Attributes:
        hot: The hot state.
        gate: Knows the devices.
        desk: City, cards, holders and keys.
        clock: The service's time.
        readiness: Whether boardings can be answered now.
        gauges: Numbers for the metrics page, by name.
        log: Takes what makes the canonical line of each boarding, and calls it later; None for no lines.
        max_taps: Taps in flight that are taken on.
        max_wait_s: No tap is taken on while one waits for longer, in seconds.
        max_batches: Batches in flight that are taken on.
        body_timeout_s: Longest wait for the body of a request.
    """

    hot: HotState
    gate: DeviceGate
    desk: Desk
    clock: Clock
    readiness: Callable[[], Readiness]
    gauges: Callable[[], Mapping[str, float]] = field(default=dict)
    log: Callable[[Callable[[], msgspec.Struct]], None] | None = None
    max_taps: int = 512
    max_wait_s: float = 0.15
    max_batches: int = 8
    body_timeout_s: float = 10.0
