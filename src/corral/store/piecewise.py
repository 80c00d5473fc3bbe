"""Reading many rows of which some may be damaged: those that can be read are, the others are named.

At first everything is read together, as that costs nothing. What raises is halved until it is known which
rows it is, so that one damaged row among thousands costs a few queries and not thousands.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from corral.store.database import concerns_everybody

T = TypeVar("T")


def read_piecewise(
    keys: Collection[str], read: Callable[[Sequence[str]], Iterable[T]]
) -> tuple[list[T], dict[str, Exception]]:
    """What `read` finds for all keys that it can read, and what it raised for each of the others."""
    found: list[T] = []
    failed: dict[str, Exception] = {}
    pieces = [list(keys)]
    while pieces:
        piece = pieces.pop()
        if not piece:
            continue
        try:
            found += read(piece)
        except Exception as error:
            if concerns_everybody(error):
                raise
            if len(piece) == 1:
                failed[piece[0]] = error
                continue
            half = len(piece) // 2
            pieces += [piece[half:], piece[:half]]
    return found, failed
