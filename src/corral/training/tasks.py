"""What a replica of training work executes: the command, and the variables that tell it who it is."""

from collections.abc import Mapping, Sequence

from corral.engines.tasks import Task
from corral.inputs import uploads
from corral.inputs.runtimes import builder_of
from corral.kinds.plug import KindContext
from corral.store.database import Transaction
from corral.training.documents import TrainingDocument
from corral.workloads.rows import ReplicaRow, WorkloadRow
from corral.workloads.simulation import simulation_of

# What the engine adds when it starts a replica: known only where and when it runs.
SET_AT_START = (
    "CORRAL_RESUME",
    "CORRAL_RUN",
    "CORRAL_SOCKET",
    "CORRAL_WORKSPACE",
    "CUDA_VISIBLE_DEVICES",
    "MASTER_ADDR",
    "MASTER_PORT",
    "PYTHONPATH",
)
# The program that starts one process for each GPU; the engine puts the SDK on the module path.
LAUNCHER = ("python3", "-m", "corral_sdk.launch", "--")


def tasks(
    context: KindContext, transaction: Transaction, row: WorkloadRow, replicas: Sequence[ReplicaRow]
) -> Mapping[int, Task]:
    """The stored document as tasks for the engine."""
    document = row.stored.read(TrainingDocument)
    given = context.secrets.values(transaction, row, document.secrets)
    runtime = None if document.runtime is None else builder_of(transaction, row.user_id, document.runtime)
    shared = environment(document, row.id)
    upload = None
    if document.upload_id is not None:
        upload = uploads.content_of(transaction, document.upload_id)
    return {
        one.number: Task(
            owner=row.user_id,
            command=command_line(document),
            workspace=row.id,
            environment=shared | own_environment(document, one.number, one.attempt),
            secrets=given,
            upload=upload,
            runtime=runtime,
            home=document.home,
            cpu_milli=document.resources.cpu_milli,
            memory_mib=document.resources.memory_mib,
            time_limit_seconds=document.time_limit_seconds,
            network=document.network,
            resume=one.attempt > 1,
            simulation=simulation_of(document),
        )
        for one in replicas
    }


def command_line(document: TrainingDocument) -> tuple[str, ...]:
    """The whole command: with interpreter, parameters and launcher."""
    first, *rest = document.command
    if first.endswith(".py"):
        line = ["python3", first, *rest]
    elif first == "python" and document.runtime is None:
        line = ["python3", *rest]  # what the system calls its Python; an environment has both names
    else:
        line = [first, *rest]
    for name, value in document.parameters.items():
        line += [f"--{name}", value]
    return (*LAUNCHER, *line) if document.launch == "torchrun" else tuple(line)


def environment(document: TrainingDocument, workload_id: str) -> dict[str, str]:
    """What is the same for all replicas."""
    processes = processes_of(document)
    return dict(document.environment) | {
        "CORRAL_WORKLOAD": workload_id,
        "CORRAL_NAME": document.name,
        "CORRAL_REPLICAS": str(document.replicas),
        "WORLD_SIZE": str(document.replicas * processes),
        "LOCAL_WORLD_SIZE": str(processes),
    }


def own_environment(document: TrainingDocument, number: int, attempt: int) -> dict[str, str]:
    """Who a replica is. Ranks are those of its first process; the launcher gives the others theirs."""
    return {
        "CORRAL_ATTEMPT": str(attempt),
        "CORRAL_REPLICA": str(number),
        "NODE_RANK": str(number),
        "RANK": str(number * processes_of(document)),
        "LOCAL_RANK": "0",
    }


def processes_of(document: TrainingDocument) -> int:
    """How many processes of the command a replica has."""
    if document.launch == "plain" or document.resources.gpu is None:
        return 1
    return document.resources.gpu.count
