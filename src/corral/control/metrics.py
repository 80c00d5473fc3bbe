"""What the loops count about themselves."""

from prometheus_client import Counter, Gauge, Histogram

from corral.api.metrics import REGISTRY

turns = Counter(
    "corral_loop_turns",
    "Turns by how they ended: done, failed, or lost (another process took over).",
    ("loop", "result"),
    registry=REGISTRY,
)
things = Counter("corral_loop_things", "Things that turns did.", ("loop",), registry=REGISTRY)
turn_seconds = Histogram(
    "corral_loop_turn_seconds",
    "Time of turns.",
    ("loop",),
    buckets=(0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 300.0),
    registry=REGISTRY,
)
lag_seconds = Histogram(
    "corral_loop_lag_seconds",
    "Time from the first hint to the start of the turn that it caused.",
    ("loop",),
    buckets=(0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0),
    registry=REGISTRY,
)
leadership_held = Gauge(
    "corral_loop_leadership_held", "1 if this process runs the loop.", ("loop",), registry=REGISTRY
)
consecutive_failures = Gauge(
    "corral_loop_consecutive_failures",
    "Turns that failed since the last one that did not.",
    ("loop",),
    registry=REGISTRY,
)
