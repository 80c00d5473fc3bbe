"""Whatever happens in whatever order, the records of an allocation add up to the time it was held."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from corral.store.database import Database, Transaction
from corral.usage import ledger
from corral.usage.clock import microseconds_of
from corral.usage.grants import HeldResource
from corral.usage.tables import usage_allocation, usage_record
from tests.usage.factories import CPU, GPU, HOUR, MINUTE, ZONE, Machine, create_grant

MEMORY: HeldResource = ("memory_mib", "", 1)
Step = tuple[str, int, int, int]
# In minutes and odd microseconds: plain integers would mostly be next to nothing.
spans = st.builds(
    lambda minutes, rest: minutes * MINUTE + rest,
    st.sampled_from([0, 0, 1, 7, 10, 59, 60, 61, 150]),
    st.integers(0, 2),
)
jumps = st.sampled_from([-3000, -61, -1, 1, 45, 60, 100_000]).map(lambda minutes: minutes * MINUTE)


def step(kind: str, first: st.SearchStrategy[int], second: st.SearchStrategy[int]) -> st.SearchStrategy[Step]:
    """Time passes, then it happens."""
    return st.tuples(st.just(kind), spans, first, second)


none, which = st.just(0), st.integers(0, 3)
often = [
    step("grant", st.integers(1, 3), none),
    step("beat", st.integers(0, 15), none),
    step("beat", st.just(-1), none),
    step("close", which, spans),
    step("evict", which, spans),
    step("find dead", which, none),
    step("repeat", none, none),
]
seldom = [step("reboot", none, none), step("set clock", jumps, none), step("crash", none, none)]
steps = st.one_of(*often, *often, *seldom)
cases = st.builds(
    lambda first, rest: [first, *rest],
    step("grant", st.integers(1, 3), none),
    st.lists(steps, min_size=6, max_size=25),
)


class UndoError(Exception):
    """Leaves the database as it was."""


@dataclass
class Held:
    """What must be true of one allocation, on its own boot's clock."""

    boot: int
    opened_us: int
    resources: tuple[HeldResource, ...]
    beat_us: int
    ended_us: int | None = None
    lost_from_us: int | None = None


Call = Callable[[Transaction], object]


