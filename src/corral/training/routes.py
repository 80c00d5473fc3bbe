"""Training work over HTTP."""

from typing import Annotated

from fastapi import APIRouter

from corral.api.callers import Caller, Requires
from corral.api.once import CreatedOnce
from corral.core.permissions import Permission
from corral.store.database import Transaction
from corral.training.spec import TrainingSpec
from corral.workloads import finding, service
from corral.workloads.models import WorkloadDetail
from corral.workloads.planning import Planning
from corral.workloads.verdicts import Verdict

router = APIRouter(prefix="/training", tags=["training"])

Runner = Annotated[Caller, Requires(Permission.WORKLOADS_RUN)]


@router.post("", status_code=201)
async def submit_training(once: CreatedOnce, caller: Runner, spec: TrainingSpec) -> WorkloadDetail:
    """Queues training work: a command that ends by itself, on as many replicas as it asks for."""
    return await once.create(caller, submit, spec)


def submit(transaction: Transaction, caller: Caller, spec: TrainingSpec) -> WorkloadDetail:
    workload_id = service.submit(transaction, caller, spec.kind, spec)
    return finding.get_workload(transaction, caller, workload_id)


@router.post("/probe")
async def probe_training(caller: Runner, prober: Planning, spec: TrainingSpec) -> Verdict:
    """What would become of this work now: it fits, waits, or can never run. Nothing of it is kept."""
    return await prober.probe(caller, spec)
