"""Who may enter running work, and where it is."""

from dataclasses import dataclass

from sqlalchemy import select

from corral.api.callers import Caller
from corral.audit.record import Subject, record
from corral.core.permissions import Permission
from corral.core.refusals import Conflict, Forbidden, NotFound
from corral.core.runs import RunId
from corral.store.database import Transaction
from corral.workloads import visibility
from corral.workloads.documents import Document
from corral.workloads.machine import Phase
from corral.workloads.states import PRESENT
from corral.workloads.tables import replica


@dataclass(frozen=True, slots=True)
class FoundRun:
    name: str
    zone_id: str


def find_run(transaction: Transaction, caller: Caller, workload_id: str, number: int) -> FoundRun:
    """The run of a replica that is there now; refuses whoever is not its owner."""
    found = visibility.find(transaction, caller, workload_id)
    row = found.row
    if row.user_id != caller.user_id:
        raise Forbidden(
            "Only its owner may enter work: whoever does acts as the owner.", f"Ask {found.owner_name}."
        )
    caller.require(Permission.WORKLOADS_RUN, found.path, found.organisation_name)
    if row.state not in PRESENT:
        raise Conflict(f"It is {row.state}: nothing of it runs.", "See what runs: corral ps")
    one = transaction.first(
        select(replica.c.phase).where(
            replica.c.workload_id == workload_id,
            replica.c.attempt == row.attempt,
            replica.c.number == number,
        )
    )
    if one is None:
        replicas = row.stored.read(Document).replicas
        raise NotFound(f"It has no replica {number}.", f"It has {replicas}, counted from 0.")
    if one.phase not in {Phase.STARTING, Phase.RUNNING}:
        raise Conflict(f"Replica {number} does not run.", "Wait until it does (corral ps), or try another.")
    return FoundRun(str(RunId(workload_id, row.attempt, number)), row.zone_id)


def record_command(transaction: Transaction, caller: Caller, workload_id: str, program: str) -> None:
    """Arguments may hold secrets; the audit log keeps the program alone."""
    found = visibility.find(transaction, caller, workload_id)
    subject = Subject("workload", found.row.id, found.row.name, found.path)
    record(transaction, caller, "workload.execute", subject, after={"program": program[:200]})
