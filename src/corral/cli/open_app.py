"""`corral open`: a port of running work in the browser."""

import webbrowser
from typing import Annotated
from urllib.parse import urlencode

import typer

from corral.cli.connection import connect
from corral.cli.frame import Json, new_app
from corral.cli.output import note, print_json, say
from corral.cli.work_names import find_workload

app = new_app()


@app.command("open")
def open_app(
    workload: Annotated[str, typer.Argument(metavar="WORK", help="Name, id or the beginning of an id.")],
    port: Annotated[
        int | None,
        typer.Argument(min=1, max=65535, metavar="[PORT]", help="Left out: the first one for browsers."),
    ] = None,
    path: Annotated[str, typer.Option(metavar="PATH", help="Where to begin, such as /lab.")] = "/",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in a browser.")] = True,
    as_json: Json = False,
) -> None:
    """Open a port of running work in the browser."""
    client = connect()
    workload_id = find_workload(client, workload)
    ticket = client.workloads.issue_ticket(workload_id, port=port)  # refuses whoever may not enter
    asked = {"port": str(port)} if port is not None else {}
    query = urlencode(asked | ({"path": path} if path != "/" else {}))
    address = f"{client.endpoint.url}/open/{workload_id}" + (f"?{query}" if query else "")
    if as_json:
        print_json({"open": address, "url": ticket.url})
        return
    say(address)
    if browser and not webbrowser.open(address):
        note("No browser was found here: open the address in yours.")
