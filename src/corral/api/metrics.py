"""What Corral counts about itself, for Prometheus.

Labels hold only what Corral itself names (route templates, loops, verbs), never what a caller sent, so the
number of series is bounded.
"""

from types import TracebackType
from typing import Self

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from corral.store.database import Database

CONTENT_TYPE = CONTENT_TYPE_LATEST
UNMATCHED = "unmatched"

# A series per counter that says when it was made would double the page for nothing that we use.
disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# A bound in case templates are ever made from input by mistake: the series past it share one label.
_MOST_ROUTES = 500

_requests = Counter(
    "corral_http_requests",
    "Requests answered.",
    ("route", "method", "status"),
    registry=REGISTRY,
)
_request_seconds = Histogram(
    "corral_http_request_seconds",
    "Time from the first byte of a request to the end of its answer.",
    ("route", "method"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
    registry=REGISTRY,
)
_in_progress = Gauge("corral_http_requests_in_progress", "Requests being answered now.", registry=REGISTRY)
_database_seconds = Histogram(
    "corral_database_seconds",
    "Time of database transactions, waiting for their turn and repetitions included.",
    ("verb", "result"),
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0),
    registry=REGISTRY,
)


class _Series:
    """The counters of one (route, method), found by one dictionary look-up instead of three."""

    __slots__ = ("_by_status", "_route_method", "seconds")

    def __init__(self, route: str, method: str) -> None:
        self._route_method = (route, method)
        self._by_status: dict[int, Counter] = {}
        self.seconds = _request_seconds.labels(route, method)

    def answered(self, status: int) -> Counter:
        status_class = status // 100
        counter = self._by_status.get(status_class)
        if counter is None:
            counter = _requests.labels(*self._route_method, f"{status_class}xx")
            self._by_status[status_class] = counter
        return counter


_series: dict[tuple[str, str], _Series] = {}
_routes: set[str] = set()


def observe(route: str | None, method: str, status: int, seconds: float) -> None:
    """Counts one answered request; `route` is its template (`/api/v1/users/{user_id}`), None if none fits."""
    key = (route or UNMATCHED, method)
    series = _series.get(key)
    if series is None:
        series = _new_series(*key)
    series.answered(status).inc()
    series.seconds.observe(seconds)


def _new_series(route: str, method: str) -> _Series:
    if route not in _routes and len(_routes) >= _MOST_ROUTES:
        route = UNMATCHED
    method = method if method in _METHODS else "other"
    series = _series.get((route, method))
    if series is None:
        _routes.add(route)
        series = _series[route, method] = _Series(route, method)
    return series


class in_progress:  # noqa: N801 - reads as words: `with in_progress():`
    """Around a request while it is being answered."""

    def __enter__(self) -> Self:
        _in_progress.inc()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _in_progress.dec()


def observe_database(database: Database) -> None:
    """Counts and times every transaction of `database` from now on."""
    series = {
        (verb, ok): _database_seconds.labels(verb, "done" if ok else "failed")
        for verb in ("read", "write")
        for ok in (True, False)
    }
    database.observer = lambda verb, seconds, ok: series[verb, ok].observe(seconds)


def exposition() -> bytes:
    """The page that Prometheus reads."""
    return generate_latest(REGISTRY)
