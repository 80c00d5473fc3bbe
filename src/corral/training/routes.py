"""Training work over HTTP."""

from typing import Annotated

from fastapi import APIRouter

from corral.api.callers import Caller, Requires
from corral.api.once import CreatedOnce, Db
from corral.core.permissions import Permission
from corral.kinds import submission
from corral.training import service
from corral.training.models import Preview
from corral.training.spec import TrainingSpec
from corral.workloads.models import WorkloadDetail
from corral.workloads.planning import Planners
from corral.workloads.verdicts import Verdict

router = APIRouter(prefix="/training", tags=["training"])

Runner = Annotated[Caller, Requires(Permission.WORKLOADS_RUN)]


@router.post("", status_code=201)
async def submit_training(
    once: CreatedOnce, caller: Runner, planners: Planners, spec: TrainingSpec
) -> WorkloadDetail:
    """Queues training work: a command that ends by itself, on as many replicas as it asks for."""
    return await submission.submit(service.SUBMISSION, once, caller, planners, spec)


@router.post("/probe")
async def probe_training(caller: Runner, planners: Planners, spec: TrainingSpec) -> Verdict:
    """What would become of this work now: it fits, waits, or can never run. Nothing of it is kept."""
    return await submission.probe(service.SUBMISSION, caller, planners, spec)


@router.post("/preview")
async def preview_training(database: Db, caller: Runner, planners: Planners, spec: TrainingSpec) -> Preview:
    """The command line and variables of every replica, as they will be; secrets are masked."""
    chosen = await submission.choose_zone(service.SUBMISSION, caller, planners, spec)
    return await database.read(service.preview, caller, spec, chosen)
