"""What somebody finds behind an app's name: the workload's state, and the port that is meant."""

from dataclasses import dataclass

from sqlalchemy import select

from corral.api.callers import Caller
from corral.core.permissions import Permission
from corral.core.refusals import Conflict, Forbidden, Invalid
from corral.core.runs import RunId
from corral.gateway.broker import Admission, AppState
from corral.store.database import Transaction
from corral.workloads import visibility
from corral.workloads.documents import Document
from corral.workloads.machine import Phase
from corral.workloads.states import OVER, State
from corral.workloads.tables import replica
from corral.workloads.visibility import VisibleWorkload

_STATES = {
    State.QUEUED: AppState.QUEUED,
    State.INFEASIBLE: AppState.QUEUED,
    State.STARTING: AppState.STARTING,
    State.RUNNING: AppState.READY,
    State.SUSPENDING: AppState.SUSPENDED,
    State.SUSPENDED: AppState.SUSPENDED,
    State.STOPPING: AppState.STOPPED,
}


@dataclass(frozen=True, slots=True)
class FoundApp:
    admission: Admission
    zone_id: str


def require_entry(transaction: Transaction, caller: Caller, workload_id: str) -> VisibleWorkload:
    """Refuses whoever is not the owner: an app acts as the one who runs it."""
    found = visibility.find(transaction, caller, workload_id)
    if found.row.user_id != caller.user_id:
        raise Forbidden(
            "Only its owner may open the apps of a workload: they act as the owner.",
            f"Ask {found.owner_name}.",
        )
    caller.require(Permission.WORKLOADS_RUN, found.path, found.organisation_name)
    return found


def port_of(found: VisibleWorkload, port: int | None) -> int:
    """The port that is meant: the one named, or the first that the workload declares for a browser."""
    declared = found.row.stored.read(Document).ports
    if port is not None:
        if declared and port not in {each.number for each in declared}:
            known = ", ".join(str(each.number) for each in declared)
            raise Invalid.field(
                "port", f"The workload does not declare port {port}.", f"It declares {known}."
            )
        return port
    of_browsers = [each for each in declared if each.protocol == "http"] or list(declared)
    if not of_browsers:
        raise Conflict(
            "The workload declares no port.", "Name one, or declare it at submission: --port web=8000/http"
        )
    return of_browsers[0].number


def find_app(transaction: Transaction, caller: Caller, workload_id: str, port: int | None) -> FoundApp:
    """How it is with the app now; refuses whoever may not enter it."""
    found = require_entry(transaction, caller, workload_id)
    row = found.row
    number = port_of(found, port)
    state = AppState.STOPPED if row.state in OVER else _STATES[State(row.state)]
    if row.state == State.DELETED:
        state = AppState.GONE
    run = ""
    if state is AppState.READY:
        state, run = _first_replica(transaction, workload_id, row.attempt)
    return FoundApp(Admission(state, row.name, run=run, port=number), row.zone_id)


def _first_replica(transaction: Transaction, workload_id: str, attempt: int) -> tuple[AppState, str]:
    columns = replica.c
    one = transaction.first(
        select(columns.phase, columns.ready_at).where(
            columns.workload_id == workload_id, columns.attempt == attempt, columns.number == 0
        )
    )
    if one is None or one.phase != Phase.RUNNING or one.ready_at is None:
        return AppState.STARTING, ""
    return AppState.READY, str(RunId(workload_id, attempt, 0))
