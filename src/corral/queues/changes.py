"""The pure decision what a change makes of a queue, and which changes cannot be scheduled."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.refusals import FieldError
from corral.core.resources import UNLIMITED, Resource
from corral.queues.rules import quota_of, told

_FIELDS = ("priority", "policy", "reclaim_min_runtime_seconds", "preempt_min_runtime_seconds")


def changed_queue(
    queue: Queue, fields: Mapping[str, Any], pools: Collection[str]
) -> tuple[Queue, list[FieldError]]:
    """The queue after the change, and what is wrong with it, fields named from the change on.

    `fields` are those of a `QueueChange` that were given.
    """
    wanted = {name: fields[name] for name in _FIELDS if name in fields}
    if "policy" in wanted:
        wanted["policy"] = QueuePolicy(wanted["policy"])
    quotas = {pool: dict(resources) for pool, resources in queue.quotas.items()}
    errors: list[FieldError] = []
    seen: set[tuple[str, Resource]] = set()
    for index, one in enumerate(fields.get("quotas", ())):
        place, pool, resource = f"quotas.{index}", one["pool_id"], Resource(one["resource"])
        if pool not in pools:
            errors.append(FieldError(f"{place}.pool_id", f"There is no pool {pool}.", "List the pools."))
            continue
        if (pool, resource) in seen:
            errors.append(FieldError(place, f"{resource} of this pool is given twice.", "Name it once."))
        seen.add((pool, resource))
        new = replace(
            quota_of(queue, pool, resource),
            **{name: one[name] for name in ("guarantee", "limit", "weight") if one.get(name) is not None},
        )
        errors += _wrong(place, new, resource, is_root=queue.parent is None)
        quotas.setdefault(pool, {})[resource] = new
    return replace(queue, quotas=quotas, **wanted), errors


def _wrong(place: str, quota: Quota, resource: Resource, *, is_root: bool) -> Iterator[FieldError]:
    if quota.guarantee == UNLIMITED and not is_root:
        yield FieldError(
            f"{place}.guarantee",
            "Only the root queue can be guaranteed everything.",
            "Give a number; 0 guarantees nothing.",
        )
    elif quota.limit != UNLIMITED and quota.guarantee > quota.limit:
        yield FieldError(
            f"{place}.guarantee",
            f"A guarantee of {told(quota.guarantee, resource)} is above the limit of"
            f" {told(quota.limit, resource)}.",
            "Raise the limit, or lower the guarantee.",
        )
