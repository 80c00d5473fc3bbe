"""Apps over HTTP: tickets into them."""

from typing import Annotated

from fastapi import APIRouter

from corral.api.callers import Caller, Requires
from corral.api.once import Db
from corral.apps import tickets
from corral.apps.context import AppsHere
from corral.apps.models import NewTicket, Ticket
from corral.core.permissions import Permission
from corral.core.refusals import Unavailable
from corral.gateway.names import AppName

router = APIRouter(prefix="/workloads", tags=["apps"])

Runner = Annotated[Caller, Requires(Permission.WORKLOADS_RUN)]


@router.post("/{workload_id}/tickets", status_code=201)
async def issue_ticket(
    workload_id: str, database: Db, caller: Runner, apps: AppsHere, new: NewTicket
) -> Ticket:
    """Lets you into an app of your work, in a browser."""
    if apps.names is None:
        raise Unavailable(
            "Apps have no host names here.",
            "Set apps_domain, with a wildcard DNS entry and certificate; corral port-forward works without.",
        )
    secret = await database.write(tickets.issue, caller, workload_id, new.port)
    origin = apps.names.origin(AppName(workload_id, new.port))
    return Ticket(ticket=secret, action=f"{origin}/.corral/enter", url=f"{origin}/")
