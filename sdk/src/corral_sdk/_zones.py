"""Zones, pools, nodes and devices."""

from collections.abc import Iterator, Mapping, Sequence

from corral_sdk._resource import UNCHANGED, Resource, given
from corral_sdk.models import Device, Host, Node, Pool, PoolTopology, Zone

__all__ = ["Devices", "Hosts", "Nodes", "Pools", "Zones"]


class Zones(Resource):
    """Places that run work: machines, clusters, simulations."""

    def list(self) -> Iterator[Zone]:
        return self._each(Zone, "zones")

    def get(self, zone_id: str) -> Zone:
        return self._get(Zone, "zones", zone_id)

    def add(self, name: str, *, nodes: str) -> Zone:
        """A simulated zone; `nodes` is like `4x8xH100-80GB`."""
        return self._create(Zone, "zones", body={"name": name, "nodes": nodes})

    def delete(self, zone_id: str) -> None:
        """A simulated zone in which no work is left."""
        self._delete("zones", zone_id)


class Hosts(Resource):
    """Machines on which a Corral of the same database runs."""

    def list(self) -> Iterator[Host]:
        return self._each(Host, "hosts")

    def delete(self, host_id: str) -> None:
        """Forgets one that does not come back."""
        self._delete("hosts", host_id)


class Pools(Resource):
    """Nodes that are shared alike."""

    def list(self, *, zone: str | None = None) -> Iterator[Pool]:
        return self._each(Pool, "pools", query={"zone": zone})

    def get(self, pool_id: str) -> Pool:
        return self._get(Pool, "pools", pool_id)

    def create(
        self,
        zone_id: str,
        name: str,
        labels: Mapping[str, str],
        *,
        arrangement: str = UNCHANGED,
        unit_gpu_milli: int = UNCHANGED,
        priority_across_queues: bool = UNCHANGED,
        reservations: int = UNCHANGED,
        topologies: Sequence[PoolTopology] = UNCHANGED,
        least_strength: str = UNCHANGED,
        most_grace_seconds: int = UNCHANGED,
        most_retries: int = UNCHANGED,
        most_replicas: int = UNCHANGED,
        most_hold_seconds: int = UNCHANGED,
    ) -> Pool:
        """A pool of the nodes that carry the labels; what is left out is as usual."""
        body = given(
            zone_id=zone_id,
            name=name,
            labels=labels,
            arrangement=arrangement,
            unit_gpu_milli=unit_gpu_milli,
            priority_across_queues=priority_across_queues,
            reservations=reservations,
            topologies=topologies,
            least_strength=least_strength,
            most_grace_seconds=most_grace_seconds,
            most_retries=most_retries,
            most_replicas=most_replicas,
            most_hold_seconds=most_hold_seconds,
        )
        return self._create(Pool, "pools", body=body)

    def update(
        self,
        pool_id: str,
        *,
        name: str = UNCHANGED,
        labels: Mapping[str, str] = UNCHANGED,
        arrangement: str = UNCHANGED,
        unit_gpu_milli: int = UNCHANGED,
        priority_across_queues: bool = UNCHANGED,
        reservations: int = UNCHANGED,
        topologies: Sequence[PoolTopology] = UNCHANGED,
        least_strength: str = UNCHANGED,
        most_grace_seconds: int = UNCHANGED,
        most_retries: int = UNCHANGED,
        most_replicas: int = UNCHANGED,
        most_hold_seconds: int = UNCHANGED,
        generation: int | None = None,
    ) -> Pool:
        """Other labels move nodes into it and out of it."""
        body = given(
            name=name,
            labels=labels,
            arrangement=arrangement,
            unit_gpu_milli=unit_gpu_milli,
            priority_across_queues=priority_across_queues,
            reservations=reservations,
            topologies=topologies,
            least_strength=least_strength,
            most_grace_seconds=most_grace_seconds,
            most_retries=most_retries,
            most_replicas=most_replicas,
            most_hold_seconds=most_hold_seconds,
        )
        return self._change("PATCH", Pool, "pools", pool_id, body=body, generation=generation)

    def delete(self, pool_id: str, *, generation: int | None = None) -> None:
        """A pool that has no nodes, no quotas and no work."""
        self._delete("pools", pool_id, generation=generation)


class Nodes(Resource):
    """Machines."""

    def list(self, *, zone: str | None = None, pool: str | None = None) -> Iterator[Node]:
        return self._each(Node, "nodes", query=_where(zone, pool))

    def get(self, node_id: str) -> Node:
        return self._get(Node, "nodes", node_id)

    def cordon(self, node_id: str, *, generation: int | None = None) -> Node:
        """It gets no new work; what runs there stays."""
        body = {"cordoned": True}
        return self._change("PATCH", Node, "nodes", node_id, body=body, generation=generation)

    def uncordon(self, node_id: str, *, generation: int | None = None) -> Node:
        body = {"cordoned": False}
        return self._change("PATCH", Node, "nodes", node_id, body=body, generation=generation)


class Devices(Resource):
    """GPUs."""

    def list(self, *, zone: str | None = None, pool: str | None = None) -> Iterator[Device]:
        return self._each(Device, "devices", query=_where(zone, pool))


def _where(zone: str | None, pool: str | None) -> dict[str, object]:
    return {name: value for name, value in (("zone", zone), ("pool", pool)) if value is not None}
