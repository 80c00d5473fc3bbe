"""Zones, pools, nodes and devices over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from corral.api.callers import Caller, Requires
from corral.api.models import Id
from corral.api.once import CreatedOnce, Db
from corral.api.pages import Page
from corral.api.versions import IfMatch, tagged
from corral.core.permissions import Permission
from corral.zones import nodes, pools, zones
from corral.zones.context import ZonesHere
from corral.zones.models import (
    Device,
    NewPool,
    NewZone,
    Node,
    NodeChange,
    NodeQuery,
    Pool,
    PoolChange,
    Pools,
    Zone,
    Zones,
)

router = APIRouter(tags=["zones"])

# Machines belong to no organisation: whoever may see them anywhere sees them all.
Reader = Annotated[Caller, Requires(Permission.ZONES_READ)]
Manager = Annotated[Caller, Requires(Permission.ZONES_MANAGE)]


@router.get("/zones")
async def list_zones(database: Db, caller: Reader) -> Zones:  # noqa: ARG001
    """The places with machines: their kind, who drives each, and since when."""
    return await database.read(zones.list_zones)


@router.post("/zones", status_code=201)
async def add_zone(once: CreatedOnce, caller: Manager, new: NewZone) -> Zone:
    """Adds a simulated zone: nodes that schedule and meter, and compute nothing."""
    return await once.create(caller, zones.add_zone, new)


@router.get("/zones/{zone_id}")
async def get_zone(database: Db, caller: Reader, zone_id: Id, response: Response) -> Zone:  # noqa: ARG001
    """One zone."""
    return tagged(response, await database.read(zones.get_zone, zone_id))


@router.delete("/zones/{zone_id}", status_code=204)
async def remove_zone(database: Db, caller: Manager, here: ZonesHere, zone_id: Id) -> None:
    """Removes a simulated zone in which no work is left."""
    await database.write(zones.remove_zone, caller, zone_id, here.work_in_zone)


@router.get("/pools")
async def list_pools(database: Db, caller: Reader, zone: Id | None = None) -> Pools:  # noqa: ARG001
    """The pools, each with what its nodes have."""
    return await database.scan(pools.list_pools, zone)


@router.post("/pools", status_code=201)
async def create_pool(once: CreatedOnce, caller: Manager, new: NewPool) -> Pool:
    """Makes a pool of the nodes that carry its labels."""
    return await once.create(caller, pools.create_pool, new)


@router.get("/pools/{pool_id}")
async def get_pool(database: Db, caller: Reader, pool_id: Id, response: Response) -> Pool:  # noqa: ARG001
    """One pool."""
    return tagged(response, await database.scan(pools.get_pool, pool_id))


@router.patch("/pools/{pool_id}")
async def change_pool(
    database: Db, caller: Manager, pool_id: Id, change: PoolChange, expected: IfMatch, response: Response
) -> Pool:
    """Changes how work is placed in it; other labels move nodes."""
    return tagged(response, await database.write(pools.change_pool, caller, pool_id, change, expected))


@router.delete("/pools/{pool_id}", status_code=204)
async def delete_pool(database: Db, caller: Manager, pool_id: Id, expected: IfMatch, here: ZonesHere) -> None:
    """Deletes a pool without nodes, quotas and work that names it."""
    await database.write(pools.delete_pool, caller, pool_id, expected, here.pool_hooks)


@router.get("/nodes")
async def list_nodes(database: Db, caller: Reader, query: Annotated[NodeQuery, Query()]) -> Page[Node]:  # noqa: ARG001
    """The machines with their devices, by name; those that were lost, too."""
    return await database.scan(nodes.list_nodes, query)


@router.get("/nodes/{node_id}")
async def get_node(database: Db, caller: Reader, node_id: Id, response: Response) -> Node:  # noqa: ARG001
    """One machine."""
    return tagged(response, await database.read(nodes.get_node, node_id))


@router.patch("/nodes/{node_id}")
async def change_node(
    database: Db, caller: Manager, node_id: Id, change: NodeChange, expected: IfMatch, response: Response
) -> Node:
    """Cordons it, so that it gets no new work, or takes it into use again."""
    return tagged(response, await database.write(nodes.change_node, caller, node_id, change, expected))


@router.get("/devices")
async def list_devices(database: Db, caller: Reader, query: Annotated[NodeQuery, Query()]) -> Page[Device]:  # noqa: ARG001
    """The GPUs of all machines, by node and number."""
    return await database.scan(nodes.list_devices, query)
