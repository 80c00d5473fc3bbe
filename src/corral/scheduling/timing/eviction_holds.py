"""Eviction holds: capacity that was evicted for a workload is held for its queue until it starts.

A release takes a grace period. Without a hold, whoever arrives meanwhile and comes first in the order starts
on it, and the taker evicts again and waits another grace period. A promise gives no precedence, so whoever
makes the snapshots turns promises that cost an eviction into holds.
"""

from collections.abc import Iterable, Mapping

from corral.core.holds import HeldPlace, Hold
from corral.core.plans import Plan, Promise

# Every plan renews or drops them: this ends them where no other plan is made.
_MOST_SECONDS = 300


class EvictionHolds:
    """Notes every plan in turn; lists the holds for the next one."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[HeldPlace, ...]] = {}  # by taker
        self._at = 0

    def note(self, plan: Plan, now: int) -> None:
        """Those for whom something was taken, now or before, as long as they have their promise."""
        promised: dict[str, list[Promise]] = {}
        for promise in plan.promises:
            promised.setdefault(promise.workload, []).append(promise)
        took = {eviction.for_workload for eviction in plan.evictions}
        self._at = now
        self._places = {
            name: places
            for name, promises in sorted(promised.items())
            if (name in took or name in self._places) and (places := _places(promises))
        }

    def holds(self, queue_of: Mapping[str, str]) -> tuple[Hold, ...]:
        """For the queue of each taker; those of which no queue is known do not wait any more."""
        return tuple(
            Hold(
                f"taken-{number}",
                self._at,
                self._at + _MOST_SECONDS,
                queue_of[name],
                places=places,
            )
            for number, (name, places) in enumerate(self._places.items())
            if name in queue_of
        )


def _places(promises: Iterable[Promise]) -> tuple[HeldPlace, ...]:
    """Devices are kept; work that asks for none keeps nothing."""
    return tuple(HeldPlace(each.node, each.devices) for each in promises if each.devices)
