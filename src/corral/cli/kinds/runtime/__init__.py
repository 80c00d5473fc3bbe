"""Runtimes in the command: `corral runtime`."""

from corral.cli.kinds.plug import KindCommand, KindPlug

RUNTIME = KindPlug(
    "runtime",
    {"runtime": KindCommand("kinds.runtime.runtimes", "Manage Python environments for your work.")},
)
