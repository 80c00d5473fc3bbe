"""Short work first, without knowing how long anything takes: priority falls with the service attained.

Work begins at its full priority and comes down a level whenever the GPU-seconds it has held pass a bound.
Long work therefore yields to what has only begun; what is on the same level goes by age, so that nothing is
interrupted for its equal. A level never outweighs a priority that a person gave.
"""

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Levels:
    """Bounds in GPU-seconds, growing."""

    bounds: tuple[int, ...] = ()

    def priority(self, given: int, attained_gpu_seconds: int) -> int:
        """The priority that the scheduler sees."""
        return given * (len(self.bounds) + 1) - bisect_right(self.bounds, attained_gpu_seconds)

    def next_bound(self, attained_gpu_seconds: int) -> int | None:
        """Where the next level begins, if there is one."""
        level = bisect_right(self.bounds, attained_gpu_seconds)
        return self.bounds[level] if level < len(self.bounds) else None


def geometric_levels(first_gpu_seconds: int, factor: int, count: int) -> Levels:
    return Levels(tuple(first_gpu_seconds * factor**level for level in range(count)))


NO_LEVELS = Levels()
