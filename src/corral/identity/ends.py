"""A role ends no later than the authority of whoever gives it.

Without an end it gets the giver's, and the answer says so. A later end is refused.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from corral.api.callers import Authority, Caller, held_until
from corral.core.permissions import Permission
from corral.core.refusals import Forbidden, Invalid
from corral.identity.lookups import Organisation, RoleFacts


@dataclass(frozen=True, slots=True)
class End:
    """When something that is given ends, and in words why it does although nobody asked for it."""

    at: datetime | None
    notice: str | None = None


def outlasts(one: datetime | None, other: datetime | None) -> bool:
    """Whether something with the end `one` is still there after `other`."""
    return other is not None and (one is None or one > other)


def in_words(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def end_of_role(
    caller: Caller, wanted: RoleFacts, node: Organisation, asked: datetime | None = None, field: str = ""
) -> End:
    """When a role ends that the caller gives on `node`. That they may give it was checked before."""
    own = caller.until(wanted.permissions, node.path)
    if own is None or (asked is not None and asked <= own):
        return End(asked)
    if asked is not None:
        raise Invalid.field(
            field,
            f"You hold the permissions of the role {wanted.name} on {node.name} only until {in_words(own)}.",
            "Choose an earlier time, or leave it out to give the role until then.",
        )
    return End(
        own,
        f"The role {wanted.name} on {node.name} ends {in_words(own)}, when your own authority there ends.",
    )


def end_of_offer(
    caller: Caller, wanted: RoleFacts, node: Organisation, now: datetime, hours: int, *, asked: bool
) -> End:
    """How long an invitation or join code works: no longer than its maker may make it."""
    own = caller.until({*wanted.permissions, Permission.PEOPLE_INVITE}, node.path)
    at = now + timedelta(hours=hours)
    if not outlasts(at, own):
        return End(at)
    assert own is not None
    if asked:
        raise Invalid.field(
            "body.expires_in_hours",
            f"You may offer the role {wanted.name} on {node.name} only until {in_words(own)}.",
            f"Choose {(own - now) // timedelta(hours=1)} hours or less, or leave it out: it works until then."
            if own - now >= timedelta(hours=1)
            else "Leave it out: it works until then.",
        )
    return End(own, f"It works until {in_words(own)}, when your own authority on {node.name} ends.")


def require_as_long(caller: Caller, target: Iterable[Authority], who: str) -> None:
    """Opening an account gives its authority, for as long as it lasts: the caller must hold it as long."""
    for authority in target:
        own = caller.until(authority.permissions, authority.path)
        if own is not None and outlasts(authority.until, own):
            raise Forbidden(
                f"{who} holds permissions for longer than you do: yours end {in_words(own)}.",
                "Ask someone who holds them for at least as long.",
            )


def lasts(held: Sequence[Authority], target: Iterable[Authority]) -> bool:
    """Whether `held`, which amounts to all of `target`, does so for as long."""
    return not any(outlasts(one.until, held_until(held, one.permissions, one.path)) for one in target)
