"""Submitting training work, and showing beforehand what it will execute."""

from corral.api.callers import Caller
from corral.inputs import runtimes, secrets, uploads
from corral.store.database import Transaction
from corral.training.documents import TrainingDocument
from corral.training.models import Preview, ReplicaPreview
from corral.training.spec import TrainingSpec
from corral.training.tasks import SET_AT_START, command_line, environment, own_environment
from corral.workloads import queries
from corral.workloads.creation import authorise, create
from corral.workloads.models import WorkloadDetail
from corral.workloads.resolution import resolve
from corral.workloads.zone_choice import ZoneChoice


def submit(
    transaction: Transaction, caller: Caller, spec: TrainingSpec, chosen: ZoneChoice
) -> WorkloadDetail:
    spec = _check_given(transaction, caller, spec, chosen)
    home = authorise(transaction, caller, spec)
    document = resolve(transaction, home, spec, chosen.zone.id)
    workload_id = create(transaction, caller, home, spec.kind, document, chosen)
    if spec.upload_id is not None:
        uploads.use(transaction, workload_id, spec.upload_id)
    return queries.get_new(transaction, caller, workload_id)


def preview(transaction: Transaction, caller: Caller, spec: TrainingSpec, chosen: ZoneChoice) -> Preview:
    """The command line and variables, exactly as they will be; nothing of it is kept."""
    spec = _check_given(transaction, caller, spec, chosen)
    home = authorise(transaction, caller, spec)
    whole = resolve(transaction, home, spec, chosen.zone.id).read(TrainingDocument)
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


def zones_for(transaction: Transaction, caller: Caller, spec: TrainingSpec) -> frozenset[str] | None:
    """The zones that have what the work is given; None if all do. Simulated work needs none of it."""
    if spec.runtime is None or spec.simulation is not None:
        return None
    return runtimes.zones_of(transaction, caller, spec.runtime) or None  # `submit` says what is wrong with it


def _check_given(
    transaction: Transaction, caller: Caller, spec: TrainingSpec, chosen: ZoneChoice
) -> TrainingSpec:
    """The document with the version of its runtime in it: every attempt has the same."""
    secrets.check(transaction, caller, spec.secrets)
    if spec.upload_id is not None:
        uploads.check(transaction, caller, spec.upload_id)
    if spec.runtime is None:
        return spec
    zone_id = None if spec.simulation is not None else chosen.zone.id
    return spec.model_copy(update={"runtime": runtimes.check(transaction, caller, spec.runtime, zone_id)})
