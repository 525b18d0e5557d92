"""What the metrics page shows of boardings: plain numbers, counted where they happen."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from validator.api.admission import Admission
from validator.domain.reasons import Reason

BOUNDS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)


class Counts:
    """Counts of one process.

    Attributes:
        results: Boardings by what became of them and reason.
        problems: Problem documents by status.
        admission: Knows the taps in flight.
        batches_in_flight: Batches in flight.
        batch_items: Items of batches by verdict.
    """

    def __init__(self) -> None:
        self.results: dict[tuple[str, int], int] = {}
        self.problems: dict[tuple[str, int], int] = {}
        self.batch_items: dict[str, int] = {}
        self.admission: Admission | None = None
        self.batches_in_flight = 0
        self._buckets = [0] * (len(BOUNDS_S) + 1)
        self._seconds = 0.0

    def answered(self, fate: str, reason: int, seconds: float) -> None:
        """One boarding got its answer; reason -1 where the answer is no longer kept."""
        key = (fate, reason)
        self.results[key] = self.results.get(key, 0) + 1
        self._buckets[bisect_left(BOUNDS_S, seconds)] += 1
        self._seconds += seconds

    def refused(self, route: str, status: int) -> None:
        """One request got a problem document."""
        key = (route, status)
        self.problems[key] = self.problems.get(key, 0) + 1

    def batched(self, verdict: str) -> None:
        """One item of a batch got its verdict."""
        self.batch_items[verdict] = self.batch_items.get(verdict, 0) + 1

    def histogram(self) -> tuple[list[tuple[str, float]], float]:
        """Cumulative buckets and the sum of seconds."""
        total = 0
        buckets: list[tuple[str, float]] = []
        for bound, count in zip((*BOUNDS_S, float("inf")), self._buckets, strict=True):
            total += count
            buckets.append(("+Inf" if bound == float("inf") else str(bound), total))
        return buckets, self._seconds


class CountsCollector:
    """Shows `Counts`, and whatever else there is to show, to Prometheus."""

    def __init__(self, counts: Counts, gauges: Callable[[], Mapping[str, float]]) -> None:
        self._counts = counts
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        """All metrics of this process."""
        counts = self._counts
        results = CounterMetricFamily(
            "catraca_boardings", "Answers to single taps.", labels=("fate", "reason")
        )
        for (fate, reason), number in sorted(counts.results.items()):
            results.add_metric((fate, "" if reason < 0 else Reason(reason).name), number)
        yield results
        problems = CounterMetricFamily(
            "catraca_problems", "Requests answered with a problem document.", labels=("route", "status")
        )
        for (route, status), number in sorted(counts.problems.items()):
            problems.add_metric((route, str(status)), number)
        yield problems
        items = CounterMetricFamily(
            "catraca_batch_items", "Items of batches by verdict.", labels=("verdict",)
        )
        for verdict, number in sorted(counts.batch_items.items()):
            items.add_metric((verdict,), number)
        yield items
        buckets, seconds = counts.histogram()
        yield HistogramMetricFamily(
            "catraca_boarding_seconds", "Time to answer a single tap.", buckets=buckets, sum_value=seconds
        )
        in_flight = 0 if counts.admission is None else counts.admission.in_flight
        yield GaugeMetricFamily("catraca_taps_in_flight", "Taps in flight.", in_flight)
        yield GaugeMetricFamily("catraca_batches_in_flight", "Batches in flight.", counts.batches_in_flight)
        for name, value in self._gauges().items():
            yield GaugeMetricFamily(f"catraca_{name}", name.replace("_", " "), value)
