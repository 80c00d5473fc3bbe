"""The first flavors come from the machine; who may use one is said by organisations."""

import pytest
from sqlalchemy import delete, insert, update

from corral.core.devices import Device
from corral.core.nodes import Node
from corral.core.refusals import Conflict, NotFound
from corral.core.workloads import DeviceRequest
from corral.engines.interface import Inventory
from corral.identity.lookups import node_by_id
from corral.queues import flavors
from corral.queues.flavors import FlavorFacts
from corral.queues.presets import ensure_presets, presets_for
from corral.queues.tables import flavor, flavor_organisation
from corral.store.database import Transaction
from corral.zones.service import record_inventory
from tests.campus import Campus
from tests.zones.machines import this_machine

MACHINE = Node("big", 64_000, 256 * 1024, devices=tuple(Device(f"gpu-{n}", 81920, "H100") for n in range(8)))


def find(transaction: Transaction, organisation_id: str, name: str) -> FlavorFacts:
    return flavors.find(transaction, node_by_id(transaction, organisation_id), name, "training")


def usable(transaction: Transaction, organisation_id: str) -> tuple[FlavorFacts, ...]:
    return flavors.usable(transaction, node_by_id(transaction, organisation_id), "training")


async def see_machine(campus: Campus, node: Node = MACHINE) -> tuple[str, ...]:
    def work(transaction: Transaction) -> tuple[str, ...]:
        zone = this_machine(transaction)
        record_inventory(transaction, zone.id, Inventory(1, (node,)))
        return ensure_presets(transaction, zone.id)

    return await campus.database.write(work)


async def test_first_inventory_makes_flavors_and_no_later_one_does(campus: Campus) -> None:
    zone = await campus.database.read(this_machine)
    assert await campus.database.write(ensure_presets, zone.id) == (), "nothing has been seen yet"
    assert await see_machine(campus) == ("cpu-small", "cpu-large", "gpu-8g", "gpu-1", "gpu-8")
    whole = await campus.database.read(find, campus.root, "gpu-1")
    assert (whole.cpu_milli, whole.memory_mib, whole.devices) == (8000, 32 * 1024, DeviceRequest(1))
    slice_ = await campus.database.read(find, campus.root, "gpu-8g")
    assert slice_.devices == DeviceRequest(1, memory_mib=8192)
    assert slice_.mode == "vgpu"
    names = [one.name for one in await campus.database.read(usable, campus.root)]
    assert names == ["cpu-small", "cpu-large", "gpu-8g", "gpu-1", "gpu-8"]

    def forget(transaction: Transaction) -> None:
        transaction.run(delete(flavor_organisation))
        transaction.run(delete(flavor))

    await campus.database.write(forget)
    assert await see_machine(campus) == (), "whoever deleted them does not want them back"


def test_small_machine_without_a_gpu_gets_flavors_that_fit() -> None:
    found = [
        (one.name, one.cpu_milli, one.memory_mib, one.gpus) for one in presets_for([Node("pc", 2000, 4096)])
    ]
    assert found == [("cpu-small", 500, 1024, 0), ("cpu-large", 1000, 2048, 0)]


def test_flavors_of_a_small_gpu_have_no_slice_larger_than_it() -> None:
    names = [one.name for one in presets_for([Node("n", 8000, 32768, devices=(Device("g", 8192),))])]
    assert names == ["cpu-small", "cpu-large", "gpu-1"]


async def test_flavor_is_for_the_organisations_it_was_given_to_and_those_below(campus: Campus) -> None:
    science = await campus.organisation("Science")
    vision = await campus.organisation("Vision", science)
    arts = await campus.organisation("Arts")
    await see_machine(campus)
    found = await campus.database.read(find, campus.root, "gpu-8")

    def give(transaction: Transaction) -> None:
        given = flavor_organisation
        transaction.run(delete(given).where(given.c.flavor_id == found.id))
        transaction.run(insert(given).values(flavor_id=found.id, organisation_id=science))

    await campus.database.write(give)
    for place in (science, vision):
        assert (await campus.database.read(find, place, found.id)).name == "gpu-8"
    for place in (arts, campus.root):
        with pytest.raises(NotFound, match="no flavor gpu-8 that"):
            await campus.database.read(find, place, "gpu-8")


async def test_disabled_flavor_is_refused_by_name(campus: Campus) -> None:
    await see_machine(campus)
    await campus.database.write(lambda transaction: transaction.run(update(flavor).values(enabled=False)))
    with pytest.raises(Conflict, match="gpu-1 is disabled"):
        await campus.database.read(find, campus.root, "gpu-1")
    assert await campus.database.read(usable, campus.root) == ()
