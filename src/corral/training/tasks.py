"""What a replica of training work executes: the command, and the variables that tell it who it is."""

from collections.abc import Mapping, Sequence

from corral.engines.tasks import Task
from corral.store.database import AnyRow, Transaction
from corral.training.spec import TrainingSpec
from corral.workloads.spec import lifted


class TrainingKind:
    """Turns the stored document of training work into tasks for the engine."""

    def tasks(
        self,
        transaction: Transaction,  # noqa: ARG002
        row: AnyRow,
        replicas: Sequence[AnyRow],
    ) -> Mapping[int, Task]:
        spec = read_spec(row)
        return {one.number: self._task(row, spec, one, len(replicas)) for one in replicas}

    def _task(self, row: AnyRow, spec: TrainingSpec, one: AnyRow, replicas: int) -> Task:
        assert spec.resources is not None
        return Task(
            owner=row.user_id,
            command=spec.command_line(),
            workspace=row.id,
            environment=spec.environment | identity(row, one, replicas) | ranks(one.number, replicas),
            home=spec.home,
            cpu_milli=spec.resources.cpu_milli,
            memory_mib=spec.resources.memory_mib,
            time_limit_seconds=spec.time_limit_seconds,
            network=spec.network,
            resume=one.attempt > 1,
        )


def read_spec(row: AnyRow) -> TrainingSpec:
    document = lifted(row.spec, row.spec_version)
    # What it needs was made definite at submission; which flavor that came from decides nothing now.
    return TrainingSpec.model_validate(
        {name: document[name] for name in TrainingSpec.model_fields if name in document} | {"flavor": None}
    )


def identity(row: AnyRow, one: AnyRow, replicas: int) -> dict[str, str]:
    """Who a replica is, in Corral's own words."""
    return {
        "CORRAL_WORKLOAD": row.id,
        "CORRAL_NAME": row.name,
        "CORRAL_ATTEMPT": str(one.attempt),
        "CORRAL_REPLICA": str(one.number),
        "CORRAL_REPLICAS": str(replicas),
    }


def ranks(number: int, replicas: int) -> dict[str, str]:
    """Who a replica is, in the words that frameworks read: one process for each replica."""
    return {
        "RANK": str(number),
        "WORLD_SIZE": str(replicas),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "NODE_RANK": str(number),
    }
