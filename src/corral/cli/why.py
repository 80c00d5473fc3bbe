"""`corral why`: why work waits."""

from typing import Annotated

import typer

from corral.cli.connection import connect
from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, say
from corral.cli.verdict_words import print_verdict
from corral.cli.work_names import find_workload
from corral.cli.work_words import is_unplaced

app = new_app()


@app.command()
def why(
    workload: Annotated[str, typer.Argument(metavar="WORK", help="Name, id or the beginning of an id.")],
    as_json: Json = False,
) -> None:
    """Explain why work waits, when it will probably start and what would help."""
    client = connect()
    seen = client.workloads.get(find_workload(client, workload))
    if is_unplaced(seen) and seen.wanted == "run":
        if not as_json and seen.state != "infeasible":  # the verdict says it with what would help
            say(f"{seen.name} is {seen.state}. {seen.reason.sentence}")
        print_verdict(client.workloads.why(seen.id), as_json=as_json)
    elif as_json:
        print_json({"result": seen.state, "sentence": seen.reason.sentence, "reason": seen.reason.facts})
    else:
        say(f"{seen.name} is {seen.state}. {seen.reason.sentence}")
