"""Whether the history is consistent, for `corral doctor`."""

from collections.abc import Iterator

from sqlalchemy import or_, select

from corral.history.tables import arrival
from corral.store.database import Transaction
from corral.zones.tables import cluster_history


def find_faults(transaction: Transaction) -> Iterator[str | None]:
    """For each thing: what is wrong with it, or None.

    Every change of the cluster begins where the one before it ended, and work starts after it was submitted
    and ends after it started.
    """
    h, c = cluster_history.c, arrival.c
    last: dict[str, object] = {}
    for row in transaction.rows(select(h.object_id, h.before, h.after).order_by(h.sequence)):
        # The first one that is kept may follow others that were forgotten.
        is_sound = row.object_id not in last or last[row.object_id] == row.before
        yield None if is_sound else f"{row.object_id} changed, and nothing recorded how"
        last[row.object_id] = row.after
    wrong = or_(c.started_at < c.submitted_at, c.ended_at < c.started_at, c.run_us < 0)
    for (workload_id,) in transaction.rows(select(c.workload_id).where(wrong).limit(100)):
        yield f"{workload_id} ended before it started, or started before it was submitted"
