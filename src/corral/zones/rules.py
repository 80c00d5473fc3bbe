"""What devices and pools are, and the pure decisions which pool a node is in and what a pool allows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum


class ZoneKind(StrEnum):
    LOCAL = "local"
    SIMULATED = "simulated"
    KUBERNETES = "kubernetes"


class ZoneState(StrEnum):
    """`starting` was not seen yet; `unreachable` is driven by nobody: work there goes on, none starts."""

    READY = "ready"
    STARTING = "starting"
    UNREACHABLE = "unreachable"


class DeviceHealth(StrEnum):
    """New work is placed on healthy devices only; one that is no longer reported is `offline`."""

    HEALTHY = "healthy"
    FAULTY = "faulty"
    OFFLINE = "offline"


# How well slices are kept from each other, weakest first.
STRENGTHS = ("none", "hook", "driver", "kernel", "hardware")
# Of a slice in MiB: nothing enforces one yet. An instance of MIG is cut in hardware, and who has a whole
# device shares it with nobody.
SLICE_STRENGTH = "none"


def takes_slices(least_strength: str) -> bool:
    """Whether a pool that wants this much of slices takes those that there are."""
    return STRENGTHS.index(SLICE_STRENGTH) >= STRENGTHS.index(least_strength)


# What a document may say at all; a pool allows less of it, and never less than a document that says nothing.
LONGEST_GRACE_SECONDS = 3600
MOST_RETRIES = 100
MOST_REPLICAS = 1000
LONGEST_HOLD_SECONDS = 3600
USUAL_GRACE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Caps:
    """How much of what others wait for one workload of a pool may ask for, as a new pool has it."""

    grace_seconds: int = 600
    retries: int = 10
    replicas: int = 256
    hold_seconds: int = 600

    def exceeded(self, requested: "Caps") -> tuple[str, ...]:
        """The fields of which it asks for more."""
        return tuple(
            one.name for one in fields(self) if getattr(requested, one.name) > getattr(self, one.name)
        )


USUAL_CAPS = Caps()


@dataclass(frozen=True, slots=True)
class PoolLabels:
    """The labels that make a node one of a pool; the pool that has none takes all that are left."""

    id: str
    labels: Mapping[str, str]


def pool_of(labels: Mapping[str, str], pools: Iterable[PoolLabels]) -> str:
    """The pool of a node: the one of those whose labels it carries that asks for most, or the older.

    Every zone has a pool without labels, so there is always one.
    """
    fitting = [pool for pool in pools if all(labels.get(key) == value for key, value in pool.labels.items())]
    return min(fitting, key=lambda pool: (-len(pool.labels), pool.id)).id
