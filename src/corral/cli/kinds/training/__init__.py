"""Training in the command: `corral run`."""

from corral.cli.kinds.plug import KindCommand, KindPlug

TRAINING = KindPlug(
    "training",
    {"run": KindCommand("kinds.training.run", "Run a command on the cluster and show its output.")},
    applies=True,
)
