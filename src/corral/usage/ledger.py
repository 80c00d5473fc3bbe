"""The usage ledger: who held what from when to when, exact over restarts, reboots and clocks that are set.

`open` belongs into the transaction that commits a placement, `close` into the one that records that it is
gone, and `beat` is called again and again for what is there. Each may be repeated and changes nothing the
second time.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from corral.events.record import in_order_of_commits
from corral.store.database import AnyRow, Transaction
from corral.store.schema import any_of
from corral.usage.clock import Mark, Reading, moment_of
from corral.usage.grants import Grant, frozen
from corral.usage.rules import Holding, Piece, full_hours, next_hour_us, settle
from corral.usage.tables import usage_allocation, usage_boot, usage_record

_a = usage_allocation.c
# A clock that is corrected by less is left alone.
_TOLERATED_US = 1_000_000


def open(transaction: Transaction, grant: Grant, reading: Reading) -> bool:  # noqa: A001
    """Begins to count; False if it already had."""
    return open_all(transaction, [grant], reading) == 1


def open_all(transaction: Transaction, grants: Sequence[Grant], reading: Reading) -> int:
    """Begins to count for each, with as many statements as for one; returns for how many it had not."""
    known = _known(transaction, [grant.allocation_id for grant in grants])
    new = [grant for grant in grants if grant.allocation_id not in known]
    if not new:
        return 0
    offsets = {
        zone_id: _offset_of_boot(transaction, zone_id, reading)
        for zone_id in sorted({grant.zone_id for grant in new})
    }
    rows = [
        columns | _opened(reading.mark, offsets[columns["zone_id"]]) for columns in frozen(transaction, new)
    ]
    transaction.run(insert(usage_allocation), rows)
    return len(new)


def _known(transaction: Transaction, allocation_ids: Sequence[str]) -> set[str]:
    rows = transaction.rows(_KNOWN, {"ids": json.dumps(allocation_ids)})
    return {row.id for row in rows}


def _opened(mark: Mark, offset_us: int) -> dict[str, Any]:
    return {
        "boot_id": mark.boot_id,
        "offset_us": offset_us,
        "opened_us": mark.boottime_us,
        "beat_us": mark.boottime_us,
        "recorded_us": mark.boottime_us,
        "next_cut_us": next_hour_us(mark.boottime_us, offset_us),
        "lost_us": 0,
        "records": 0,
        "opened_at": moment_of(mark.boottime_us + offset_us),
    }


def beat(
    transaction: Transaction, zone_id: str, reading: Reading, alive: Collection[str] | None = None
) -> int:
    """Notes that allocations of this boot are still held, and writes down the hours that are over.

    `alive` names those that were seen at that moment; None means all that are open. Returns how many
    records it wrote.
    """
    parameters: dict[str, Any] = {
        "zone": zone_id,
        "boot": reading.mark.boot_id,
        "now_us": reading.mark.boottime_us,
    }
    if alive is None:
        transaction.run(_BEAT, parameters)
    else:
        transaction.run(_BEAT_OF, parameters | {"alive": json.dumps(sorted(alive))})
    due = [(row, full_hours(_holding(row))) for row in transaction.rows(_DUE, parameters)]
    if not due:
        return 0
    counts = _post(transaction, due)
    transaction.run(
        _CUT,
        [
            {
                "id_": row.id,
                "recorded_us_": pieces[-1].end_us,
                "next_cut_us_": next_hour_us(pieces[-1].end_us, row.offset_us),
                "records_": row.records + count,
            }
            for (row, pieces), count in zip(due, counts, strict=True)
        ],
    )
    return sum(counts)


def close(
    transaction: Transaction,
    allocation_id: str,
    released: Mark | None,
    *,
    lost_since_us: int | None = None,
) -> bool:
    """Ends the allocation; False if it had ended already or never began.

    `released` is when it was given back. None, or a mark of another boot, is a death that nobody saw: it
    ends at its last heartbeat. What it did from `lost_since_us` on (of its own boot) was lost by an eviction.
    """
    row = transaction.first(_OPEN_ONE, {"id": allocation_id})
    if row is None:
        return False
    known = released is not None and released.boot_id == row.boot_id
    released_us = released.boottime_us if released is not None and known else None
    end = settle(_holding(row), released_us, lost_since_us)
    (count,) = _post(transaction, [(row, end.pieces)])
    transaction.run(
        _END,
        {
            "id_": row.id,
            "ended_us_": end.ended_us,
            "lost_us_": end.lost_us,
            "records_": row.records + count,
            "ended_at_": moment_of(end.ended_us + row.offset_us),
        },
    )
    return True


def open_allocations(transaction: Transaction, zone_id: str) -> dict[str, str]:
    """What has not ended, each with the boot it belongs to."""
    rows = transaction.rows(_OPEN_IN_ZONE, {"zone": zone_id})
    return {row.id: row.boot_id for row in rows}


def _offset_of_boot(transaction: Transaction, zone_id: str, reading: Reading) -> int:
    """The pair of clocks of this boot; the first reading makes it.

    A machine may start with a wrong calendar and set it right a moment later. So a pair that no longer
    agrees with the clock is replaced while nothing is held; what is held keeps the one it began with.
    """
    parameters = {"zone": zone_id, "boot": reading.mark.boot_id}
    now_us = reading.offset_us
    kept_us: int | None = transaction.scalar(_OFFSET, parameters)
    if kept_us is None:
        first = {
            "zone_id": zone_id,
            "boot_id": reading.mark.boot_id,
            "offset_us": now_us,
            "first_seen_at": reading.at,
        }
        transaction.run(insert(usage_boot), first)
        return now_us
    if abs(now_us - kept_us) <= _TOLERATED_US or transaction.first(_ANY_OPEN, parameters) is not None:
        return kept_us
    transaction.run(_SET_OFFSET, parameters | {"offset_us_": now_us})
    return now_us


def _holding(row: AnyRow) -> Holding:
    return Holding(row.offset_us, row.opened_us, row.beat_us, row.recorded_us)


def _post(transaction: Transaction, posted: Sequence[tuple[AnyRow, Sequence[Piece]]]) -> list[int]:
    """Writes a record for each piece and resource; returns how many for each allocation."""
    records = [list(_records(row, pieces)) for row, pieces in posted]
    if any(records):
        in_order_of_commits(transaction)
        posted_at = _posted_at(transaction)
        transaction.run(
            insert(usage_record), [record | {"posted_at": posted_at} for some in records for record in some]
        )
    return [len(some) for some in records]


def _posted_at(transaction: Transaction) -> datetime:
    """Now, and never before the last one: clocks of hosts differ, and are set."""
    last: datetime | None = transaction.scalar(_LAST_POSTED)
    return transaction.now if last is None else max(transaction.now, last)


def _records(row: AnyRow, pieces: Sequence[Piece]) -> Iterator[dict[str, Any]]:
    number = row.records
    for piece in pieces:
        for resource, model, amount in row.resources:
            yield {
                "allocation_id": row.id,
                "number": number,
                "resource": resource,
                "model": model,
                "amount": amount,
                "outcome": piece.outcome,
                "started_at": moment_of(piece.start_us + row.offset_us),
                "ended_at": moment_of(piece.end_us + row.offset_us),
                "duration_us": piece.sign * (piece.end_us - piece.start_us),
            }
            number += 1


_LAST_POSTED = select(usage_record.c.posted_at).order_by(usage_record.c.sequence.desc()).limit(1)
_KNOWN = select(_a.id).where(any_of(_a.id, "ids"))
_HELD = select(
    _a.id,
    _a.resources,
    _a.boot_id,
    _a.offset_us,
    _a.opened_us,
    _a.beat_us,
    _a.recorded_us,
    _a.records,
).where(_a.ended_us.is_(None))
_OPEN_ONE = _HELD.where(_a.id == bindparam("id"))
_OPEN_IN_ZONE = select(_a.id, _a.boot_id).where(_a.zone_id == bindparam("zone"), _a.ended_us.is_(None))
_OF_BOOT = (_a.zone_id == bindparam("zone"), _a.boot_id == bindparam("boot"), _a.ended_us.is_(None))
_ANY_OPEN = select(_a.id).where(*_OF_BOOT).limit(1)
_DUE = _HELD.where(*_OF_BOOT, _a.next_cut_us <= _a.beat_us)
_BEAT = (
    update(usage_allocation)
    .where(*_OF_BOOT, _a.beat_us < bindparam("now_us"))
    .values(beat_us=bindparam("now_us"))
)
_BEAT_OF = _BEAT.where(any_of(_a.id, "alive"))
_CUT = (
    update(usage_allocation)
    .where(_a.id == bindparam("id_"))
    .values(
        recorded_us=bindparam("recorded_us_"),
        next_cut_us=bindparam("next_cut_us_"),
        records=bindparam("records_"),
    )
)
_END = (
    update(usage_allocation)
    .where(_a.id == bindparam("id_"))
    .values(
        ended_us=bindparam("ended_us_"),
        lost_us=bindparam("lost_us_"),
        records=bindparam("records_"),
        ended_at=bindparam("ended_at_", type_=_a.ended_at.type),
    )
)
_BOOT = (usage_boot.c.zone_id == bindparam("zone"), usage_boot.c.boot_id == bindparam("boot"))
_OFFSET = select(usage_boot.c.offset_us).where(*_BOOT)
_SET_OFFSET = update(usage_boot).where(*_BOOT).values(offset_us=bindparam("offset_us_"))
