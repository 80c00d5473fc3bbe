"""What stop, suspend, resume and rm share: many at once, and what became of each."""

from collections.abc import Sequence
from typing import Annotated

import typer
from corral_sdk import Client, encode
from corral_sdk.models import Acted

from corral.cli.connection import connect
from corral.cli.output import print_json, say, warn
from corral.cli.work_names import find_workloads

__all__ = ["Works", "act", "act_on"]

Works = Annotated[list[str], typer.Argument(metavar="WORK…", help="Names, ids or beginnings of ids.")]
MOST_AT_ONCE = 2000


def act(action: str, done: str, texts: Sequence[str], *, as_json: bool) -> None:
    """Does it to all that are named, and says so: `done` is what then holds, such as "is stopping"."""
    client = connect()
    act_on(client, action, done, find_workloads(client, texts), as_json=as_json)


def act_on(client: Client, action: str, done: str, ids: Sequence[str], *, as_json: bool) -> None:
    answers = [client.workloads.act(action, some) for some in _some(ids)]
    acted = Acted(
        changed=tuple(one for each in answers for one in each.changed),
        unchanged=tuple(one for each in answers for one in each.unchanged),
        refused=tuple(one for each in answers for one in each.refused),
    )
    if as_json:
        print_json(encode(acted))
    else:
        for one in acted.changed:
            say(f"{one} {done}.")
        for one in acted.unchanged:
            say(f"{one}: nothing to do.")
        for refused in acted.refused:
            warn(f"{refused.id}: {refused.detail} {refused.remedy}")
    if acted.refused:
        raise typer.Exit(1)


def _some(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + MOST_AT_ONCE] for start in range(0, len(ids), MOST_AT_ONCE)]
