"""What Prometheus reads of the zones: what there is and what is taken, work by state, samples.

Each is published as a function that is called when the page is read, so that nothing is counted that nobody
looks at. Labels hold ids and names that Corral gave, and workloads are only counted: the number of series
is bounded by the machines there are.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from corral.api.metrics import REGISTRY
from corral.usage.samples.points import Metric, Point


class Stock(NamedTuple):
    """How much of a resource a pool has on nodes that are there, and how much of it is allocated."""

    zone: str
    pool: str
    resource: str
    total: int
    allocated: int


class StateCount(NamedTuple):
    """How many workloads are in a state, and how long the first of them waits (0 if none does)."""

    zone: str
    state: str
    workloads: int
    longest_wait_seconds: int = 0


T = TypeVar("T")
Withdraw = Callable[[], None]


class _Published(Collector):
    """The functions that are asked. Registered once; applications come and go, in tests many of them."""

    def __init__(self) -> None:
        self.stocks: list[Callable[[], Iterable[Stock]]] = []
        self.states: list[Callable[[], Iterable[StateCount]]] = []
        self.samples: list[Callable[[], Iterable[Point]]] = []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from self._stock_families()
        yield from self._state_families()
        yield from self._sample_families()

    def _state_families(self) -> Iterator[GaugeMetricFamily]:
        labels = ["zone", "state"]
        workloads = GaugeMetricFamily("corral_workloads", "Workloads by state.", labels=labels)
        waits = GaugeMetricFamily(
            "corral_workload_longest_wait_seconds",
            "The longest wait of work that has no place.",
            labels=labels,
        )
        for one in _all(self.states):
            workloads.add_metric([one.zone, one.state], one.workloads)
            waits.add_metric([one.zone, one.state], one.longest_wait_seconds)
        yield workloads
        yield waits

    def _stock_families(self) -> Iterator[GaugeMetricFamily]:
        labels = ["zone", "pool", "resource"]
        stocks = list(_all(self.stocks))
        total = GaugeMetricFamily("corral_pool_total", "What the nodes of a pool have.", labels=labels)
        allocated = GaugeMetricFamily("corral_pool_allocated", "What work was given of it.", labels=labels)
        free = GaugeMetricFamily("corral_pool_free", "What nobody was given.", labels=labels)
        for one in stocks:
            place = [one.zone, one.pool, one.resource]
            total.add_metric(place, one.total)
            allocated.add_metric(place, one.allocated)
            free.add_metric(place, one.total - one.allocated)
        yield from (total, allocated, free)

    def _sample_families(self) -> Iterator[GaugeMetricFamily]:
        found: dict[tuple[str, Metric], GaugeMetricFamily] = {}
        for point in _all(self.samples):
            kind, subject, metric = point.key
            if kind not in ("node", "device"):
                continue  # workloads come and go: their series would never end
            node, _, device = subject.partition("/")
            family = found.get((kind, metric))
            if family is None:
                labels = ["node"] if kind == "node" else ["node", "device"]
                about = f"The last sample of a {kind}."
                family = GaugeMetricFamily(f"corral_{kind}_{metric}", about, labels=labels)
                found[kind, metric] = family
            family.add_metric([node] if kind == "node" else [node, device], point.value)
        yield from found.values()


def _all(sources: Iterable[Callable[[], Iterable[T]]]) -> Iterator[T]:
    for source in tuple(sources):
        yield from source()


def _publish(sources: list[Callable[[], Iterable[T]]], source: Callable[[], Iterable[T]]) -> Withdraw:
    sources.append(source)
    return lambda: sources.remove(source)


_published = _Published()
REGISTRY.register(_published)


def publish_stock(source: Callable[[], Iterable[Stock]]) -> Withdraw:
    """What each pool has and what is taken; until the returned function is called."""
    return _publish(_published.stocks, source)


def publish_states(source: Callable[[], Iterable[StateCount]]) -> Withdraw:
    """How many workloads are in each state."""
    return _publish(_published.states, source)


def publish_samples(source: Callable[[], Iterable[Point]]) -> Withdraw:
    """The last samples; those of nodes and devices are shown."""
    return _publish(_published.samples, source)
