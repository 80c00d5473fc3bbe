"""`corral apply`: work from a file."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli import documents
from corral.cli.connection import connect
from corral.cli.frame import Json, new_app
from corral.cli.kinds import KINDS
from corral.cli.names import find_organisation, is_id
from corral.cli.refusals import CommandError
from corral.cli.submission import DryRun, Wait, check_feasible, submit, upload_here
from corral.cli.verdict_words import print_verdict

app = new_app()

_KINDS = tuple(one.kind for one in KINDS if one.applies)


@app.command()
def apply(
    file: Annotated[
        str, typer.Option("--file", "-f", metavar="FILE", help="YAML or JSON file; - for standard input.")
    ],
    follow: Annotated[bool, typer.Option("--follow", help="Show its output, like corral run.")] = False,
    upload: Annotated[bool, typer.Option("--upload", help="Upload the working directory.")] = False,
    wait: Wait = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Submit work described in a file."""
    document = read_document(file)
    kind = document.get("kind", _KINDS[0])
    if kind not in _KINDS:
        raise CommandError(f"{file}: kind {kind!r} is unknown.", remedy=f"There is: {', '.join(_KINDS)}.")
    client = connect()
    submits = client.document_kinds[kind]
    named = document.pop("organisation", None)
    if named is not None and "organisation_id" not in document:
        text = str(named)
        document["organisation_id"] = text if is_id(text, "o") else find_organisation(client, text).id
    if dry_run:
        print_verdict(submits.probe(document), as_json=as_json)
        return
    if not wait:
        check_feasible(submits, document, stays=follow and not as_json)
    if upload:
        document["upload_id"] = upload_here(client)
    submit(client, submits, document, detach=not follow, as_json=as_json)


def read_document(file: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CommandError(
            f"{file} cannot be read: {reason}.", remedy="Check the name of the file."
        ) from None
    document = documents.read_document(file, text)
    if not isinstance(document, dict):
        raise CommandError(
            f"{file} does not describe work.",
            remedy="It begins with lines such as 'kind: training' and 'name: …'.",
        )
    return document
