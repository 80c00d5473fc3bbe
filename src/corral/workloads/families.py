"""Work that other work was created for, and what reaches it: a parent and its children act as one.

Parents are set when work is created and never after, so families are trees.
"""

from collections.abc import Iterable, Mapping

from sqlalchemy import select

from corral.core.refusals import Conflict
from corral.store.database import Transaction
from corral.workloads.models import Action
from corral.workloads.records import Loaded, loaded_from
from corral.workloads.rows import WorkloadRow, workload_row
from corral.workloads.states import OVER, State, Wanted
from corral.workloads.tables import workload

_MOST_AT_ONCE = 500


def descendants(transaction: Transaction, workload_ids: Iterable[str]) -> dict[str, list[Loaded]]:
    """Children of each, and theirs, that are not deleted; without those that have none."""
    root_of = {one: one for one in workload_ids}
    found: dict[str, list[WorkloadRow]] = {}
    level = list(root_of)
    while level:
        rows = _children(transaction, level)
        for row in rows:
            assert row.parent_id is not None, "children were asked for"
            root_of[row.id] = root_of[row.parent_id]
            found.setdefault(root_of[row.id], []).append(row)
        level = [row.id for row in rows]
    loaded = loaded_from(transaction, (row for rows in found.values() for row in rows))
    return {root: [loaded[row.id] for row in rows] for root, rows in found.items()}


def reached(action: Action, family: Iterable[Loaded]) -> list[Loaded]:
    """Those that an action on their parent is for; the others are as it wants them already.

    A parent that is resumed takes along what was stopped or suspended by hand, not what failed by itself.
    """
    match action:
        case "stop":
            return [one for one in family if one.life.state not in OVER]
        case "suspend":
            return [one for one in family if one.life.state not in OVER and one.life.wanted is Wanted.RUN]
        case "resume":
            return [one for one in family if one.life.wanted is not Wanted.RUN]
        case "delete":
            return [one for one in family if one.life.state is not State.DELETED]


def check_delete(family: Iterable[Loaded]) -> None:
    """Nobody deletes work while its children run or wait."""
    live = [one for one in family if one.life.state not in OVER]
    if live:
        raise Conflict(
            f"{len(live)} of its children {'is' if len(live) == 1 else 'are'} not over.",
            "Stop it first: that stops its children, too. Then delete it.",
        )


def check_resume(child: WorkloadRow, parents: Mapping[str, WorkloadRow]) -> None:
    """A child goes on with its parent, not without it."""
    parent = None if child.parent_id is None else parents.get(child.parent_id)
    if parent is not None and (parent.wanted != Wanted.RUN or parent.state in OVER):
        raise Conflict(f"Its parent {parent.name} is {parent.state}.", f"Resume the parent, {parent.id}.")


def parents_of(transaction: Transaction, children: Iterable[WorkloadRow]) -> dict[str, WorkloadRow]:
    ids = sorted({row.parent_id for row in children if row.parent_id is not None})
    rows: dict[str, WorkloadRow] = {}
    for start in range(0, len(ids), _MOST_AT_ONCE):
        some = workload.c.id.in_(ids[start : start + _MOST_AT_ONCE])
        rows |= {row.id: workload_row(row) for row in transaction.rows(select(workload).where(some))}
    return rows


def _children(transaction: Transaction, parent_ids: list[str]) -> list[WorkloadRow]:
    found: list[WorkloadRow] = []
    for start in range(0, len(parent_ids), _MOST_AT_ONCE):
        some = workload.c.parent_id.in_(parent_ids[start : start + _MOST_AT_ONCE])
        live = workload.c.state != State.DELETED
        rows = transaction.rows(select(workload).where(some, live).order_by(workload.c.id))
        found += map(workload_row, rows)
    return found
