"""What a replica of training work executes: the command, and the variables that tell it who it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corral.api.models import STORED
from corral.engines.tasks import Task
from corral.inputs import uploads
from corral.inputs.runtimes import builder_of
from corral.inputs.secrets import SecretBox
from corral.store.database import AnyRow, Transaction
from corral.training.spec import TrainingSpec
from corral.workloads.simulation import simulation_of
from corral.workloads.spec import upgrade

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


@dataclass(frozen=True, slots=True)
class TrainingKind:
    """Turns the stored document of training work into tasks for the engine."""

    secrets: SecretBox

    def tasks(self, transaction: Transaction, row: AnyRow, replicas: Sequence[AnyRow]) -> Mapping[int, Task]:
        spec = read_spec(row)
        assert spec.resources is not None
        given = self.secrets.values(transaction, row, spec.secrets)
        runtime = None if spec.runtime is None else builder_of(transaction, row.user_id, spec.runtime)
        upload = None
        if spec.upload_id is not None:
            upload = uploads.content_of(transaction, spec.upload_id)
        return {
            one.number: Task(
                owner=row.user_id,
                command=command_line(spec),
                workspace=row.id,
                environment=environment(spec, row.id) | own_environment(spec, one.number, one.attempt),
                secrets=given,
                upload=upload,
                runtime=runtime,
                home=spec.home,
                cpu_milli=spec.resources.cpu_milli,
                memory_mib=spec.resources.memory_mib,
                time_limit_seconds=spec.time_limit_seconds,
                network=spec.network,
                resume=one.attempt > 1,
                simulation=simulation_of(spec),
            )
            for one in replicas
        }


def read_spec(row: AnyRow) -> TrainingSpec:
    document = upgrade(row.spec, row.spec_version)
    # What it needs was made definite at submission; which flavor that came from decides nothing now.
    return TrainingSpec.model_validate(
        {name: document[name] for name in TrainingSpec.model_fields if name in document} | {"flavor": None},
        context=STORED,
    )


def command_line(spec: TrainingSpec) -> tuple[str, ...]:
    """The whole command: with interpreter, parameters and launcher."""
    first, *rest = spec.command
    if first.endswith(".py"):
        line = ["python3", first, *rest]
    elif first == "python" and spec.runtime is None:
        line = ["python3", *rest]  # what the system calls its Python; an environment has both names
    else:
        line = [first, *rest]
    for name, value in spec.parameters.items():
        line += [f"--{name}", str(value).lower() if isinstance(value, bool) else str(value)]
    return (*LAUNCHER, *line) if spec.launch == "torchrun" else tuple(line)


def environment(spec: TrainingSpec, workload_id: str) -> dict[str, str]:
    """What is the same for all replicas."""
    processes = processes_of(spec)
    return spec.environment | {
        "CORRAL_WORKLOAD": workload_id,
        "CORRAL_NAME": spec.name,
        "CORRAL_REPLICAS": str(spec.replicas),
        "WORLD_SIZE": str(spec.replicas * processes),
        "LOCAL_WORLD_SIZE": str(processes),
    }


def own_environment(spec: TrainingSpec, number: int, attempt: int) -> dict[str, str]:
    """Who a replica is. Ranks are those of its first process; the launcher gives the others theirs."""
    return {
        "CORRAL_ATTEMPT": str(attempt),
        "CORRAL_REPLICA": str(number),
        "NODE_RANK": str(number),
        "RANK": str(number * processes_of(spec)),
        "LOCAL_RANK": "0",
    }


def processes_of(spec: TrainingSpec) -> int:
    """How many processes of the command a replica has."""
    if spec.launch == "plain" or spec.resources is None or spec.resources.gpu is None:
        return 1
    return spec.resources.gpu.count