@dataclass
class World:
    transaction: Transaction
    machine: Machine = field(default_factory=Machine)
    held: dict[str, Held] = field(default_factory=dict)
    last: Call | None = None
    crash_next: bool = False

    def do(self, step: Step) -> None:
        kind, wait_us, first, second = step
        self.machine.pass_time(wait_us)
        match kind:
            case "set clock":
                self.machine.set_clock(microseconds=first)
            case "reboot":
                self.machine.reboot()
            case "crash":
                self.crash_next = True
            case "repeat" if self.last is not None:
                self.last(self.transaction)
            case "grant":
                self._grant((GPU, CPU, MEMORY)[:first])
            case "beat":
                self._beat(first)
            case "close" | "evict" | "find dead":
                self._end(kind, first, second)

    def _call(self, work: Call) -> bool:
        """Whether it happened: before a crash the transaction is not committed."""
        if self.crash_next:
            self.crash_next = False
            savepoint = self.transaction.connection.begin_nested()
            work(self.transaction)
            savepoint.rollback()
            return False
        work(self.transaction)
        self.last = work
        return True

    def _grant(self, resources: tuple[HeldResource, ...]) -> None:
        grant = create_grant(len(self.held), *resources)
        reading = self.machine.reading()
        if self._call(lambda transaction: ledger.open(transaction, grant, reading)):
            now_us = self.machine.boottime_us
            self.held[grant.allocation_id] = Held(self.machine.boot, now_us, resources, now_us)

    def _beat(self, seen: int) -> None:
        alive = None if seen < 0 else [one for index, one in enumerate(self.held) if seen >> index & 1]
        reading = self.machine.reading()
        if self._call(lambda transaction: ledger.beat(transaction, ZONE, reading, alive)):
            for name, one in self.held.items():
                if (
                    one.ended_us is None
                    and one.boot == self.machine.boot
                    and (alive is None or name in alive)
                ):
                    one.beat_us = self.machine.boottime_us

    def _end(self, kind: str, which: int, ago_us: int) -> None:
        if not self.held:
            return
        name = list(self.held)[which % len(self.held)]
        one = self.held[name]
        now = self.machine.mark()
        released = self.machine.mark(ago_us) if kind == "close" else None if kind == "find dead" else now
        since = one.beat_us - ago_us if kind == "evict" else None
        if not self._call(lambda transaction: ledger.close(transaction, name, released, lost_since_us=since)):
            return
        if one.ended_us is None:
            seen = released is not None and one.boot == self.machine.boot
            one.ended_us = max(one.opened_us, released.boottime_us if released and seen else one.beat_us)
            if since is not None:
                one.lost_from_us = min(max(one.opened_us, since), one.ended_us)

    def check(self) -> None:
        a, r = usage_allocation.c, usage_record.c
        found = {
            row.id: row for row in self.transaction.rows(select(usage_allocation).where(a.zone_id == ZONE))
        }
        assert found.keys() == self.held.keys()
        for name, one in self.held.items():
            row = found[name]
            records = self.transaction.rows(
                select(usage_record).where(r.allocation_id == name).order_by(r.number)
            )
            assert [record.number for record in records] == list(range(row.records))
            start = microseconds_of(row.opened_at)
            for resource, model, amount in one.resources:
                mine = [record for record in records if record.resource == resource]
                assert {(record.model, record.amount) for record in mine} <= {(model, amount)}
                self._check_one(one, start, mine)
            assert len(records) == sum(
                len([record for record in records if record.resource == resource[0]])
                for resource in one.resources
            )

    @staticmethod
    def _check_one(one: Held, start: int, records: list[Any]) -> None:
        """`start` is when it was opened, by the calendar; the rest follows from the boot's clock."""
        expected = dict(_expected(one, start))
        held_us = sum(end - begin for begin, end in expected.values())
        assert sum(record.duration_us for record in records) == held_us
        assert _covered(records) == {
            (outcome, *span) for outcome, span in expected.items() if span[0] < span[1]
        }
        ends = {edge for span in expected.values() for edge in span}
        for record in records:
            for edge in (microseconds_of(record.started_at), microseconds_of(record.ended_at)):
                assert edge % HOUR == 0 or edge in ends


def _expected(one: Held, start: int) -> Iterator[tuple[str, tuple[int, int]]]:
    if one.ended_us is None:
        seen = start + one.beat_us - one.opened_us
        yield "used", (start, max(start, seen - seen % HOUR))
        return
    end = start + one.ended_us - one.opened_us
    lost = end if one.lost_from_us is None else start + one.lost_from_us - one.opened_us
    yield "used", (start, lost)
    yield "lost", (lost, end)


def _covered(records: list[Any]) -> set[tuple[str, int, int]]:
    """The stretches of time that are covered once, per outcome; fails for one covered twice or below zero."""
    covered = set()
    for outcome in ("used", "lost"):
        changes: Counter[int] = Counter()
        for record in records:
            if record.outcome == outcome:
                sign = 1 if record.duration_us > 0 else -1
                changes[microseconds_of(record.started_at)] += sign
                changes[microseconds_of(record.ended_at)] -= sign
        depth, begin = 0, 0
        for at in sorted(edge for edge, change in changes.items() if change):
            if depth == 0:
                begin = at
            depth += changes[at]
            assert depth in (0, 1), (outcome, at, depth)
            if depth == 0:
                covered.add((outcome, begin, at))
    return covered


def run(transaction: Transaction, case: list[Step]) -> None:
    world = World(transaction)
    for step in case:
        world.do(step)
    world.check()
    raise UndoError


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(case=cases)
async def test_records_add_up_to_the_time_held(database: Database, case: list[Step]) -> None:
    with pytest.raises(UndoError):
        await database.write(run, case)
