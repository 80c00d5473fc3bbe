"""Pure decisions about queues: what applies where nothing is said, and which colour a queue has."""

from collections.abc import Collection

from corral.core.queues import Quota

COLOURS = 8
# What nobody changed: nothing is reserved, surplus is shared with equal weights.
USUAL_QUOTA = Quota(guarantee=0)
# The root has the whole pool: without a quota nothing is divided above it.
ROOT_QUOTA = Quota()


def colour_among(siblings: Collection[int]) -> int:
    """The first category that no sibling has; the eighth is for all that come later."""
    return next((colour for colour in range(1, COLOURS) if colour not in siblings), COLOURS)
