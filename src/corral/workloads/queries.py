"""Finding workloads as far as the caller may see them: one's own, and those of scopes one may read."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, false, func, or_, select

from corral.api.callers import Caller
from corral.api.models import Search
from corral.api.pages import Order, Page, page_of
from corral.identity.lookups import in_subtrees
from corral.identity.tables import organisation, user
from corral.store.database import Transaction
from corral.store.schema import any_of
from corral.workloads import troubles
from corral.workloads.documents import DamagedDocumentError, Document
from corral.workloads.models import (
    AttemptView,
    Held,
    Reason,
    ReplicaView,
    Someone,
    TransitionView,
    Waiting,
    Workload,
    WorkloadDetail,
)
from corral.workloads.spec import Resources
from corral.workloads.states import WAITING, State
from corral.workloads.tables import allocation, attempt, replica, transition, workload
from corral.workloads.visibility import ROWS, VisibleWorkload, find, may_change, visible, visible_workload
from corral.workloads.waiting import not_planned, waiting
from corral.zones.tables import node

_DAMAGED = "Its document is damaged ({error}): Corral cannot run it. Restore a backup, or stop and delete it."
_UNREADABLE = Reason(why="damaged", sentence="The record of why is damaged.", facts={})


class Presence(NamedTuple):
    """Where work is now, how many of its replicas are ready there, the last of them since when, and until
    when a place is kept for its restart."""

    nodes: tuple[str, ...]
    on_simulated: bool
    ready: int
    last_ready_at: datetime | None
    held_until: datetime | None


NOWHERE = Presence((), False, 0, None, None)
_a, _r = allocation.c, replica.c
_PRESENCES = (
    select(
        _a.workload_id,
        _a.node,
        node.c.simulated,
        func.count().label("places"),
        func.count(_a.held_until).label("kept"),
        func.max(_a.held_until).label("held_until"),
        func.count(_r.ready_at).label("ready"),
        func.max(_r.ready_at).label("last_ready_at"),
    )
    .join(node, and_(node.c.zone_id == _a.zone_id, node.c.name == _a.node), isouter=True)
    .join(
        replica,
        and_(_r.workload_id == _a.workload_id, _r.attempt == _a.attempt, _r.number == _a.replica),
        isouter=True,
    )
    .where(any_of(_a.workload_id, "ids"))
    .group_by(_a.workload_id, _a.node, node.c.simulated)
    .order_by(_a.workload_id, _a.node)
)
NEWEST = Order("-created", (workload.c.id,), descending=True)


def list_workloads(
    transaction: Transaction,
    caller: Caller,
    *,
    states: Sequence[State] = (),
    kinds: Sequence[str] = (),
    user_id: str | None = None,
    organisation_id: str | None = None,
    parent_id: str | None = None,
    search: Search | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[Workload]:
    """Newest first. Deleted ones are listed only when asked for."""
    statement = ROWS.where(
        visible(caller),
        *chosen(transaction, kinds, user_id, organisation_id, parent_id, search),
        _in_states(states),
    )
    return page_of(
        Page[Workload],
        transaction.rows,
        statement,
        NEWEST,
        cursor,
        limit,
        lambda rows: _views(transaction, caller, [visible_workload(row) for row in rows]),
    )


def chosen(
    transaction: Transaction,
    kinds: Sequence[str],
    user_id: str | None,
    organisation_id: str | None,
    parent_id: str | None,
    search: Search | None,
) -> list[ColumnElement[bool]]:
    """What lists are narrowed by, beside the state."""
    conditions: list[ColumnElement[bool]] = []
    if kinds:
        conditions.append(workload.c.kind.in_(sorted(kinds)))
    if user_id is not None:
        conditions.append(workload.c.user_id == user_id)
    if organisation_id is not None:
        path = transaction.scalar(select(organisation.c.path).where(organisation.c.id == organisation_id))
        conditions.append(false() if path is None else in_subtrees([path]))
    if parent_id is not None:
        conditions.append(workload.c.parent_id == parent_id)
    if search is not None:
        text = f"%{_escaped(search.lower())}%"
        name, owner = func.lower(workload.c.name), func.lower(user.c.display_name)
        conditions.append(
            or_(
                name.like(text, escape="\\"),
                owner.like(text, escape="\\"),
                workload.c.id.like(text.removeprefix("%"), escape="\\"),
            )
        )
    return conditions


def _in_states(states: Sequence[State]) -> ColumnElement[bool]:
    return workload.c.state.in_(sorted(states)) if states else workload.c.state != State.DELETED


def get_workload(transaction: Transaction, caller: Caller, workload_id: str) -> WorkloadDetail:
    found = find(transaction, caller, workload_id)
    (view,) = _views(transaction, caller, [found])
    return WorkloadDetail(
        **dict(view),
        spec={} if view.damaged else found.row.stored.upgraded(),
        transitions=_transitions(transaction, workload_id),
        attempts=_attempts(transaction, workload_id),
        troubles=troubles.view(transaction, workload_id),
        may_change=may_change(caller, found),
    )


def get_new(transaction: Transaction, caller: Caller, workload_id: str) -> WorkloadDetail:
    """Work of the caller's own that was submitted in this transaction: no plan has seen it, nothing ran."""
    found = find(transaction, caller, workload_id)
    return WorkloadDetail(
        **dict(_view(found, NOWHERE, not_planned())),
        spec=found.row.stored.upgraded(),
        transitions=_transitions(transaction, workload_id),
        attempts=[],
        troubles=[],
        may_change=may_change(caller, found),
    )


