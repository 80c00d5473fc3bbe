"""What work arrived lately in a zone, for placement, which leaves room for what usually arrives."""

import json
from collections import Counter

from sqlalchemy import select

from corral.scheduling.arrivals import Arrived
from corral.store.database import Transaction
from corral.workloads.spec import Resources
from corral.workloads.states import OVER
from corral.workloads.tables import workload


def newest_arrivals(transaction: Transaction, zone_id: str, most: int) -> tuple[Arrived, ...]:
    """Of the workloads that were submitted last, so many at most; those that ask for the same together."""
    c = workload.c
    rows = transaction.rows(
        select(c.spec, c.state).where(c.zone_id == zone_id).order_by(c.id.desc()).limit(most)
    )
    came, over = Counter[tuple[str, tuple[str, ...]]](), Counter[tuple[str, tuple[str, ...]]]()
    for spec, state in rows:
        asked = json.dumps(spec["resources"], sort_keys=True), tuple(spec["pool_ids"])
        came[asked] += spec["replicas"]
        if state in OVER:
            over[asked] += spec["replicas"]
    return tuple(
        Arrived(Resources.model_validate_json(resources).request(), count, over[resources, pools], pools)
        for (resources, pools), count in sorted(came.items())
    )
