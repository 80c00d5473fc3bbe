"""How much one person may have, so that nobody fills the tables that all share."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PersonBounds:
    """The most of each for one person. Settings replace these; every transaction carries them."""

    workloads: int = 50_000
    tokens: int = 200
    ssh_keys: int = 50
    sessions: int = 100
    open_invitations: int = 1_000
    changes_per_hour: int = 20_000
    kept_answers: int = 20_000
    uploads: int = 500
    runtimes: int = 50
    secrets: int = 200
    metric_series: int = 20_000
    metric_points: int = 10_000_000
