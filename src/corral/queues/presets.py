"""The first flavors: made from what a zone has when it is first seen; ordinary flavors from then on."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import insert, select, update

from corral.core.ids import Kind, new_id
from corral.core.nodes import Node
from corral.identity.lookups import root_of
from corral.queues.tables import flavor, flavor_organisation
from corral.store.database import Transaction
from corral.zones.snapshot import pools_and_nodes
from corral.zones.tables import zone

_GIB = 1024
_SLICE_GIB = 8


@dataclass(frozen=True, slots=True)
class Preset:
    name: str
    description: str
    cpu_milli: int
    memory_mib: int
    gpus: int = 0
    gpu_memory_mib: int | None = None

    @property
    def mode(self) -> str | None:
        if not self.gpus:
            return None
        return "whole" if self.gpu_memory_mib is None else "vgpu"


def ensure_presets(transaction: Transaction, zone_id: str) -> tuple[str, ...]:
    """Makes flavors from the zone's nodes, once; returns their names. Without nodes it waits for some."""
    if transaction.scalar(select(zone.c.presets_made_at).where(zone.c.id == zone_id)) is not None:
        return ()
    nodes = pools_and_nodes(transaction, zone_id).nodes
    if not nodes:
        return ()
    taken = {name for (name,) in transaction.rows(select(flavor.c.name))}
    made = [preset for preset in presets_for(nodes) if preset.name not in taken]
    for preset in made:
        _add(transaction, preset)
    transaction.run(update(zone).where(zone.c.id == zone_id).values(presets_made_at=transaction.now))
    return tuple(preset.name for preset in made)


def presets_for(nodes: Iterable[Node]) -> list[Preset]:
    """A small and a large part without GPUs; a slice, one GPU and all GPUs where there are any.

    Work on a GPU gets its share of the CPUs and memory of the machine that has most of them.
    """
    largest = max(nodes, key=lambda node: (len(node.devices), node.cpu_milli, node.memory_mib))
    cpu, memory = largest.cpu_milli, largest.memory_mib
    small = Preset("cpu-small", "At most a quarter of a machine, no GPU.", *_part(cpu, memory, 4, 2, 4))
    large = Preset("cpu-large", "At most half a machine, no GPU.", *_part(cpu, memory, 2, 16, 64))
    found = [small] + ([large] if large.cpu_milli > small.cpu_milli else [])
    count = len(largest.devices)
    if not count:
        return found
    device = min(largest.devices, key=lambda one: one.memory_mib)
    slice_mib = _SLICE_GIB * _GIB
    per_gpu = (cpu // count, _whole_gib(memory // count))
    if device.memory_mib > slice_mib:
        slices = device.memory_mib // slice_mib
        share = (max(500, per_gpu[0] // slices), max(_GIB, _whole_gib(per_gpu[1] // slices)))
        found.append(
            Preset(f"gpu-{_SLICE_GIB}g", f"A slice of a GPU with {_SLICE_GIB} GiB.", *share, 1, slice_mib)
        )
    found.append(Preset("gpu-1", "One whole GPU.", *per_gpu, 1))
    if count > 1:
        found.append(Preset(f"gpu-{count}", f"All {count} GPUs of a machine.", cpu, memory, count))
    return found


def _part(cpu_milli: int, memory_mib: int, of: int, most_cpus: int, most_gib: int) -> tuple[int, int]:
    """One part of so many of a machine, within a ceiling."""
    return min(cpu_milli // of, most_cpus * 1000), min(_whole_gib(memory_mib // of), most_gib * _GIB)


def _whole_gib(mib: int) -> int:
    """Numbers that people can read; what has less than a GiB keeps it."""
    return mib // _GIB * _GIB or mib


def _add(transaction: Transaction, preset: Preset) -> None:
    flavor_id = new_id(Kind.FLAVOR, transaction.now)
    transaction.run(
        insert(flavor).values(
            id=flavor_id,
            name=preset.name,
            description=preset.description,
            cpu_milli=preset.cpu_milli,
            memory_mib=preset.memory_mib,
            gpu_count=preset.gpus,
            gpu_memory_mib=preset.gpu_memory_mib,
            gpu_fraction_milli=None,
            gpu_compute_percent=0,
            gpu_profile=None,
            gpu_models=[],
            mode=preset.mode,
            enabled=True,
            preset=True,
            created_at=transaction.now,
            generation=1,
        )
    )
    everyone = root_of(transaction).id
    transaction.run(insert(flavor_organisation).values(flavor_id=flavor_id, organisation_id=everyone))
