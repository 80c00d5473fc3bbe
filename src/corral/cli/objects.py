"""Anything that the audit log is about, by id or by name."""

from collections.abc import Callable, Iterator

from corral_sdk import Client, Problem

from corral.cli.names import any_id
from corral.cli.refusals import CommandError, UnclearError
from corral.cli.work_names import named_workloads

__all__ = ["find_object"]

# What each kind is called here, and the pairs of id and name of those that may carry a name.
_KINDS: dict[str, Callable[[Client, str], Iterator[tuple[str, str]]]] = {
    "org": lambda client, _: ((each.id, each.name) for each in client.organisations.list()),
    "user": lambda client, text: ((each.id, each.name) for each in client.users.list(search=text)),
    "role": lambda client, _: ((each.id, each.name) for each in client.roles.list()),
    "work": lambda client, text: ((each.id, each.name) for each in named_workloads(client, text)),
    "flavor": lambda client, _: ((each.id, each.name) for each in client.flavors.list()),
    "pool": lambda client, _: ((each.id, each.name) for each in client.pools.list()),
    "node": lambda client, _: ((each.id, each.name) for each in client.nodes.list()),
    "token": lambda client, _: ((each.id, each.name) for each in client.tokens.list()),
    "runtime": lambda client, _: ((each.id, each.name) for each in client.runtimes.list().items),
}


def find_object(client: Client, text: str) -> str:
    """The id. `pool:default` looks among pools only; what was deleted is found by its id."""
    if any_id(text):
        return text
    kind, colon, rest = text.partition(":")
    kinds, name = ((kind,), rest) if colon and kind in _KINDS else (tuple(_KINDS), text)
    found = [(each, identity) for each in kinds for identity in _named(client, each, name)]
    if len(found) == 1:
        return found[0][1]
    if not found:
        raise CommandError(
            f"There is nothing called {name!r} that you can see.",
            remedy="Use the id; the audit log keeps those of deleted things.",
        )
    raise UnclearError("thing", name, [f"{each}:{name}  {identity}" for each, identity in found])


def _named(client: Client, kind: str, name: str) -> list[str]:
    try:
        return [identity for identity, called in _KINDS[kind](client, name) if called == name]
    except Problem as problem:
        if problem.status == 403:  # what may not be listed is found by its id only
            return []
        raise
