"""The queue tree as people see and change it: several changes at once, all or nothing."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import delete, insert, update

from corral.api.callers import Caller
from corral.api.versions import Expected
from corral.audit.record import Subject, record
from corral.core.permissions import Permission
from corral.core.queues import Queue as CoreQueue
from corral.core.queues import QueuePolicy
from corral.core.refusals import FieldError, Invalid
from corral.core.resources import RESOURCES
from corral.identity.lookups import find_node, find_user
from corral.queues.changes import changed_queue
from corral.queues.forest import Forest, QueueRow, read_forest
from corral.queues.models import (
    ChangedQueues,
    NewQueue,
    Queue,
    QueueChange,
    QueueChanges,
    Queues,
)
from corral.queues.rules import quota_of, usual_quota
from corral.queues.service import ensure_queue, find_queue, queue_changed
from corral.queues.tables import queue, queue_quota
from corral.queues.use import UseOfQueues
from corral.store.database import Transaction
from corral.store.schema import JsonObject

_INHERITED = ("reclaim_min_runtime_seconds", "preempt_min_runtime_seconds", "custom_numbers")


def list_queues(
    transaction: Transaction, caller: Caller, organisation_id: str | None, use: UseOfQueues | None
) -> Queues:
    """The part of the tree that the caller may see, or of it what is at or below an organisation."""
    within = None
    if organisation_id is not None:
        within = find_node(transaction, caller, organisation_id, Permission.QUEUES_READ).path
    forest = read_forest(transaction, caller, use, within)
    return Queues(items=forest.described(), pools=forest.described_pools(), warnings=forest.warnings())


def get_queue(transaction: Transaction, caller: Caller, queue_id: str, use: UseOfQueues | None) -> Queue:
    forest = read_forest(transaction, caller, use)
    return forest.describe(forest.find(queue_id))


def create_queue(transaction: Transaction, caller: Caller, new: NewQueue) -> Queue:
    """A person's queue before their first work, so that it can be given something."""
    node = find_node(transaction, caller, new.organisation_id, Permission.QUEUES_MANAGE)
    person = find_user(transaction, caller, new.user_id)
    if find_queue(transaction, node.id, person.id) is None:
        queue_id = ensure_queue(transaction, node.id, person.id)
        subject = Subject("queue", queue_id, person.display_name, node.path)
        record(transaction, caller, "queue.create", subject, after={"organisation": node.name})
    return get_queue(transaction, caller, ensure_queue(transaction, node.id, person.id), None)


def change_queue(
    transaction: Transaction,
    caller: Caller,
    queue_id: str,
    change: QueueChange,
    expected: Expected,
    use: UseOfQueues | None,
) -> Queue:
    forest = read_forest(transaction, caller, use)
    row = forest.find(queue_id)
    expected.check(row.generation)
    after = _apply(transaction, caller, forest, [(row, change, "body")], dry_run=False)
    return after.describe(after.find(queue_id))


def change_queues(
    transaction: Transaction, caller: Caller, wanted: QueueChanges, use: UseOfQueues | None
) -> ChangedQueues:
    """All of the changes or none; a dry run says what would be."""
    forest = read_forest(transaction, caller, use)
    named = [one.queue_id for one in wanted.changes]
    if len(set(named)) != len(named):
        raise Invalid.field("body.changes", "A queue is named twice.", "Put its changes into one.")
    parts: list[tuple[QueueRow, QueueChange, str]] = []
    for index, one in enumerate(wanted.changes):
        row = forest.find(one.queue_id)
        Expected(one.generation).check(row.generation)
        parts.append((row, one, f"body.changes.{index}"))
    after = _apply(transaction, caller, forest, parts, dry_run=wanted.dry_run)
    items = [after.describe(after.find(queue_id)) for queue_id in named]
    return ChangedQueues(
        dry_run=wanted.dry_run, items=items, warnings=after.warnings(), effects=forest.effects(after)
    )


def _apply(
    transaction: Transaction,
    caller: Caller,
    forest: Forest,
    parts: Sequence[tuple[QueueRow, QueueChange, str]],
    *,
    dry_run: bool,
) -> Forest:
    """Decides all changes first; then writes those that change something."""
    errors: list[FieldError] = []
    changed: dict[str, CoreQueue] = {}
    numbers: dict[str, bool | None] = {}
    for row, change, place in parts:
        forest.require_change(caller, row)
        fields = change.given(may_be_empty=_INHERITED)
        if "custom_numbers" in fields:
            numbers[row.id] = fields["custom_numbers"]
        changed[row.id], wrong = changed_queue(forest.cores[row.id], fields, forest.pools)
        errors += [replace(one, field=f"{place}.{one.field}") for one in wrong]
    if errors:
        raise Invalid(errors[0].message, errors[0].remedy, errors=errors)
    after = forest.changed(changed, numbers)
    if dry_run:
        return after
    for row, _, _ in parts:
        new = after.rows[row.id]
        before, told = _told(forest, row), _told(after, new)
        if before != told:
            _write(transaction, after, new)
            differs = [name for name in told if before.get(name) != told[name]]
            record(
                transaction,
                caller,
                "queue.change",
                Subject("queue", row.id, row.name, row.path),
                before={name: before.get(name) for name in differs},
                after={name: told[name] for name in differs},
            )
            after.rows[row.id] = replace(new, generation=row.generation + 1)
    return after


def _write(transaction: Transaction, forest: Forest, row: QueueRow) -> None:
    core = forest.cores[row.id]
    transaction.run(
        update(queue)
        .where(queue.c.id == row.id)
        .values(
            priority=core.priority,
            policy=core.policy,
            reclaim_min_runtime_seconds=core.reclaim_min_runtime_seconds,
            preempt_min_runtime_seconds=core.preempt_min_runtime_seconds,
            custom_numbers=row.custom_numbers,
            generation=row.generation + 1,
        )
    )
    transaction.run(delete(queue_quota).where(queue_quota.c.queue_id == row.id))
    quotas = [
        {
            "queue_id": row.id,
            "pool_id": pool_id,
            "resource": resource,
            "guarantee": quota.guarantee,
            "limit": quota.limit,
            "weight": quota.weight,
        }
        for pool_id, resources in core.quotas.items()
        for resource, quota in resources.items()
        if quota != usual_quota(core)
    ]
    if quotas:
        transaction.run(insert(queue_quota), quotas)
    queue_changed(transaction, row.id, row.generation + 1, row.path, row.user_id)


def _told(forest: Forest, row: QueueRow) -> JsonObject:
    """What the audit log says of a queue: flat, so that what changed can be seen."""
    core = forest.cores[row.id]
    quotas = {
        f"{pool.name}.{resource}.{what}": getattr(quota_of(core, pool.id, resource), what)
        for pool in forest.pools.values()
        for resource in RESOURCES
        for what in ("guarantee", "limit", "weight")
    }
    return {
        "priority": core.priority,
        "policy": QueuePolicy(core.policy).value,
        "reclaim_min_runtime_seconds": core.reclaim_min_runtime_seconds,
        "preempt_min_runtime_seconds": core.preempt_min_runtime_seconds,
        "custom_numbers": row.custom_numbers,
        **quotas,
    }
