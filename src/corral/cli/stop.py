"""`corral stop`."""

from typing import Annotated

import typer

from corral.cli.acts import act_on
from corral.cli.connection import connect
from corral.cli.frame import Json, Yes, confirm, new_app
from corral.cli.output import print_json, say
from corral.cli.refusals import CommandError
from corral.cli.work_names import find_workloads

app = new_app()

_STOPPABLE = ("queued", "infeasible", "starting", "running", "suspending", "suspended")


@app.command()
def stop(
    workloads: Annotated[
        list[str] | None, typer.Argument(metavar="WORK…", help="Names, ids or beginnings of ids.")
    ] = None,
    all_mine: Annotated[bool, typer.Option("--all-mine", help="All your running and waiting work.")] = False,
    sure: Yes = False,
    as_json: Json = False,
) -> None:
    """Stop work: SIGTERM, then SIGKILL after its grace period. corral resume starts it again."""
    client = connect()
    if not all_mine:
        if not workloads:
            raise CommandError("Which work?", remedy="Name it (corral ps), or use --all-mine.")
        act_on(client, "stop", "is stopping", find_workloads(client, workloads), as_json=as_json)
        return
    if workloads:
        raise CommandError(
            "--all-mine already names all your work.", remedy="Name some, or use --all-mine alone."
        )
    mine = [each.id for each in client.workloads.list(states=_STOPPABLE, user_id=client.me.get().id)]
    if not mine:
        if as_json:
            print_json({"changed": [], "unchanged": [], "refused": []})
        else:
            say("Nothing of yours runs or waits.")
        return
    confirm(f"Stop all {len(mine)} of your workloads?", sure)
    act_on(client, "stop", "is stopping", mine, as_json=as_json)
