"""How training work comes in, and what it will execute, shown beforehand."""

from corral.api.callers import Caller
from corral.inputs import runtimes, secrets, uploads
from corral.kinds.plug import Submission
from corral.kinds.submission import resolved
from corral.store.database import Transaction
from corral.training.documents import TrainingDocument
from corral.training.models import Preview, ReplicaPreview
from corral.training.spec import TrainingSpec
from corral.training.tasks import SET_AT_START, command_line, environment, own_environment
from corral.workloads.creation import Home, authorise
from corral.workloads.zone_choice import ZoneChoice


def _zones(transaction: Transaction, owner_id: str, spec: TrainingSpec) -> frozenset[str] | None:
    """A runtime is on the machine that built it. Simulated work needs none."""
    if spec.runtime is None or spec.simulation is not None:
        return None
    return runtimes.zones_of(transaction, owner_id, spec.runtime) or None  # `_resolve` says what is wrong


def _resolve(transaction: Transaction, home: Home, spec: TrainingSpec, chosen: ZoneChoice) -> TrainingSpec:
    """With the version of its runtime in it: every attempt has the same."""
    secrets.check(transaction, home.owner_id, spec.secrets)
    if spec.upload_id is not None:
        uploads.check(transaction, home.owner_id, spec.upload_id)
    if spec.runtime is None:
        return spec
    zone_id = None if spec.simulation is not None else chosen.zone.id
    pinned = runtimes.check(transaction, home.owner_id, spec.runtime, zone_id)
    return spec.model_copy(update={"runtime": pinned})


def _use_upload(transaction: Transaction, workload_id: str, spec: TrainingSpec) -> None:
    if spec.upload_id is not None:
        uploads.use(transaction, workload_id, spec.upload_id)


def _may_move(spec: TrainingSpec) -> bool:
    """A home is on one machine."""
    return not spec.home or spec.simulation is not None


SUBMISSION = Submission("training", TrainingSpec, _resolve, _use_upload, _zones, _may_move)


def preview(transaction: Transaction, caller: Caller, spec: TrainingSpec, chosen: ZoneChoice) -> Preview:
    """The command line and variables, exactly as they will be; nothing of it is kept."""
    home = authorise(transaction, caller, spec)
    spec, document = resolved(transaction, SUBMISSION, home, spec, chosen)
    whole = document.read(TrainingDocument)
    masked = dict.fromkeys(spec.secrets, secrets.MASK)
    shared = environment(whole, "")
    del shared["CORRAL_WORKLOAD"]
    return Preview(
        command=list(command_line(whole)),
        environment=shared | masked,
        replicas=[
            ReplicaPreview(number=number, environment=own_environment(whole, number, 1))
            for number in range(spec.replicas)
        ],
        set_at_start=sorted(("CORRAL_WORKLOAD", *SET_AT_START)),
    )
