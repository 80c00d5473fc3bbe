"""The kinds of work that this Corral has. A new kind is a package of its own, and one word here."""

from corral.kinds.plug import Kind
from corral.runtimes.kind import RUNTIME
from corral.training.kind import TRAINING

KINDS: tuple[Kind, ...] = (TRAINING, RUNTIME)
