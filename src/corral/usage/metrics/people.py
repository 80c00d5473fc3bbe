"""How much is kept of what one person's work reported, over all their work.

The ledger knows whose work it is. A report costs the row of its owner, not a count of all they reported.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import bindparam, func, insert, select, update

from corral.core.bounds import PersonBounds
from corral.store.database import Transaction
from corral.store.schema import any_of
from corral.usage.metrics.tables import metric_person, metric_series
from corral.usage.tables import usage_allocation


@dataclass(slots=True)
class Room:
    """What a person has while reports are taken; `refused` says why some were not."""

    bounds: PersonBounds
    series: int = 0
    points: int = 0
    refused: str | None = None

    def has_place(self, *, is_new_series: bool) -> bool:
        """Whether one more value can be taken."""
        if is_new_series and self.series >= self.bounds.metric_series:
            self.refused = _full(f"{self.bounds.metric_series} series")
            return False
        if self.points >= self.bounds.metric_points:
            self.refused = _full(f"{self.bounds.metric_points} points")
            return False
        return True


def _full(what: str) -> str:
    return f"its owner has {what} of metrics, and no more are kept; deleting old work makes room"


class People:
    """Those whose reports one transaction takes."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._owners: dict[str, str | None] = {}
        self._rooms: dict[str, tuple[Room, tuple[int, int] | None]] = {}

    def room_of(self, workload_id: str) -> Room:
        """That of the workload's owner; work that the ledger does not know counts for nobody."""
        if workload_id not in self._owners:
            self._owners[workload_id] = self._transaction.scalar(_OWNER, {"workload_id": workload_id})
        owner = self._owners[workload_id]
        if owner is None:
            return Room(self._transaction.bounds)
        if owner not in self._rooms:
            row = self._transaction.first(_HAS, {"user_id_": owner})
            before = None if row is None else (row.series, row.points)
            self._rooms[owner] = Room(self._transaction.bounds, *(before or (0, 0))), before
        return self._rooms[owner][0]

    def write_down(self) -> None:
        for owner, (room, before) in self._rooms.items():
            has = {"series": room.series, "points": room.points}
            if before is None:
                self._transaction.run(insert(metric_person), {"user_id": owner, **has})
            elif (room.series, room.points) != before:
                where = metric_person.c.user_id == bindparam("user_id_")
                self._transaction.run(update(metric_person).where(where), {"user_id_": owner, **has})


def give_back(transaction: Transaction, workload_ids: Collection[str]) -> None:
    """What these workloads reported is about to go: their owners have room for as much again."""
    for row in transaction.rows(_HELD, {"workloads": json.dumps(sorted(workload_ids))}):
        owner = transaction.scalar(_OWNER, {"workload_id": row.workload_id})
        if owner is not None:
            less = {"user_id_": owner, "series_": row.series, "points_": row.points}
            transaction.run(_GIVE_BACK, less)


_p, _s, _a = metric_person.c, metric_series.c, usage_allocation.c
_OWNER = select(_a.user_id).where(_a.workload_id == bindparam("workload_id")).limit(1)
_HAS = select(_p.series, _p.points).where(_p.user_id == bindparam("user_id_"))
_HELD = (
    select(
        _s.workload_id,
        func.count().label("series"),
        func.sum((_s.reports + _s.every - 1) // _s.every).label("points"),
    )
    .where(any_of(_s.workload_id, "workloads"))
    .group_by(_s.workload_id)
)
_GIVE_BACK = (
    update(metric_person)
    .where(_p.user_id == bindparam("user_id_"))
    .values(series=_p.series - bindparam("series_"), points=_p.points - bindparam("points_"))
)
