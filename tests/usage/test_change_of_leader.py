"""Two processes keep one ledger in turns; whoever is killed or frozen at whatever moment, it stays exact."""

import multiprocessing
import os
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import select

from corral.store.database import Transaction
from corral.usage import ledger
from corral.usage.clock import microseconds_of
from corral.usage.soundness import find_faults
from corral.usage.tables import usage_allocation, usage_record
from tests.databases import in_database
from tests.usage.factories import ZONE
from tests.usage.ledger_contender import contend, read_time

ROUNDS = 6
LIMIT_SECONDS = 120
FROZEN_SECONDS = 2.0
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.usage.ledger_contender"])


class Contenders:
    """Both, each with a journal of what it did. A killed one comes back under another name."""

    def __init__(self, url: str, folder: Path, seed: int) -> None:
        self._url = url
        self._folder = folder
        self._random = Random(seed)
        self._count = 0
        self.there: dict[str, Any] = {}

    def add(self) -> str:
        self._count += 1
        name = f"contender-{self._count}"
        arguments = (self._url, str(self._folder / name), name, self._random.randrange(10**9))
        self.there[name] = _processes.Process(target=contend, args=arguments, daemon=True)
        self.there[name].start()
        return name

    def kill(self, name: str) -> None:
        process = self.there.pop(name)
        process.kill()
        process.join()

    def lines(self, name: str | None = None) -> list[list[str]]:
        """Of one journal, or of all of them."""
        paths = sorted(self._folder.iterdir()) if name is None else [self._folder / name]
        return [line.split() for path in paths if path.exists() for line in path.read_text().splitlines()]

    def leader(self) -> str:
        last: dict[str, int] = {}
        for words in self.lines():
            if words[0] == "leads":
                last[words[1]] = int(words[2])
        return max(last, key=lambda name: last[name])

    def wait(self, done: Callable[[], bool]) -> None:
        until = time.monotonic() + LIMIT_SECONDS
        while not done():
            assert time.monotonic() < until
            assert all(one.is_alive() for one in self.there.values())
            time.sleep(0.005)

    def wait_for_steps(self, steps: int) -> None:
        before = len(self.lines())
        self.wait(lambda: len(self.lines()) >= before + steps)


@contextmanager
def contenders(url: str, folder: Path, seed: int) -> Iterator[Contenders]:
    both = Contenders(url, folder, seed)
    both.add()
    both.add()
    try:
        yield both
    finally:
        for name in list(both.there):
            both.kill(name)


def freeze(both: Contenders, name: str) -> None:
    """It wakes up in the middle of what it was doing, and does not know that its time is over.

    One that is frozen inside a transaction has its lock, and nobody else leads: it is let go on then.
    """
    process, until = both.there[name], time.monotonic() + FROZEN_SECONDS
    os.kill(process.pid, signal.SIGSTOP)
    try:
        both.wait(lambda: both.leader() != name or time.monotonic() > until)
    finally:
        os.kill(process.pid, signal.SIGCONT)


def test_every_second_is_recorded_once_whoever_dies(database_url: str, tmp_path: Path) -> None:
    random = Random(database_url)
    with contenders(database_url, tmp_path, random.randrange(10**9)) as both:
        for _ in range(ROUNDS):
            both.wait_for_steps(random.randrange(5, 25))
            time.sleep(random.random() / 100)  # somewhere within a step
            leader = both.leader()
            if leader not in both.there:
                continue
            if random.random() < 0.3:
                freeze(both, leader)
            else:
                both.kill(leader)
                both.add()
        both.wait_for_steps(20)
        journal = both.lines
    in_database(database_url, close_all)
    in_database(database_url, lambda transaction: check(transaction, journal()))


def close_all(transaction: Transaction) -> None:
    reading = read_time()
    for allocation_id in ledger.open_allocations(transaction, ZONE):
        ledger.close(transaction, allocation_id, reading.mark)


def check(transaction: Transaction, journal: list[list[str]]) -> None:
    assert find_faults(transaction) == []
    rows = {row.id: row for row in transaction.rows(select(usage_allocation))}
    meant: dict[tuple[str, str], set[int]] = defaultdict(set)
    for verb, allocation_id, value in journal:
        meant[verb, allocation_id].add(int(value))
    assert {row[1] for row in journal if row[0] == "opened"} <= rows.keys(), "a grant was lost"
    closed_in_time = 0
    for allocation_id, row in rows.items():
        assert row.opened_us in meant["open", allocation_id]
        if certain := meant["closed", allocation_id]:
            assert certain == {row.ended_us}, "an end was recorded twice, or moved"
            closed_in_time += 1
        _check_coverage(transaction, row)
    assert closed_in_time > 3
    total = sum(record.duration_us * record.amount for record in transaction.rows(select(usage_record)))
    held = sum(
        (row.ended_us - row.opened_us) * amount for row in rows.values() for _, _, amount in row.resources
    )
    assert total == held
    assert len({words[2] for words in journal if words[0] == "leads"}) > ROUNDS // 2
    sequences = [
        record.posted_at
        for record in transaction.rows(select(usage_record).order_by(usage_record.c.sequence))
    ]
    assert sequences == sorted(sequences)


def _check_coverage(transaction: Transaction, row: Any) -> None:
    """Every microsecond from the grant to the end is in one record of each resource, and no other is."""
    steps: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for record in transaction.rows(select(usage_record).where(usage_record.c.allocation_id == row.id)):
        sign = 1 if record.duration_us > 0 else -1
        steps[record.resource][microseconds_of(record.started_at)] += sign
        steps[record.resource][microseconds_of(record.ended_at)] -= sign
    if row.opened_us == row.ended_us:
        return
    wanted = {row.opened_us + row.offset_us: 1, row.ended_us + row.offset_us: -1}
    for resource, _, _ in row.resources:
        assert {at: change for at, change in steps[resource].items() if change} == wanted
