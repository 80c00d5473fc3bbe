"""What a caller sees of the queues: the whole tree as it is or would be, and the part that may be shown."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import select

from corral.api.callers import Caller, lacking
from corral.core.permissions import Permission
from corral.core.queues import Queue as CoreQueue
from corral.core.refusals import NotFound
from corral.core.resources import RESOURCES, Amount, Resource
from corral.core.scopes import ancestors, contains
from corral.identity.tables import organisation, user
from corral.queues.fair import fair_shares
from corral.queues.models import Queue, QueueEffect, QueuePerson, QueuePool, QueueQuota, QueueWarning
from corral.queues.rules import OverCommitment, Shortfall, over_commitments, quota_of, told
from corral.queues.snapshot import queues_in
from corral.queues.tables import queue
from corral.queues.use import Place, Use, UseOfQueues, with_those_below
from corral.store.database import Transaction
from corral.zones.models import Pool
from corral.zones.pools import list_pools


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue beside what the scheduler knows of it."""

    id: str
    path: str  # of its organisation
    organisation_id: str
    organisation_name: str
    user_id: str | None
    user_name: str | None
    display_name: str | None
    custom_numbers: bool | None
    colour: int
    created_at: datetime
    generation: int

    @property
    def name(self) -> str:
        return self.organisation_name if self.display_name is None else self.display_name

    @property
    def governing_path(self) -> str:
        """Where changing it takes queues.manage: an organisation does not raise its own share."""
        above = self.path.removesuffix(f"{self.organisation_id}/")
        return self.path if self.user_id is not None or above == "/" else above


@dataclass(frozen=True, slots=True)
class Forest:
    """`cores` is the whole tree; `visible` says at which place of the page each queue is that is shown."""

    caller: Caller
    pools: Mapping[str, Pool]
    cores: Mapping[str, CoreQueue]
    rows: dict[str, QueueRow]
    visible: Mapping[str, int]
    use: Mapping[Place, Use] | None
    fair: Mapping[Place, Amount]

    def find(self, queue_id: str) -> QueueRow:
        if queue_id not in self.visible:
            raise NotFound(
                f"There is no queue {queue_id} that you may see.", "List the queues to find its id."
            )
        return self.rows[queue_id]

    def require_change(self, caller: Caller, row: QueueRow) -> None:
        if not caller.may(Permission.QUEUES_MANAGE, row.governing_path):
            place = row.organisation_name if row.user_id else f"the organisation above {row.name}"
            raise lacking(Permission.QUEUES_MANAGE, place)

    def changed(self, cores: Mapping[str, CoreQueue], numbers: Mapping[str, bool | None]) -> "Forest":
        rows = dict(self.rows)
        for queue_id, allowed in numbers.items():
            rows[queue_id] = replace(rows[queue_id], custom_numbers=allowed)
        after = {**self.cores, **cores}
        return replace(self, cores=after, rows=rows, fair=_fair(after, self.use, self.pools))

    def effects(self, after: "Forest") -> list[QueueEffect]:
        """Where the fair share is another one in the forest after a change; nothing if use is not known."""
        return [
            QueueEffect(
                queue_id=queue_id,
                queue_name=self.rows[queue_id].name,
                pool_id=pool_id,
                resource=resource,
                used=getattr(use.held, resource),
                wanted=0 if use.wanted is None else getattr(use.wanted, resource),
                fair_before=getattr(before, resource),
                fair_after=getattr(then, resource),
            )
            for queue_id in self.visible
            for pool_id in self.pools
            if (before := self.fair.get((queue_id, pool_id))) is not None
            and before != (then := after.fair[queue_id, pool_id])
            for use in ((self.use or {}).get((queue_id, pool_id), Use()),)
            for resource in RESOURCES
            if getattr(before, resource) != getattr(then, resource)
        ]

    def warnings(self) -> list[QueueWarning]:
        sizes = {
            pool.id: {resource: getattr(pool.capacity, resource) for resource in RESOURCES}
            for pool in self.pools.values()
        }
        found = over_commitments(list(self.cores.values()), sizes)
        shown = [one for one in found if one.queue in self.visible]
        return [self._warning(one) for one in sorted(shown, key=lambda one: self.visible[one.queue])]

    def described(self) -> list[Queue]:
        return [self.describe(self.rows[queue_id]) for queue_id in self.visible]

    def described_pools(self) -> list[QueuePool]:
        fields = QueuePool.model_fields
        return [QueuePool(**{name: getattr(pool, name) for name in fields}) for pool in self.pools.values()]

    def describe(self, row: QueueRow) -> Queue:
        core = self.cores[row.id]
        person = None
        if row.user_id is not None:
            person = QueuePerson(
                id=row.user_id, name=row.user_name or "", display_name=row.display_name or ""
            )
        return Queue(
            id=row.id,
            parent_id=core.parent if core.parent in self.visible else None,
            name=row.name,
            organisation_id=row.organisation_id,
            organisation_name=row.organisation_name,
            person=person,
            priority=core.priority,
            policy=core.policy,
            reclaim_min_runtime_seconds=core.reclaim_min_runtime_seconds,
            preempt_min_runtime_seconds=core.preempt_min_runtime_seconds,
            custom_numbers=row.custom_numbers,
            colour=row.colour,
            quotas=[self._quota(core, pool_id, resource) for pool_id in self.pools for resource in RESOURCES],
            may_change=self.caller.may(Permission.QUEUES_MANAGE, row.governing_path),
            created_at=row.created_at,
            generation=row.generation,
        )

    def _quota(self, core: CoreQueue, pool_id: str, resource: Resource) -> QueueQuota:
        quota = quota_of(core, pool_id, resource)
        use = None if self.use is None else self.use.get((core.name, pool_id), Use())
        fair = self.fair.get((core.name, pool_id))
        return QueueQuota(
            pool_id=pool_id,
            resource=resource,
            guarantee=quota.guarantee,
            limit=quota.limit,
            weight=quota.weight,
            used=None if use is None else getattr(use.held, resource),
            wanted=None if use is None or use.wanted is None else getattr(use.wanted, resource),
            fair_share=None if fair is None else getattr(fair, resource),
        )

    def _warning(self, found: OverCommitment) -> QueueWarning:
        name, pool = self.rows[found.queue].name, self.pools[found.pool].name
        promised, has = told(found.promised, found.resource), told(found.available, found.resource)
        match found.kind:
            case Shortfall.ABOVE_CAPACITY:
                words = f"Guarantees of {promised} in {name} exceed the {has} of the pool {pool}."
            case Shortfall.ABOVE_GUARANTEE:
                words = (
                    f"The queues below {name} are guaranteed {promised}, but it has {has} in the pool {pool}."
                )
            case Shortfall.ABOVE_LIMIT:
                words = (
                    f"The queues below {name} are guaranteed {promised}, but its limit is {has} in {pool}."
                )
        return QueueWarning(
            kind=found.kind,
            queue_id=found.queue,
            queue_name=name,
            pool_id=found.pool,
            pool_name=pool,
            resource=found.resource,
            promised=found.promised,
            available=found.available,
            detail=words,
        )