def _views(transaction: Transaction, caller: Caller, works: Sequence[VisibleWorkload]) -> list[Workload]:
    presences: dict[str, Presence] = {}
    for row in transaction.rows(_PRESENCES, {"ids": json.dumps([one.row.id for one in works])}):
        found = presences.get(row.workload_id, NOWHERE)
        presences[row.workload_id] = Presence(
            nodes=(*found.nodes, row.node) if row.kept < row.places else found.nodes,
            on_simulated=found.on_simulated or bool(row.simulated),
            ready=found.ready + row.ready,
            last_ready_at=max(filter(None, (found.last_ready_at, row.last_ready_at)), default=None),
            held_until=max(filter(None, (found.held_until, row.held_until)), default=None),
        )
    waits = waiting(transaction, caller, [one.row for one in works])
    return [_readable_view(one, presences.get(one.row.id, NOWHERE), waits.get(one.row.id)) for one in works]


def _readable_view(work: VisibleWorkload, presence: Presence, waits: Waiting | None) -> Workload:
    """One whose document is damaged is listed, too: it can be found, and deleted."""
    try:
        return _view(work, presence, waits)
    except DamagedDocumentError as damage:
        return _damaged_view(work, presence, waits, str(damage))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        return _damaged_view(work, presence, waits, type(error).__name__)


def _damaged_view(work: VisibleWorkload, presence: Presence, waits: Waiting | None, error: str) -> Workload:
    message = _DAMAGED.format(error=error)
    return Workload(
        **_facts(work, presence, waits),
        reason=Reason(why="damaged", sentence=message, facts={}),
        damaged=True,
        zone_reason=None,
        flavor=None,
        resources=Resources.model_construct(cpu_milli=0, memory_mib=0, gpu=None),
        replicas=0,
        preemptible=True,
        simulated=False,
    )


def _view(work: VisibleWorkload, presence: Presence, waits: Waiting | None) -> Workload:
    document = work.row.stored.read(Document)
    return Workload(
        **_facts(work, presence, waits),
        reason=Reason.of(work.row.because),
        zone_reason=document.zone_reason,
        flavor=document.flavor,
        resources=Resources.of(document.resources),
        replicas=document.replicas,
        preemptible=document.preemptible,
        simulated=presence.on_simulated and document.resources.gpu is not None,
        ready_at=presence.last_ready_at if presence.ready == document.replicas else None,
    )


def _facts(work: VisibleWorkload, presence: Presence, waits: Waiting | None) -> dict[str, Any]:
    """What is known of a workload without its document."""
    row = work.row
    return {
        "id": row.id,
        "kind": row.kind,
        "name": row.name,
        "state": row.state,
        "wanted": row.wanted,
        "waits": waits,
        "organisation": Someone(id=row.organisation_id, name=work.organisation_name),
        "user": Someone(id=row.user_id, name=work.owner_name),
        "parent_id": row.parent_id,
        "zone_id": row.zone_id,
        "zone_name": work.zone_name,
        "queue_id": row.queue_id,
        "priority": row.priority,
        "attempt": row.attempt,
        "nodes": list(presence.nodes),
        "ready_replicas": presence.ready,
        "held_until": presence.held_until if row.state in WAITING else None,
        "created_at": row.created_at,
        "waiting_since": row.waiting_since if row.state in WAITING else None,
        "not_before": row.not_before,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "exit_code": row.exit_code,
        "generation": row.generation,
    }


def _transitions(transaction: Transaction, workload_id: str) -> list[TransitionView]:
    rows = transaction.rows(
        select(transition).where(transition.c.workload_id == workload_id).order_by(transition.c.number)
    )
    return [
        TransitionView(
            number=row.number,
            at=row.at,
            attempt=row.attempt,
            state=row.state,
            reason=Reason.readable(row.because) or _UNREADABLE,
        )
        for row in rows
    ]


def _attempts(transaction: Transaction, workload_id: str) -> list[AttemptView]:
    members: dict[int, list[ReplicaView]] = {}
    for row in transaction.rows(
        select(replica).where(replica.c.workload_id == workload_id).order_by(replica.c.number)
    ):
        fields: dict[str, Any] = {
            name: getattr(row, name) for name in ReplicaView.model_fields if name != "devices"
        }
        devices = [Held.model_validate(use) for use in row.devices]
        members.setdefault(row.attempt, []).append(ReplicaView(devices=devices, **fields))
    rows = transaction.rows(
        select(attempt).where(attempt.c.workload_id == workload_id).order_by(attempt.c.number)
    )
    return [
        AttemptView(
            number=row.number,
            opened_at=row.opened_at,
            closed_at=row.closed_at,
            reason=None if row.closed_at is None else Reason.readable(row.because) or _UNREADABLE,
            replicas=members.get(row.number, []),
        )
        for row in rows
    ]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
