"""Names in place of ids. An id is used as it is; a name has to match exactly one thing."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from corral_sdk import Client
from corral_sdk.models import Node, Organisation, Pool, Role, User, Zone

from corral.cli.connection import shown_time
from corral.cli.refusals import CommandError, UnclearError

__all__ = [
    "any_id",
    "find_node",
    "find_organisation",
    "find_pool",
    "find_role",
    "find_user",
    "is_id",
    "one_of",
    "organisation_paths",
    "top_organisation",
]

T = TypeVar("T")

_ID = re.compile(r"[a-z][0-9a-hjkmnp-tv-z]{22}")


def any_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def is_id(text: str, kind: str) -> bool:
    return _ID.fullmatch(text) is not None and text.startswith(kind)


def find_organisation(client: Client, text: str | None) -> Organisation:
    """By id, by name, or by a path of names such as University/Physics; without any, the topmost one."""
    if text is None:
        return top_organisation(client)
    if is_id(text, "o"):
        return client.organisations.get(text)
    every = list(client.organisations.list())
    paths = organisation_paths(every)
    found = [each for each in every if text in (each.name, paths[each.id])]
    found = found or [each for each in every if paths[each.id].endswith(f"/{text}")]
    return _only(found, "organisation", text, lambda each: f"{each.id}  {paths[each.id]}", paths.values())


def top_organisation(client: Client) -> Organisation:
    every = list(client.organisations.list())
    tops = [each for each in every if each.parent_id is None]
    if len(tops) == 1:
        return tops[0]
    paths = organisation_paths(every)
    raise CommandError(
        "It is not clear which organisation you mean.",
        "You see several: " + ", ".join(paths[each.id] for each in tops) if tops else "You see none.",
        "Name one with --org.",
    )


def organisation_paths(organisations: Sequence[Organisation]) -> dict[str, str]:
    """The names from the outermost visible organisation down, by id."""
    names = {each.id: each.name for each in organisations}
    return {each.id: "/".join(names[step] for step in each.path if step in names) for each in organisations}


def find_user(client: Client, text: str) -> User:
    """By id, by sign-in name, or by display name."""
    if is_id(text, "u"):
        return client.users.get(text)
    candidates = list(client.users.list(search=text))
    found = [each for each in candidates if each.name == text.lower()]
    found = found or [each for each in candidates if text in (each.display_name, each.mail)]
    return _only(found, "person", text, lambda each: f"{each.id}  {each.name}  {each.display_name}")


def find_role(client: Client, text: str, organisation: Organisation | None = None) -> Role:
    """By id, by preset key, or by name; with an organisation, only roles that can be given there count."""
    if is_id(text, "r"):
        return client.roles.get(text)
    every = list(client.roles.list())
    if organisation is not None:
        every = [each for each in every if each.organisation_id in organisation.path] or every
    found = [each for each in every if each.key == text] or [each for each in every if each.name == text]
    names = (each.key or each.name for each in every)
    return _only(
        found, "role", text, lambda each: f"{each.id}  {each.name} ({each.organisation_name})", names
    )


def find_pool(client: Client, text: str) -> Pool:
    """By id or name."""
    return one_of(client.pools.list(), "pool", text, lambda each: (each.id, each.name))


def find_zone(client: Client, text: str) -> Zone:
    """By id or name."""
    return one_of(client.zones.list(), "zone", text, lambda each: (each.id, each.name))


def find_node(client: Client, text: str) -> Node:
    """By id or name."""
    return one_of(client.nodes.list(), "node", text, lambda each: (each.id, each.name))


def one_of(items: Iterable[T], kind: str, text: str, names: Callable[[T], Sequence[str]]) -> T:
    """The one item that carries the text as id or name."""
    found = [each for each in items if text in names(each)]
    return _only(found, kind, text, lambda each: "  ".join(names(each)))


def _only(
    found: Sequence[T], kind: str, text: str, shown: Callable[[T], str], names: Iterable[str] = ()
) -> T:
    if len(found) == 1:
        return found[0]
    if not found:
        some = ", ".join(sorted(names)[:12])
        raise CommandError(
            f"There is no {kind} {text!r} that you can see.",
            f"There are: {some}." if some else "",
            "Check the name, or use the id.",
        )
    raise UnclearError(kind, text, [f"{shown(each)}{_created(each)}" for each in found])


def _created(item: object) -> str:
    created = getattr(item, "created_at", None)
    return f"  created {shown_time(created)}" if created else ""
