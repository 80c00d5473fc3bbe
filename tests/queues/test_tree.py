"""Queues follow the organisation tree, and the scheduler gets a tree whose leaves are people."""

import dataclasses
from collections.abc import Mapping

from sqlalchemy import insert, select

from corral.api.parts import part, provide
from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.resources import RESOURCES, Resource
from corral.core.workloads import Replica, ReplicaGroup, Request, Workload
from corral.identity.context import Identity
from corral.queues import snapshot
from corral.queues.service import ensure_queue, find_queue
from corral.queues.tables import queue, queue_quota
from corral.scheduling.validate.snapshot import Snapshot
from corral.scheduling.validate.snapshot_checks import check_snapshot
from corral.store.database import Transaction
from corral.zones import journal
from corral.zones.snapshot import pools_and_nodes
from tests.campus import Campus, made, refused
from tests.zones.machines import machine, see, this_machine


async def queues_of(campus: Campus) -> dict[str, Queue]:
    zone = await campus.database.read(this_machine)
    return {one.name: one for one in await campus.database.read(snapshot.queues, zone.id)}


def parents(tree: Mapping[str, Queue], name: str) -> list[str]:
    found, above = [], tree[name].parent
    while above is not None:
        found.append(above)
        above = tree[above].parent
    return found


async def test_every_organisation_has_a_queue_and_people_get_theirs_on_demand(campus: Campus) -> None:
    science = await campus.organisation("Science")
    vision = await campus.organisation("Vision", science)
    mei = await campus.person("mei", vision)
    before = await queues_of(campus)
    assert len(before) == 3
    mine = await campus.database.write(ensure_queue, vision, mei)
    assert await campus.database.write(ensure_queue, vision, mei) == mine
    tree = await queues_of(campus)
    chain = [await campus.database.read(find_queue, one) for one in (vision, science, campus.root)]
    assert parents(tree, mine) == chain


async def test_people_of_an_organisation_stand_beside_the_organisations_below_it(campus: Campus) -> None:
    """science ── vision (an organisation), mei (works in science itself)"""
    science = await campus.organisation("Science")
    vision = await campus.organisation("Vision", science)
    mei = await campus.person("mei", science)
    mine = await campus.database.write(ensure_queue, science, mei)
    tree = await queues_of(campus)
    below = await campus.database.read(find_queue, vision)
    assert below is not None
    assert tree[mine].parent == tree[below].parent
    zone = await campus.database.read(this_machine)
    ground = await campus.database.read(pools_and_nodes, zone.id)
    work = Workload("w", mine, (ReplicaGroup("workers", request=Request(100), replicas=(Replica("w-0"),)),))
    check_snapshot(Snapshot(0, ground.nodes, tuple(tree.values()), (work,), ground.pools))


async def test_nobody_has_a_guarantee_at_first_and_surplus_is_shared_equally(campus: Campus) -> None:
    mei = await campus.person("mei")
    mine = await campus.database.write(ensure_queue, campus.root, mei)
    tree = await queues_of(campus)
    zone = await campus.database.read(this_machine)
    (pool,) = (await campus.database.read(pools_and_nodes, zone.id)).pools
    assert tree[mine].policy is QueuePolicy.ELASTIC
    assert tree[mine].quotas[pool.name] == dict.fromkeys(RESOURCES, Quota(0, -1, 1))
    root = tree[str(tree[mine].parent)]
    nothing = dict.fromkeys(RESOURCES, Quota(0, -1, 1))
    assert root.quotas[pool.name] == nothing, "the root has what the pool has: no machine was seen yet"
    await campus.database.write(see, machine())
    root = (await queues_of(campus))[str(tree[mine].parent)]
    assert root.quotas[pool.name][Resource.GPU_MILLI] == Quota(8000, -1, 1)


async def test_quotas_that_were_set_are_the_schedulers(campus: Campus) -> None:
    science = await campus.organisation("Science")
    queue_id = await campus.database.read(find_queue, science)
    assert queue_id is not None
    zone = await campus.database.read(this_machine)
    (pool,) = (await campus.database.read(pools_and_nodes, zone.id)).pools

    def give(transaction: Transaction) -> None:
        transaction.run(
            insert(queue_quota).values(
                queue_id=queue_id,
                pool_id=pool.name,
                resource="gpu_milli",
                guarantee=2000,
                limit=4000,
                weight=3,
            )
        )

    await campus.database.write(give)
    quotas = (await queues_of(campus))[queue_id].quotas[pool.name]
    assert quotas[Resource.GPU_MILLI] == Quota(2000, 4000, 3)
    assert quotas[Resource.CPU_MILLI] == Quota(0, -1, 3)


async def test_move_of_an_organisation_moves_its_queue(campus: Campus) -> None:
    science = await campus.organisation("Science")
    arts = await campus.organisation("Arts")
    vision = await campus.organisation("Vision", science)
    zone = await campus.database.read(this_machine)
    position = await campus.database.read(journal.latest, zone.id)
    made(await campus.admin.patch(f"/organisations/{vision}", {"parent_id": arts}, match="*"))
    moved = await campus.database.read(find_queue, vision)
    assert moved is not None
    assert (await queues_of(campus))[moved].parent == await campus.database.read(find_queue, arts)
    told = await campus.database.read(journal.read_after, zone.id, position)
    assert [(one.kind, one.object_id) for one in told] == [("queue", moved)]


async def test_queue_goes_with_its_organisation(campus: Campus) -> None:
    science = await campus.organisation("Science")
    mei = await campus.person("mei")
    own = await campus.database.read(find_queue, science)
    mine = await campus.database.write(ensure_queue, science, mei)
    zone = await campus.database.read(this_machine)
    position = await campus.database.read(journal.latest, zone.id)
    made(await campus.admin.delete(f"/organisations/{science}", match="*"))
    assert {own, mine}.isdisjoint(await queues_of(campus))
    told = await campus.database.read(journal.read_after, zone.id, position)
    assert {one.object_id for one in told} == {own, mine}


async def test_what_is_still_in_its_queues_keeps_an_organisation(campus: Campus) -> None:
    class Work:
        """Says that there is work, as the package that keeps it will."""

        def created(self, transaction: Transaction, node: object) -> None: ...
        def moved(self, transaction: Transaction, node: object) -> None: ...
        def contents(self, transaction: Transaction, node: object) -> dict[str, int]:
            return {"workloads": 3}

        def deleted(self, transaction: Transaction, node: object) -> None: ...

    science = await campus.organisation("Science")
    here = part(campus.app, Identity)
    provide(campus.app, dataclasses.replace(here, organisation_hooks=(*here.organisation_hooks, Work())))
    problem = refused(await campus.admin.delete(f"/organisations/{science}", match="*"), 409, "conflict")
    assert "3 workloads" in problem["detail"]
    assert await campus.database.read(find_queue, science) is not None


async def test_siblings_have_colours_of_their_own_for_life(campus: Campus) -> None:
    async def colour(organisation: str) -> int:
        statement = select(queue.c.colour).where(queue.c.organisation_id == organisation)
        return int(await campus.database.read(lambda transaction: transaction.scalar(statement)))

    made_ones = [await campus.organisation(f"Lab {number}") for number in range(9)]
    assert [await colour(one) for one in made_ones] == [1, 2, 3, 4, 5, 6, 7, 8, 8]
    made(await campus.admin.delete(f"/organisations/{made_ones[2]}", match="*"))
    assert await colour(await campus.organisation("Another")) == 3
    assert await colour(made_ones[3]) == 4
