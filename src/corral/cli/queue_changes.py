"""Changes of queues as they are written on the command line; the API says what amounts mean."""

from collections.abc import Callable, Sequence
from typing import Any

from corral_sdk import Client
from corral_sdk.models import Queue, Queues

from corral.cli.names import find_organisation, find_user, is_id
from corral.cli.refusals import CommandError

__all__ = ["RESOURCES", "find_queue", "read_changes"]

RESOURCES = {"gpu": "gpu_milli", "cpu": "cpu_milli", "memory": "memory_mib"}
_BOUNDS = ("guarantee", "limit", "weight")
_TRUTHS = {"yes": True, "no": False, "inherit": None}
_KEYS = "gpu.guarantee, gpu.limit, gpu.weight, the same with cpu and memory, policy, priority,"


def find_queue(client: Client, tree: Queues, text: str, *, make: bool = False) -> Queue:
    """An id, an organisation by name or path, or ORG@USER; with `make`, a person's queue is made if new."""
    if is_id(text, "q"):
        return client.queues.get(text)
    place, at, person = text.rpartition("@")
    organisation = find_organisation(client, (place if at else text) or None)
    user = find_user(client, person) if at else None
    for each in tree.items:
        whose = each.person.id if each.person else None
        if each.organisation_id == organisation.id and whose == (user.id if user else None):
            return each
    if user is not None and make:
        return client.queues.create(organisation.id, user.id)
    if user is not None:
        raise CommandError(
            f"{user.name} has no queue in {organisation.name} yet.",
            remedy="It comes with their first work there, or with: corral queue edit.",
        )
    raise CommandError(f"You may not see the queue of {organisation.name}.", remedy="See: corral queue list")


def read_changes(
    client: Client, tree: Queues, words: Sequence[str], pool: Callable[[], str]
) -> list[dict[str, Any]]:
    """A word without = names the queue that the next ones are about."""
    changes: list[dict[str, Any]] = []
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            found = find_queue(client, tree, word, make=True)
            changes.append({"queue_id": found.id, "generation": found.generation, "quotas": []})
        elif not changes:
            raise CommandError(f"{word!r} belongs to no queue.", remedy="Name the queue first.")
        else:
            _add(changes[-1], key, value, pool)
    if not all(len(each) > 3 or each["quotas"] for each in changes):
        raise CommandError("A queue is named without a change.", remedy="Write QUEUE KEY=VALUE.")
    return changes


def _add(change: dict[str, Any], key: str, value: str, pool: Callable[[], str]) -> None:
    name, dot, bound = key.partition(".")
    if dot and name in RESOURCES and bound in _BOUNDS:
        quota = {"pool_id": pool(), "resource": RESOURCES[name]}
        for each in change["quotas"]:
            if quota.items() <= each.items():
                quota = each
                break
        else:
            change["quotas"].append(quota)
        quota[bound] = value
        return
    match key:
        case "policy":
            change["policy"] = value
        case "priority":
            change["priority"] = value
        case "reclaim-min-runtime" | "preempt-min-runtime":
            change[f"{key.replace('-', '_')}_seconds"] = None if value == "inherit" else value
        case "custom-numbers" if value in _TRUTHS:
            change["custom_numbers"] = _TRUTHS[value]
        case _:
            raise CommandError(
                f"{key}={value} is unknown.",
                remedy=f"Use {_KEYS} reclaim-min-runtime, preempt-min-runtime,"
                " custom-numbers=yes|no|inherit.",
            )
