"""The kinds of work, a folder each: their commands, and whether `corral apply` takes their documents.

A new one gets its folder and its line in `KINDS`; nothing else changes.
"""

from corral.cli.kinds.plug import KindPlug
from corral.cli.kinds.runtime import RUNTIME
from corral.cli.kinds.training import TRAINING

KINDS: tuple[KindPlug, ...] = (TRAINING, RUNTIME)

__all__ = ["KINDS", "KindPlug"]
