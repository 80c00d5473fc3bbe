"""Workloads as people name them: by id, by the beginning of an id, or by name."""

import re
from collections.abc import Sequence

from corral_sdk import Client
from corral_sdk.models import Workload

from corral.cli.connection import shown_time
from corral.cli.names import is_id
from corral.cli.refusals import CommandError, UnclearError

__all__ = ["find_workload", "find_workloads", "named_workloads"]

MOST_LISTED = 10
_PREFIX = re.compile(r"w[0-9a-hjkmnp-tv-z]{3,21}")


def find_workloads(client: Client, texts: Sequence[str]) -> list[str]:
    """The id of each; a name that fits more than one has to be made clear."""
    return list(dict.fromkeys(find_workload(client, text) for text in texts))


def find_workload(client: Client, text: str) -> str:
    """The id. Of several with the same name, the only one that is not over."""
    if is_id(text, "w"):
        return text
    candidates = list(client.workloads.list(search=text)) if text else []
    named = [each for each in candidates if each.name == text]
    found = [each for each in named if not each.is_over] or named
    if not found and _PREFIX.fullmatch(text):
        found = [each for each in candidates if each.id.startswith(text)]
    if len(found) == 1:
        return found[0].id
    if not found:
        raise CommandError(
            f"There is no workload {text!r} that you can see.",
            remedy="List yours: corral ps --all. An id, its beginning or a name will do.",
        )
    raise UnclearError("workload", text, _listed(found))


def named_workloads(client: Client, text: str) -> list[Workload]:
    return [each for each in client.workloads.list(search=text) if each.name == text] if text else []


def _listed(found: Sequence[Workload]) -> list[str]:
    lines = [
        f"{each.id}  {each.name} of {each.user.name}  {each.state}  created {shown_time(each.created_at)}"
        for each in found[:MOST_LISTED]
    ]
    more = len(found) - len(lines)
    return [*lines, f"and {more} more"] if more > 0 else lines
