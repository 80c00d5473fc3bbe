"""What the routes of workloads need beside the database, made once at start."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

from fastapi import Depends

from corral.api.parts import using
from corral.core.concurrency import ConcurrencyLimit
from corral.engines.interface import Reach
from corral.store.database import Transaction
from corral.workloads.masker import Masker
from corral.workloads.rows import WorkloadRow
from corral.workloads.verdicts import Prober

# What the output of the workload in this row must not show.
Masks = Callable[[Transaction, WorkloadRow], Sequence[bytes]]


class Zones(Protocol):
    """The zones that this process knows; the control loops provide it."""

    async def reach(self, zone_id: str) -> Reach:
        """To reach work of the zone, if need be through the host that it is on; refused in words."""

    async def prober(self, zone_id: str) -> Prober:
        """To ask the zone's planner."""


@dataclass(frozen=True, slots=True)
class WorkloadContext:
    """How many at a time one person may have of what stays open is limited here."""

    zones: Zones
    masks: Masks
    masker: Masker
    logs: ConcurrencyLimit
    sessions: ConcurrencyLimit
    connections: ConcurrencyLimit


WorkloadsHere = Annotated[WorkloadContext, Depends(using(WorkloadContext))]