def read_forest(
    transaction: Transaction, caller: Caller, use: UseOfQueues | None, within: str | None = None
) -> Forest:
    """`within` narrows what is shown to an organisation's path."""
    pools = {pool.id: pool for pool in list_pools(transaction).items}
    cores = queues_in(transaction, list(pools))
    rows = _rows(transaction)
    names = {row.organisation_id: row.organisation_name.casefold() for row in rows.values()}
    seen = [row for row in rows.values() if _may_see(caller, row) and contains(within or "/", row.path)]
    seen.sort(key=lambda row: _order(row, names))
    by_name = {core.name: core for core in cores}
    used = None if use is None else with_those_below(cores, use(transaction))
    places = {row.id: place for place, row in enumerate(seen)}
    return Forest(caller, pools, by_name, rows, places, used, _fair(by_name, used, pools))


def _fair(
    cores: Mapping[str, CoreQueue], use: Mapping[Place, Use] | None, pools: Mapping[str, Pool]
) -> Mapping[Place, Amount]:
    return {} if use is None else fair_shares(cores.values(), use, pools.values())


def _order(row: QueueRow, names: Mapping[str, str]) -> list[tuple[int, str, str]]:
    """Depth first: organisations by name, then people by name."""
    chain = [(0, names.get(one, ""), one) for one in ancestors(row.path)]
    return chain if row.user_id is None else [*chain, (1, row.name.casefold(), row.id)]


def _may_see(caller: Caller, row: QueueRow) -> bool:
    """The person's name, for those who may see people and for that person."""
    if row.user_id is not None:
        if row.user_id == caller.user_id:
            return True
        if not caller.may(Permission.PEOPLE_READ, row.path):
            return False
    return caller.may(Permission.QUEUES_READ, row.path)


def _rows(transaction: Transaction) -> dict[str, QueueRow]:
    found = transaction.rows(
        select(
            queue.c.id,
            organisation.c.path,
            queue.c.organisation_id,
            organisation.c.name.label("organisation_name"),
            queue.c.user_id,
            user.c.name.label("user_name"),
            user.c.display_name,
            queue.c.custom_numbers,
            queue.c.colour,
            queue.c.created_at,
            queue.c.generation,
        )
        .join(organisation, organisation.c.id == queue.c.organisation_id)
        .outerjoin(user, user.c.id == queue.c.user_id)
    )
    return {row.id: QueueRow(*row) for row in found}
