"""`corral run`: a command goes to the cluster, and its output comes back."""

from pathlib import Path
from typing import Annotated, Any

import typer
from corral_sdk import Client, encode

from corral.cli.asking import (
    command_of,
    name_of,
    parameters_of,
    resources_of,
    secrets_of,
    variables_of,
)
from corral.cli.connection import connect
from corral.cli.following import Detached, Follower
from corral.cli.frame import new_app
from corral.cli.names import find_organisation
from corral.cli.output import print_json, say
from corral.cli.refusals import CommandError
from corral.cli.replicas import MOST_FOLLOWED
from corral.cli.verdict_words import print_verdict

app = new_app()

MOST_UPLOADED_BYTES = 1024**3
_ARGUMENTS = {"allow_interspersed_args": False}


@app.command(context_settings=_ARGUMENTS)
def run(
    command: Annotated[
        list[str], typer.Argument(metavar="[--] COMMAND…", help="What to run; train.py is run with python.")
    ],
    gpu: Annotated[
        str | None, typer.Option(metavar="GPU", help="2 whole ones; a part: 8Gi, 0.5, 1g.10gb; 2x8Gi.")
    ] = None,
    gpu_model: Annotated[
        list[str] | None, typer.Option(metavar="MODEL", help="Only this one; repeat it for several.")
    ] = None,
    cpu: Annotated[str | None, typer.Option(metavar="CORES", help="2, 0.5 or 500m. [1]")] = None,
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help="4Gi, 512Mi. [2Gi]")] = None,
    flavor: Annotated[
        str | None, typer.Option(metavar="FLAVOR", help="A bundle instead of numbers: corral flavor list.")
    ] = None,
    replicas: Annotated[int, typer.Option("--replicas", "-n", metavar="N", help="Started together.")] = 1,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="[that of the script]")] = None,
    org: Annotated[
        str | None,
        typer.Option(
            "--queue", "--organisation", "--org", metavar="ORG", help="Whose share it uses. [your own]"
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", metavar="A=b", help="A variable; A alone: as it is here."),
    ] = None,
    secret: Annotated[
        list[str] | None, typer.Option(metavar="VAR=NAME", help="A variable with the value of a secret.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", metavar="lr=0.1", help="Added as --lr 0.1.")
    ] = None,
    time_limit: Annotated[str | None, typer.Option(metavar="TIME", help="90s, 30min, 2h, 1d.")] = None,
    retries: Annotated[int, typer.Option(metavar="N", help="How often to try again after a failure.")] = 0,
    priority: Annotated[int | None, typer.Option(metavar="1…5", help="Up to your own. [your own]")] = None,
    runtime: Annotated[str | None, typer.Option(metavar="NAME", help="A built Python environment.")] = None,
    launch: Annotated[
        str, typer.Option(metavar="HOW", help="plain: once per replica; torchrun: once per GPU.")
    ] = "plain",
    home: Annotated[bool, typer.Option("--home", help="Your home directory is there too.")] = False,
    network: Annotated[
        bool, typer.Option("--network/--no-network", help="The way out to the network.")
    ] = True,
    upload: Annotated[
        bool, typer.Option("--upload/--no-upload", help="Take the working directory along.")
    ] = True,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Print the id and do not wait.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would become of it; submit nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the work as JSON and do not wait.")] = False,
) -> None:
    """Run a command on the cluster and show its output; ends with its exit code.

    Everything after the first word belongs to the command: corral run --gpu 8Gi train.py --epochs 3
    """
    words = command_of(command)
    document: dict[str, Any] = {
        "name": name or name_of(words),
        "command": words,
        "replicas": replicas,
        "environment": variables_of(env or ()),
        "secrets": secrets_of(secret or ()),
        "parameters": parameters_of(param or ()),
        "retries": retries,
        "home": home,
        "network": network,
        "launch": launch,
    }
    if flavor is None:
        document["resources"] = resources_of(gpu, cpu, memory, gpu_model or ())
    elif gpu or cpu or memory or gpu_model:
        raise CommandError(
            "A flavor says it all.", remedy="Leave out --gpu, --cpu and --memory, or --flavor."
        )
    optional = {"flavor": flavor, "time_limit_seconds": time_limit, "priority": priority, "runtime": runtime}
    document |= {key: value for key, value in optional.items() if value is not None}
    client = connect()
    if org is not None:
        document["organisation_id"] = find_organisation(client, org).id
    if dry_run:
        print_verdict(client.training.probe(document), as_json=as_json)
        return
    if upload:
        document["upload_id"] = upload_here(client)
    submit(client, document, detach=detach, as_json=as_json)


def submit(client: Client, document: dict[str, Any], *, detach: bool, as_json: bool) -> None:
    """Submits it and stays with it, unless told otherwise."""
    work = client.training.submit(document)
    if as_json:
        print_json(encode(work))
        return
    if detach:
        say(work.id)
        return
    follower = Follower(client, work.id, work.name, replicas=work.replicas)
    if work.replicas > MOST_FOLLOWED:
        follower.note(
            f"This is the output of the first {MOST_FOLLOWED} of {work.replicas} replicas;"
            f" others: corral logs --replica {MOST_FOLLOWED}"
        )
    try:
        code = follower.to_the_end()
    except Detached as detached:
        code = detached.code
    raise typer.Exit(code)


def upload_here(client: Client) -> str:
    """Uploads the working directory; the id of the upload."""
    here = Path.cwd()
    if here == Path.home() or here == Path("/"):
        raise CommandError(
            f"All of {here} would be uploaded.",
            remedy="Change into the directory of your project, or leave it here: --no-upload.",
        )
    return client.uploads.send_directory(here, most_bytes=MOST_UPLOADED_BYTES).id
