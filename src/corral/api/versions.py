"""ETag and If-Match: whoever changes a thing says which generation of it they saw."""

import re
from typing import Annotated, Protocol, TypeVar

from fastapi import Depends, Header, Response

from corral.core.refusals import PreconditionMissing, Stale


class Versioned(Protocol):
    @property
    def generation(self) -> int: ...


T = TypeVar("T", bound=Versioned)


class Expected:
    """The generation that the caller has seen, or any (`*`)."""

    def __init__(self, generation: int | None) -> None:
        self._generation = generation

    def check(self, generation: int) -> None:
        if self._generation is not None and self._generation != generation:
            raise Stale(
                "It was changed after you read it. Nothing was changed now.",
                "Read it again and repeat your change.",
                facts={"generation": generation},
            )


async def _expected(
    if_match: Annotated[
        str | None, Header(max_length=40, description='The ETag that you read, e.g. `"3"`; `*` for any.')
    ] = None,
) -> Expected:
    if if_match is None:
        raise PreconditionMissing(
            "The header If-Match is missing.",
            "Send the ETag that you read as If-Match, so that nobody's change is overwritten; or *.",
        )
    if if_match.strip() == "*":
        return Expected(None)
    match = re.fullmatch(r'(?:W/)?"([0-9]{1,9})"', if_match.strip())
    if match is None:
        raise Stale("If-Match is not one of Corral's ETags.", 'Send the ETag as it was read, e.g. "3".')
    return Expected(int(match[1]))


IfMatch = Annotated[Expected, Depends(_expected)]


def tagged(response: Response, thing: T) -> T:
    """Sets the response's ETag."""
    response.headers["ETag"] = f'"{thing.generation}"'
    return thing
