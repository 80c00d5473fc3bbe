"""Workloads as people name them: by id, by the beginning of an id, or by name."""

import re
from collections.abc import Sequence

from corral_sdk import Client
from corral_sdk.models import Workload

from corral.cli.names import is_id
from corral.cli.refusals import CommandError

__all__ = ["find_workload", "find_workloads"]

_PREFIX = re.compile(r"w[0-9a-hjkmnp-tv-z]{3,21}")


def find_workloads(client: Client, texts: Sequence[str]) -> list[str]:
    """The id of each; a name that fits more than one has to be made clear."""
    return list(dict.fromkeys(find_workload(client, text) for text in texts))


def find_workload(client: Client, text: str, *, newest: bool = False) -> str:
    """The id. Of several with the same name, the one that is not over; else, with `newest`, the last."""
    if is_id(text, "w"):
        return text
    named = [each for each in client.workloads.list(search=text) if each.name == text]
    live = [each for each in named if not each.is_over]
    if len(live) == 1 or (newest and named):
        return (live or named)[0].id
    found = live or named
    if not found and _PREFIX.fullmatch(text):
        found = [each for each in client.workloads.list() if each.id.startswith(text)]
    if len(found) == 1:
        return found[0].id
    if not found:
        raise CommandError(
            f"There is no workload {text!r} that you can see.",
            remedy="List yours: corral ps --all. An id, its beginning or a name will do.",
        )
    raise CommandError(f"{text!r} fits more than one workload:{_listed(found)}", remedy="Use the id.")


def _listed(found: Sequence[Workload]) -> str:
    lines = [f"\n    {each.id}  {each.name}  {each.state}" for each in found[:10]]
    more = len(found) - len(lines)
    return "".join(lines) + (f"\n    and {more} more" if more > 0 else "")
