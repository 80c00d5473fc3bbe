"""The records of the ledger in the order in which they were posted, for readers who keep a bookmark.

Sequences grow in the order of the commits, so nothing appears behind a bookmark. A page looks at a bounded
stretch of sequences, whoever asks: where little of it may be seen, it is short or empty, and the bookmark
moves on all the same.
"""

from dataclasses import dataclass

from sqlalchemy import bindparam, func, select

from corral.api.callers import Caller
from corral.store.database import AnyRow, Transaction
from corral.usage.tables import usage_allocation, usage_record
from corral.usage.visibility import Whose, visible

LONGEST_STRETCH = 50_000
_a, _r = usage_allocation.c, usage_record.c


@dataclass(frozen=True, slots=True)
class RecordPage:
    """`next_after` is where to read on; `more` says whether something is behind it already."""

    rows: tuple[AnyRow, ...]
    next_after: int
    more: bool


def read_records(
    transaction: Transaction, caller: Caller, whose: Whose, after: int, limit: int
) -> RecordPage:
    """What the caller may see of the records after a sequence, at most so many."""
    conditions = visible(transaction, caller, whose)
    head: int = transaction.scalar(_HEAD) or 0
    until = min(head, after + LONGEST_STRETCH)
    rows = transaction.rows(_RECORDS.where(*conditions).limit(limit), {"after": after, "until": until})
    reached = rows[-1].sequence if len(rows) == limit else max(after, until)
    return RecordPage(tuple(rows), reached, reached < head)


_HEAD = select(func.max(_r.sequence))
_RECORDS = (
    select(
        *usage_record.c,
        _a.workload_id,
        _a.attempt,
        _a.replica,
        _a.user_id,
        _a.organisation_id,
        _a.organisation_path,
        _a.queue_id,
        _a.zone_id,
        _a.zone_name,
        _a.pool_id,
        _a.pool_name,
        _a.node,
        _a.kind,
        _a.flavor,
        _a.device_model,
        _a.mode,
        _a.preemptible,
    )
    .join_from(usage_record, usage_allocation, _r.allocation_id == _a.id)
    .where(_r.sequence > bindparam("after"), _r.sequence <= bindparam("until"))
    .order_by(_r.sequence)
)
