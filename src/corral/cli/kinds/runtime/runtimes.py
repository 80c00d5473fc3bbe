"""`corral runtime`: Python environments for your work."""

from pathlib import Path
from typing import Annotated

import typer
from corral_sdk import Client, encode
from corral_sdk.models import Runtime

from corral.cli.connection import connect, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.names import one_of
from corral.cli.output import note, print_facts, print_json, print_table, say

app = new_app(help="Manage Python environments for your work.")

Name = Annotated[str, typer.Argument(help="Name, name:version or id of the runtime.")]
Zone = Annotated[str | None, typer.Option(metavar="ZONE", help="Zone to build it in. [the first]")]


@app.command("list")
def list_runtimes(as_json: Json = False) -> None:
    """List your runtimes and the presets."""
    found = connect().runtimes.list()
    if as_json:
        print_json(encode(found))
        return
    rows = [
        (
            f"{each.name}:{each.version}",
            each.state,
            each.zone or "",
            len(each.requirements),
            ", ".join(use.name for use in each.used_by),
            shown_time(each.used_at),
        )
        for each in found.items
    ]
    columns = ("Runtime", "State", "Zone", "Requirements", "In use by", "Last used")
    print_table(columns, rows, empty="You have no runtimes.")
    names = ", ".join(each.name for each in found.presets)
    note(f"Presets, for corral runtime create NAME: {names}.")


@app.command()
def show(name: Name, as_json: Json = False) -> None:
    """Show one runtime and its packages."""
    found = _find(connect(), name)
    if as_json:
        print_json(encode(found))
        return
    print_facts(
        {
            "Name": f"{found.name}:{found.version}",
            "Id": found.id,
            "State": found.state,
            "Zone": found.zone,
            "Requirements": "\n".join(found.requirements),
            "Built by": found.workload_id,
            "In use by": ", ".join(use.name for use in found.used_by),
            "Last used": shown_time(found.used_at),
        }
    )


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the runtime, or of a preset.")],
    requirements: Annotated[
        list[str] | None, typer.Argument(help="Packages to install, as in a requirements file.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--requirements", "-r", exists=True, dir_okay=False, help="Requirements file."),
    ] = None,
    build_now: Annotated[bool, typer.Option("--build/--no-build", help="Build it now.")] = True,
    zone: Zone = None,
    as_json: Json = False,
) -> None:
    """Create a runtime, or its next version, and build it."""
    lines = list(requirements or [])
    if file is not None:
        lines += [line.strip() for line in file.read_text().splitlines() if line.strip()[:1] not in ("", "#")]
    _tell(connect().runtimes.create(name, lines or None, build=build_now, zone=zone), as_json=as_json)


@app.command()
def build(name: Name, zone: Zone = None, as_json: Json = False) -> None:
    """Build a runtime that was not built, or whose build failed."""
    client = connect()
    known = client.runtimes.list()
    if name in {each.name for each in known.presets} and name not in {each.name for each in known.items}:
        _tell(client.runtimes.create(name, zone=zone), as_json=as_json)
    else:
        _tell(client.runtimes.build(_find(client, name).id, zone=zone), as_json=as_json)


@app.command()
def delete(name: Name, as_json: Json = False) -> None:
    """Delete a runtime that no work uses."""
    client = connect()
    found = _find(client, name)
    client.runtimes.delete(found.id)
    if as_json:
        print_json(encode(found))
    else:
        say(f"Deleted the runtime {found.name}:{found.version}.")


def _find(client: Client, name: str) -> Runtime:
    """Without a version, the newest."""
    items = client.runtimes.list().items
    newest = next((each for each in items if each.name == name), None)
    if newest is not None:
        return newest
    return one_of(iter(items), "runtime", name, lambda each: (each.id, f"{each.name}:{each.version}"))


def _tell(runtime: Runtime, *, as_json: bool) -> None:
    if as_json:
        print_json(encode(runtime))
        return
    say(f"Runtime {runtime.name}:{runtime.version} is {runtime.state}.")
    if runtime.state == "building":
        say(f"Follow the build: corral logs -f {runtime.workload_id}")
