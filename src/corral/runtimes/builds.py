"""The work that builds a runtime: uv, inside a sandbox, into a directory that the engine keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field

from corral.engines.tasks import Task
from corral.kinds.plug import KindContext, Submission
from corral.store.database import Transaction
from corral.workloads.documents import Document
from corral.workloads.rows import ReplicaRow, WorkloadRow
from corral.workloads.spec import Resources, WorkSpec

TIME_LIMIT_SECONDS = 2 * 3600
# The cache lies beside the environment, so that files are linked instead of copied, and goes afterwards.
_SCRIPT = """
set -e
beside=$(dirname "$CORRAL_BUILD")
export UV_CACHE_DIR="$beside/cache" TMPDIR="$beside/tmp"
rm -rf "$UV_CACHE_DIR" "$TMPDIR"
mkdir "$UV_CACHE_DIR" "$TMPDIR"
printf '%s' "$CORRAL_REQUIREMENTS" > "$TMPDIR/requirements.txt"
"$CORRAL_UV" venv --clear --python python3 "$CORRAL_BUILD"
if [ -n "$CORRAL_REQUIREMENTS" ]; then
    "$CORRAL_UV" pip install --python "$CORRAL_BUILD/bin/python" --requirements "$TMPDIR/requirements.txt"
fi
"$CORRAL_UV" pip freeze --python "$CORRAL_BUILD/bin/python"
rm -rf "$UV_CACHE_DIR" "$TMPDIR"
echo "The runtime is ready."
"""


class RuntimeSpec(WorkSpec):
    """Work that builds a runtime."""

    kind: Literal["runtime"] = "runtime"
    requirements: list[str] = Field([], description="Lines of a requirements file.")

    @classmethod
    def of(
        cls,
        name: str,
        version: int,
        requirements: list[str],
        organisation_id: str | None,
        zone: str | None,
    ) -> Self:
        return cls(
            name=f"runtime {name[:60]}:{version}",
            organisation_id=organisation_id,
            zone=zone,
            resources=Resources(cpu_milli=1000, memory_mib=2048),
            requirements=requirements,
            time_limit_seconds=TIME_LIMIT_SECONDS,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeDocument(Document):
    """It as it is stored."""

    requirements: tuple[str, ...]


SUBMISSION = Submission("runtime", RuntimeSpec)


def tasks(
    context: KindContext,
    transaction: Transaction,  # noqa: ARG001
    row: WorkloadRow,
    replicas: Sequence[ReplicaRow],
) -> Mapping[int, Task]:
    """Packages come from the index of the installation; where it names none, from the usual place."""
    document = row.stored.read(RuntimeDocument)
    environment = {
        "CORRAL_NAME": row.name,
        "CORRAL_REQUIREMENTS": "".join(f"{line}\n" for line in document.requirements),
        # Nothing of the machine's own configuration, and no other Python than the one that is there.
        "UV_NO_CONFIG": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
    }
    if context.package_index:
        environment["UV_DEFAULT_INDEX"] = context.package_index
    task = Task(
        owner=row.user_id,
        command=("sh", "-c", _SCRIPT),
        workspace=row.id,
        environment=environment,
        builds=True,
        cpu_milli=document.resources.cpu_milli,
        memory_mib=document.resources.memory_mib,
        time_limit_seconds=document.time_limit_seconds,
        resume=False,
    )
    return {one.number: task for one in replicas}
