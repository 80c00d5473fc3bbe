"""A kind of work in about sixty lines: what the next one has to bring, and no file of Corral's changes."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter
from sqlalchemy import Column, MetaData, String, Table, delete, insert, select

from corral.api.callers import Caller, Requires
from corral.api.models import Output
from corral.api.once import CreatedOnce, Db
from corral.core.permissions import Permission
from corral.core.refusals import Invalid
from corral.engines.tasks import Task
from corral.kinds import submission
from corral.kinds.plug import Kind, KindContext, KindHere, Submission
from corral.store.database import Transaction
from corral.workloads.creation import Home
from corral.workloads.models import WorkloadDetail
from corral.workloads.ownership import Owned
from corral.workloads.planning import Planners
from corral.workloads.rows import ReplicaRow, WorkloadRow
from corral.workloads.spec import Word, WorkSpec
from corral.workloads.zone_choice import ZoneChoice

# A kind of Corral's own uses `corral.store.schema.metadata`, and has a migration.
_KEY = Column("workload_id", String(23), primary_key=True)
toy = Table("toy", MetaData(), _KEY, Column("colour", String(20)))


class ToySpec(WorkSpec):
    kind: Literal["toy"] = "toy"
    colour: Word = "red"


class Toys(Output):
    colours: dict[str, str]


def _resolve(_t: Transaction, _home: Home, spec: ToySpec, _chosen: ZoneChoice) -> ToySpec:
    if spec.colour == "invisible":
        raise Invalid.field("body.colour", "Nobody can see such a toy.", "Choose another colour.")
    return spec


def _created(transaction: Transaction, workload_id: str, spec: ToySpec) -> None:
    transaction.run(insert(toy).values(workload_id=workload_id, colour=spec.colour))


def _tasks(
    _context: KindContext, transaction: Transaction, row: WorkloadRow, replicas: Sequence[ReplicaRow]
) -> Mapping[int, Task]:
    colour = transaction.scalar(select(toy.c.colour).where(toy.c.workload_id == row.id))
    environment = {"CORRAL_NAME": row.name, "COLOUR": colour}
    task = Task(owner=row.user_id, command=("paint", colour), workspace=row.id, environment=environment)
    return {one.number: task for one in replicas}


def _forget_colourless(transaction: Transaction, most: int) -> int:
    return transaction.run(delete(toy).where(toy.c.colour == ""))


def _paint(directory: Path, workload_id: str, colour: str) -> None:
    directory.mkdir(exist_ok=True)
    (directory / workload_id).write_text(colour)


SUBMISSION = Submission("toy", ToySpec, _resolve, _created)
router = APIRouter(prefix="/toys", tags=["toys"])
Runner = Annotated[Caller, Requires(Permission.WORKLOADS_RUN)]


@router.post("", status_code=201)
async def submit_toy(
    once: CreatedOnce, caller: Runner, planners: Planners, here: KindHere, spec: ToySpec
) -> WorkloadDetail:
    """Queues a toy."""
    made = await submission.submit(SUBMISSION, once, caller, planners, spec)
    await asyncio.to_thread(_paint, here.data / "toys", made.id, spec.colour)
    return made


@router.get("/colours")
async def list_colours(database: Db, caller: Runner) -> Toys:
    """Every toy's colour."""
    return Toys(colours=await database.read(lambda t: dict(t.rows(select(toy).order_by(toy.c.workload_id)))))  # type: ignore[arg-type]


TOY = Kind(
    SUBMISSION,
    _tasks,
    routers=(router,),
    owned=Owned(tables=(toy,)),
    folder="toys",
    chores=lambda _: [_forget_colourless],
    masks=lambda _context, _transaction, _row: [b"simulated"],
)
