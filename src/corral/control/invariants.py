"""What must always be true of the tables, whatever died at which moment. `corral doctor --invariants` asks.

Each check returns sentences about what is wrong, with the ids to look at; none is good.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlalchemy import func, select

from corral.core.runs import RunId
from corral.history.soundness import find_faults as history_faults
from corral.store.database import Transaction
from corral.usage.soundness import find_faults
from corral.usage.tables import usage_allocation
from corral.workloads.machine import Phase
from corral.workloads.states import PRESENT
from corral.workloads.tables import allocation, attempt, replica, transition, workload
from corral.zones.tables import device, node, zone_journal

MOST_SENTENCES = 20

Check = Callable[[Transaction], Iterator[str | None]]
"""For each thing it looked at: what is wrong with it, or None."""


@dataclass(frozen=True, slots=True)
class Invariant:
    name: str
    checked: int
    broken: tuple[str, ...]


def check_invariants(transaction: Transaction) -> tuple[Invariant, ...]:
    """All of them, on one consistent state."""
    return tuple(_result(name, check, transaction) for name, check in _CHECKS.items())


def _result(
    name: str, check: Callable[[Transaction], Iterator[str | None]], transaction: Transaction
) -> Invariant:
    found = list(check(transaction))
    return Invariant(name, len(found), tuple(one for one in found if one is not None)[:MOST_SENTENCES])


def _live_attempts(transaction: Transaction) -> Iterator[str | None]:
    """A workload has a live attempt exactly while something of it may be on a node."""
    live = {
        row.workload_id: row.number
        for row in transaction.rows(select(attempt).where(attempt.c.closed_at.is_(None)))
    }
    for row in transaction.rows(select(workload.c.id, workload.c.state, workload.c.attempt)):
        number = live.pop(row.id, None)
        if (number is not None) != (row.state in PRESENT):
            yield f"{row.id} is {row.state} and has {'no' if number is None else 'a'} live attempt"
        elif number is not None and number != row.attempt:
            yield f"{row.id}: attempt {number} is live, but the last one is {row.attempt}"
        else:
            yield None


def _numbered_attempts(transaction: Transaction) -> Iterator[str | None]:
    """Attempts are numbered from 1 without a gap: none was begun twice, none was forgotten."""
    counted = {
        row.workload_id: (row.count, row.last)
        for row in transaction.rows(
            select(
                attempt.c.workload_id,
                func.count().label("count"),
                func.max(attempt.c.number).label("last"),
            ).group_by(attempt.c.workload_id)
        )
    }
    for row in transaction.rows(select(workload.c.id, workload.c.attempt)):
        count, last = counted.get(row.id, (0, 0))
        wrong = (count, last) != (row.attempt, row.attempt)
        yield f"{row.id} has had {row.attempt} attempts, {count} are written down" if wrong else None


def _exits(transaction: Transaction) -> Iterator[str | None]:
    """Every replica of a closed attempt has ended, and its ending is known."""
    rows = transaction.rows(
        select(replica, attempt.c.closed_at).join(
            attempt,
            (attempt.c.workload_id == replica.c.workload_id) & (attempt.c.number == replica.c.attempt),
        )
    )
    for row in rows:
        name = str(RunId(row.workload_id, row.attempt, row.number))
        has_ended = row.phase == Phase.ENDED
        if row.closed_at is not None and not has_ended:
            yield f"{name} is {row.phase}, but its attempt is closed"
        elif has_ended and (row.end is None or row.ended_at is None):
            yield f"{name} has ended, but nobody knows how or when"
        else:
            yield None


def _allocations(transaction: Transaction) -> Iterator[str | None]:
    """Places belong to replicas that have not ended, or are kept for a restart."""
    allocated = {
        (row.workload_id, row.attempt, row.replica)
        for row in transaction.rows(
            select(allocation.c.workload_id, allocation.c.attempt, allocation.c.replica).where(
                allocation.c.held_until.is_(None)
            )
        )
    }
    present = {
        (row.workload_id, row.attempt, row.number)
        for row in transaction.rows(select(replica).where(replica.c.phase != Phase.ENDED))
    }
    for key in sorted(allocated | present):
        if key not in present:
            yield f"{RunId(*key)} has ended and still holds its place"
        elif key not in allocated:
            yield f"{RunId(*key)} has not ended and holds no place"
        else:
            yield None


def _devices(transaction: Transaction) -> Iterator[str | None]:
    """No device is given out beyond its memory, none whole to two."""
    sizes = {
        (row.name, row.id): row.memory_mib
        for row in transaction.rows(
            select(node.c.name, device.c.id, device.c.memory_mib).join(node, node.c.id == device.c.node_id)
        )
    }
    slices: dict[tuple[str, str], list[int | None]] = {}
    for row in transaction.rows(select(allocation.c.node, allocation.c.devices)):
        for use in row.devices:
            if "profile" not in use:
                slices.setdefault((row.node, use["device"]), []).append(use.get("memory_mib"))
    for place, parts in sorted(slices.items()):
        whole = sum(part is None for part in parts)
        sliced = sum(part for part in parts if part is not None)
        if whole > 1 or (whole and sliced):
            yield f"{place[1]} of {place[0]} is given whole and to others"
        elif sliced > sizes.get(place, 0):
            yield f"{place[1]} of {place[0]}: {sliced} of {sizes.get(place, 0)} MiB are given out"
        else:
            yield None


def _ledger(transaction: Transaction) -> Iterator[str | None]:
    """The ledger counts what is held and only that; its records add up to the time it was held."""
    yield from find_faults(transaction)
    kept = {
        str(RunId(*row))
        for row in transaction.rows(
            select(allocation.c.workload_id, allocation.c.attempt, allocation.c.replica).where(
                allocation.c.held_until.is_not(None)
            )
        )
    }
    entries = {row.id: row for row in transaction.rows(select(usage_allocation))}
    for row in transaction.rows(select(replica)):
        name = str(RunId(row.workload_id, row.attempt, row.number))
        entry = entries.pop(name, None)
        if entry is None:
            yield f"{name} is not in the ledger"
            continue
        is_open = entry.ended_us is None and name not in kept
        if is_open == (row.phase == Phase.ENDED):
            yield f"{name} is {row.phase}, and its entry is {'open' if is_open else 'closed'}"
        else:
            yield None
    there = {one for (one,) in transaction.rows(select(workload.c.id))}
    for name, entry in sorted(entries.items()):
        # The ledger outlives the records of deleted work; what is held has records.
        if entry.workload_id in there or entry.ended_us is None:
            yield f"{name} is in the ledger, but no replica is so named"


def _history(transaction: Transaction) -> Iterator[str | None]:
    """History is numbered without a gap and ends with the state that the workload has."""
    last: dict[str, tuple[int, int, str]] = {}
    for row in transaction.rows(select(transition).order_by(transition.c.workload_id, transition.c.number)):
        count = last.get(row.workload_id, (0, 0, ""))[0] + 1
        last[row.workload_id] = (count, row.number, row.state)
    for row in transaction.rows(select(workload.c.id, workload.c.state)):
        count, number, state = last.get(row.id, (0, 0, ""))
        if count != number:
            yield f"{row.id}: {count} steps, the last is number {number}"
        elif state != row.state:
            yield f"{row.id} is {row.state}, its history ends with {state or 'nothing'}"
        else:
            yield None


def _journal(transaction: Transaction) -> Iterator[str | None]:
    """The journal, as far back as it is kept, told of every workload's last change."""
    begins = transaction.scalar(select(func.min(zone_journal.c.at)))
    recorded_revisions = {
        row.object_id: row.at
        for row in transaction.rows(
            select(zone_journal.c.object_id, func.max(zone_journal.c.at).label("at"))
            .where(zone_journal.c.kind == "workload")
            .group_by(zone_journal.c.object_id)
        )
    }
    changed = transaction.rows(
        select(transition.c.workload_id, func.max(transition.c.at).label("at")).group_by(
            transition.c.workload_id
        )
    )
    for row in changed:
        last = recorded_revisions.get(row.workload_id)
        behind = row.at > last if last is not None else begins is None or row.at >= begins
        yield f"{row.workload_id} changed after the journal last told of it" if behind else None


_CHECKS: dict[str, Check] = {
    "one live attempt": _live_attempts,
    "attempts numbered": _numbered_attempts,
    "every exit recorded": _exits,
    "no place leaked": _allocations,
    "no device overbooked": _devices,
    "ledger exact": _ledger,
    "history whole": _history,
    "journal complete": _journal,
    "recorded history consistent": history_faults,
}
