"""Queues and flavors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from corral_sdk._decode import decode
from corral_sdk._resource import UNCHANGED, Resource, given
from corral_sdk.models import ChangedQueues, Flavor, FlavorGpu, Queue, Queues

__all__ = ["Flavors", "QueueTree"]


class QueueTree(Resource):
    """Who is entitled to what.

    A quota is `{"pool_id": …, "resource": "gpu_milli", "guarantee": 2000, "limit": -1, "weight": 1}`; what
    is left out of it stays as it is. The resources are gpu_milli, cpu_milli and memory_mib; bounds may be
    text (`"2"`, `"500m"`, `"16Gi"`, `"none"`).
    """

    def read(self, *, organisation: str | None = None) -> Queues:
        """The tree with its pools, and warnings where guarantees exceed capacity."""
        return self._get(Queues, "queues", query={"organisation": organisation})

    def get(self, queue_id: str) -> Queue:
        return self._get(Queue, "queues", queue_id)

    def create(self, organisation_id: str, user_id: str) -> Queue:
        """A person's queue before their first work, to give it something; the one that is there, if any."""
        body = given(organisation_id=organisation_id, user_id=user_id)
        return self._create(Queue, "queues", body=body)

    def update(
        self,
        queue_id: str,
        *,
        quotas: Sequence[Mapping[str, object]] = UNCHANGED,
        policy: str = UNCHANGED,
        priority: int = UNCHANGED,
        reclaim_min_runtime_seconds: int | None = UNCHANGED,
        preempt_min_runtime_seconds: int | None = UNCHANGED,
        custom_numbers: bool | None = UNCHANGED,
        generation: int | None = None,
    ) -> Queue:
        body = given(
            quotas=quotas,
            policy=policy,
            priority=priority,
            reclaim_min_runtime_seconds=reclaim_min_runtime_seconds,
            preempt_min_runtime_seconds=preempt_min_runtime_seconds,
            custom_numbers=custom_numbers,
        )
        return self._change("PATCH", Queue, "queues", queue_id, body=body, generation=generation)

    def change(self, changes: Sequence[Mapping[str, Any]], *, dry_run: bool = False) -> ChangedQueues:
        """Several queues, all or none: each has `queue_id`, the `generation` that was read, what changes."""
        body = given(changes=changes, dry_run=dry_run)
        return decode(ChangedQueues, self._act("queues", "changes", body=body))


class Flavors(Resource):
    """Named bundles of CPU, memory and GPUs that work can choose from."""

    def list(self, *, organisation: str | None = None, kind: str | None = None) -> Iterator[Flavor]:
        """With an organisation, those that its work may use; with a kind, those that are offered for it."""
        query = given(organisation=organisation, kind=kind)
        return self._each(Flavor, "flavors", query=query)

    def get(self, flavor_id: str) -> Flavor:
        return self._get(Flavor, "flavors", flavor_id)

    def create(
        self,
        name: str,
        *,
        cpu_milli: int = UNCHANGED,
        memory_mib: int = UNCHANGED,
        cpu: float | str = UNCHANGED,
        memory: str = UNCHANGED,
        organisation_ids: Sequence[str],
        gpu: FlavorGpu | Mapping[str, Any] | int | str | None = None,
        description: str = "",
        kinds: Sequence[str] = (),
        enabled: bool = True,
    ) -> Flavor:
        """Amounts as people write them (`cpu="500m"`, `memory="16Gi"`, `gpu="2x8Gi"`), or in the unit of the
        field; no `kinds` are all."""
        body = given(
            name=name,
            description=description,
            cpu_milli=cpu_milli,
            memory_mib=memory_mib,
            cpu=cpu,
            memory=memory,
            gpu=gpu,
            organisation_ids=organisation_ids,
            kinds=kinds,
            enabled=enabled,
        )
        return self._create(Flavor, "flavors", body=body)

    def update(
        self,
        flavor_id: str,
        *,
        name: str = UNCHANGED,
        description: str = UNCHANGED,
        cpu_milli: int = UNCHANGED,
        memory_mib: int = UNCHANGED,
        cpu: float | str = UNCHANGED,
        memory: str = UNCHANGED,
        gpu: FlavorGpu | Mapping[str, Any] | int | str | None = UNCHANGED,
        organisation_ids: Sequence[str] = UNCHANGED,
        kinds: Sequence[str] = UNCHANGED,
        enabled: bool = UNCHANGED,
        generation: int | None = None,
    ) -> Flavor:
        """What runs keeps what it asked for."""
        body = given(
            name=name,
            description=description,
            cpu_milli=cpu_milli,
            memory_mib=memory_mib,
            cpu=cpu,
            memory=memory,
            gpu=gpu,
            organisation_ids=organisation_ids,
            kinds=kinds,
            enabled=enabled,
        )
        return self._change("PATCH", Flavor, "flavors", flavor_id, body=body, generation=generation)

    def delete(self, flavor_id: str, *, generation: int | None = None) -> None:
        self._delete("flavors", flavor_id, generation=generation)
