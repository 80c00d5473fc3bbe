"""Submitting work of any kind: is it feasible, what is uploaded, and following it to its end."""

from pathlib import Path
from typing import Annotated, Any

import typer
from corral_sdk import Client, Problem, encode
from corral_sdk.kinds import DocumentKind

from corral.cli.following import Detached, Follower
from corral.cli.output import print_json, say, warn
from corral.cli.refusals import CommandError
from corral.cli.replicas import MOST_FOLLOWED

MOST_UPLOADED_BYTES = 1024**3

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show whether and when it would run; submit nothing.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Submit it even if nothing here could run it now.")]


def check_feasible(kind: DocumentKind, document: dict[str, Any], *, stays: bool) -> None:
    """Refuses to stay with work that could never run, before anything is uploaded; else warns."""
    try:
        verdict = kind.probe(document)
    except Problem as problem:
        if problem.status < 500 and problem.status != 429:
            raise
        return  # nobody can say now; the work itself will
    if verdict.result != "never":
        return
    if not stays:
        warn(f"{verdict.sentence} It is infeasible until nodes or quotas change.")
        return
    helps = " ".join(one.sentence for one in verdict.helps[:2])
    later = "To submit it and wait until nodes or quotas change: --wait."
    raise CommandError(verdict.sentence, remedy=f"{helps} {later}".strip())


def submit(
    client: Client, kind: DocumentKind, document: dict[str, Any], *, detach: bool, as_json: bool
) -> None:
    """Submits it and follows it, unless --detach is given."""
    work = kind.submit(document)
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
