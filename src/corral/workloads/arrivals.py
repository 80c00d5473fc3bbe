"""What work arrived lately in a zone, for placement, which leaves room for what usually arrives."""

import json
from collections import Counter

import structlog
from sqlalchemy import select

from corral.core.workloads import Request
from corral.scheduling.live.arrivals import Arrived
from corral.store.database import AnyRow, Transaction
from corral.store.piecewise import read_piecewise
from corral.workloads.spec import Resources
from corral.workloads.states import OVER
from corral.workloads.tables import workload

Asked = tuple[str, tuple[str, ...]]
"""What one replica asks for, as a document, and the pools that may take it."""

log = structlog.get_logger(__name__)


def newest_arrivals(transaction: Transaction, zone_id: str, most: int) -> tuple[Arrived, ...]:
    """Of the workloads that were submitted last, so many at most; those that ask for the same together.

    A damaged one teaches nothing.
    """
    c = workload.c
    newest = select(c.id).where(c.zone_id == zone_id).order_by(c.id.desc()).limit(most)
    ids = [one for (one,) in transaction.rows(newest)]
    # Not by a list of two thousand parameters: what is between the first and the last is the same.
    rows, failed = read_piecewise(
        ids,
        lambda some: transaction.rows(
            select(c.id, c.spec, c.state).where(c.zone_id == zone_id, c.id.between(some[-1], some[0]))
        ),
    )
    came, over = Counter[Asked](), Counter[Asked]()
    requests: dict[str, Request] = {}
    for row in rows:
        try:
            asked, replicas = _asked(row, requests)
        except Exception as error:  # noqa: BLE001 (what is wrong with it is its own)
            failed[row.id] = error
            continue
        came[asked] += replicas
        if row.state in OVER:
            over[asked] += replicas
    for name in failed:
        log.warning("a workload is left out of what usually arrives: it cannot be read", workload=name)
    return tuple(
        Arrived(requests[resources], count, over[resources, pools], pools)
        for (resources, pools), count in sorted(came.items())
    )


def _asked(row: AnyRow, requests: dict[str, Request]) -> tuple[Asked, int]:
    """What is asked for alike is understood once."""
    resources = json.dumps(row.spec["resources"], sort_keys=True)
    if resources not in requests:
        requests[resources] = Resources.model_validate_json(resources).request()
    return (resources, tuple(map(str, row.spec["pool_ids"]))), int(row.spec["replicas"])
