"""What work arrived lately in a zone, for placement, which leaves room for what usually arrives."""

from collections import Counter

import structlog
from sqlalchemy import select

from corral.scheduling.live.arrivals import Arrived
from corral.store.database import Transaction
from corral.store.piecewise import read_piecewise
from corral.workloads.documents import DamagedDocumentError, Document, ResourceRequest, StoredDocument
from corral.workloads.states import OVER
from corral.workloads.tables import workload

ArrivalKey = tuple[ResourceRequest, tuple[str, ...]]
"""What one replica asks for, and the pools that may take it."""

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
            select(c.id, c.spec, c.spec_version, c.state).where(
                c.zone_id == zone_id, c.id.between(some[-1], some[0])
            )
        ),
    )
    arrived, over = Counter[ArrivalKey](), Counter[ArrivalKey]()
    for row in rows:
        try:
            document = StoredDocument(row.spec, row.spec_version).read(Document)
        except DamagedDocumentError as error:
            failed[row.id] = error
            continue
        key = document.resources, document.pool_ids
        arrived[key] += document.replicas
        if row.state in OVER:
            over[key] += document.replicas
    for name in failed:
        log.warning("a workload is left out of what usually arrives: it cannot be read", workload=name)
    return tuple(
        Arrived(key[0].request(), count, over[key], key[1])
        for key, count in sorted(arrived.items(), key=repr)
    )
