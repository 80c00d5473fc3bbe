"""Everything that makes one zone live: its loops, its planner, and the answers they give."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from corral.api.callers import Caller
from corral.control.loop import Loop
from corral.control.meter import Meter
from corral.control.planner import Planner
from corral.control.questions import Questions
from corral.control.reconcile import Listener, Reconciler
from corral.control.recording import Kind
from corral.control.running import running
from corral.control.schedule import Scheduler
from corral.control.trust import OnlyOnePerson
from corral.core.ids import Kind as IdKind
from corral.core.ids import new_id
from corral.core.queues import Queue
from corral.core.workloads import Replica, ReplicaGroup, Workload
from corral.engines.interface import Engine
from corral.identity.lookups import Node
from corral.queues.service import find_queue
from corral.queues.snapshot import usual_quotas
from corral.scheduling.live import Explain, Probe
from corral.store.database import Database, Transaction
from corral.usage.samples.sampler import Samples
from corral.workloads import service, sight
from corral.workloads.expectations import Expectations
from corral.workloads.snapshot import GROUP, replica_name
from corral.workloads.spec import Resources, WorkSpec
from corral.workloads.verdicts import Verdict, verdict_of
from corral.zones.service import local_zone


class Zone:
    """A zone whose work this process looks after, as far as it holds the leases."""

    def __init__(
        self,
        database: Database,
        zone_id: str,
        engine: Engine,
        kinds: Mapping[str, Kind],
        samples: Samples | None = None,
        listener: Listener | None = None,
        *,
        only_one_person: bool = False,
        planner: Planner | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.id = zone_id
        self.engine = engine
        self._database = database
        if only_one_person:
            kinds = {name: OnlyOnePerson(kind) for name, kind in kinds.items()}
        self.reconciler = Reconciler(database, zone_id, engine, kinds, listener, clock)
        self._expectations = Expectations()
        self.scheduler = Scheduler(database, zone_id, planner)
        self.meter = Meter(database, zone_id, engine, samples)
        self.loops: tuple[Loop, ...] = ()
        self.questions = Questions()

    @classmethod
    async def local(
        cls,
        database: Database,
        engine: Engine,
        kinds: Mapping[str, Kind],
        samples: Samples | None = None,
        listener: Listener | None = None,
        *,
        only_one_person: bool = False,
    ) -> "Zone":
        zone = await database.read(local_zone)
        return cls(database, zone.id, engine, kinds, samples, listener, only_one_person=only_one_person)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.loops = (self.reconciler.loop(), self.scheduler.loop(), self.meter.loop())
        async with running(self.loops):
            watch = asyncio.create_task(self.reconciler.watch(), name=f"watch {self.id}")
            try:
                yield
            finally:
                watch.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watch
        await self.reconciler.close()
        await self.scheduler.close()

    # What people ask before they submit, and while they wait

    async def probe(self, caller: Caller, spec: WorkSpec) -> Verdict:
        """What would become of new work; nothing of it is kept."""
        question = await self._database.read(_question, caller, spec, self.id)
        async with self.questions.turn(caller.user_id):
            told = await self.scheduler.probe(question)
        return await self._database.read(verdict_of, caller, told, self._expectations)

    async def explain(self, caller: Caller, workload_id: str) -> Verdict:
        """Why a workload waits now."""
        row = await self._database.read(sight.find, caller, workload_id)
        waits = workload_id, row.attempt + 1
        now = int(self._database.now().timestamp())
        async with self.questions.turn(caller.user_id):
            told = await self.scheduler.probe(Explain(now, workload_id))
        verdict = await self._database.read(verdict_of, caller, told, self._expectations, waits)
        estimate = None if told.explanation is None else told.explanation.estimate
        if estimate is not None and estimate.starts_at is not None:
            # Also where it is not said: what is not compared never gets known.
            self._expectations.note(waits, datetime.fromtimestamp(estimate.starts_at, UTC))
        return verdict


def _question(transaction: Transaction, caller: Caller, spec: WorkSpec, zone_id: str) -> Probe:
    node = service.home_of(transaction, caller, spec)
    document = service.definite(transaction, caller, spec, node, zone_id)
    name = new_id(IdKind.WORKLOAD, transaction.now)
    now = int(transaction.now.timestamp())
    queue_id, missing = _queue(transaction, node, caller.user_id, zone_id)
    resources = Resources.model_validate(document["resources"])
    replicas = tuple(Replica(replica_name(name, number)) for number in range(spec.replicas))
    group = ReplicaGroup(GROUP, None, resources.request(), replicas, preemptible=spec.preemptible)
    workload = Workload(
        name=name,
        queue=queue_id,
        groups=(group,),
        priority=document["priority"],
        created=now,
        pools=tuple(document["pool_ids"]),
        restart_together=True,
        stale_grace_seconds=None,
        runtime_limit_seconds=spec.time_limit_seconds,
    )
    return Probe(now, workload, missing)


def _queue(transaction: Transaction, node: Node, user_id: str, zone_id: str) -> tuple[str, tuple[Queue, ...]]:
    """The caller's queue; as it would be made if there is none yet."""
    found = find_queue(transaction, node.id, user_id)
    if found is not None:
        return found, ()
    parent = find_queue(transaction, node.id)
    assert parent is not None, "every organisation has a queue"
    return "new", (
        Queue(
            "new", parent, created=int(transaction.now.timestamp()), quotas=usual_quotas(transaction, zone_id)
        ),
    )
