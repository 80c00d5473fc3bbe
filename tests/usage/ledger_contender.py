"""A process that keeps the ledger while it leads, and writes down beforehand what it is about to do.

Several of them contend for the leadership of one database. Their clock is that of a zone on no machine: the
same in all of them, and so fast that hours pass.
"""

import asyncio
import os
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from corral.store import leadership
from corral.store.database import Database, Transaction
from corral.store.leadership import Leadership, LeadershipLost
from corral.usage import ledger
from corral.usage.clock import Mark, Reading
from tests.usage.factories import CPU, GPU, ZONE, create_grant

LOOP = f"meter/{ZONE}"
LEADERSHIP = timedelta(seconds=0.4)
SPEED = 3600
MOST_OPEN = 6
_BASE = datetime(2026, 1, 1, tzinfo=UTC)


def read_time() -> Reading:
    boottime_us = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000 * SPEED
    return Reading(Mark("a-zone", boottime_us), _BASE + timedelta(microseconds=boottime_us))


def contend(url: str, journal: str, name: str, seed: int) -> None:
    asyncio.run(_Contender(url, Path(journal), name, seed).run())


class _Contender:
    def __init__(self, url: str, journal: Path, name: str, seed: int) -> None:
        self._database = Database(url)
        self._journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._name = name
        self._random = Random(seed)

    def _note(self, *words: object) -> None:
        """One write, so that a kill cannot leave half of a line."""
        os.write(self._journal, (" ".join(map(str, words)) + "\n").encode())

    async def run(self) -> None:
        while True:
            held = await self._database.write(leadership.acquire, LOOP, self._name, LEADERSHIP)
            if held is None:
                await asyncio.sleep(0.02)
                continue
            self._note("leads", self._name, held.epoch)
            try:
                while True:
                    await self._step(held)
            except LeadershipLost:
                self._note("lost", self._name, held.epoch)

    async def _step(self, held: Leadership) -> None:
        there = sorted(await self._database.read(ledger.open_allocations, ZONE))
        reading = read_time()
        roll = self._random.random()
        if not there or (roll < 0.25 and len(there) < MOST_OPEN):
            workload = f"w{uuid.uuid4().hex[:22]}"
            self._note("open", f"{workload}-1-0", reading.mark.boottime_us)
            await self._database.write(_open, held, workload, reading)
            self._note("opened", f"{workload}-1-0", reading.mark.boottime_us)
        elif roll < 0.45:
            ended = self._random.choice(there)
            self._note("close", ended, reading.mark.boottime_us)
            await self._database.write(_close, held, ended, reading)
            self._note("closed", ended, reading.mark.boottime_us)
        else:
            await self._database.write(_beat, held, reading)
            self._note("beat", self._name, reading.mark.boottime_us)


def _open(transaction: Transaction, held: Leadership, workload: str, reading: Reading) -> None:
    leadership.renew(transaction, held, LEADERSHIP)
    assert ledger.open(transaction, create_grant(1, GPU, CPU, workload_id=workload), reading)


def _close(transaction: Transaction, held: Leadership, allocation_id: str, reading: Reading) -> None:
    leadership.renew(transaction, held, LEADERSHIP)
    assert ledger.close(transaction, allocation_id, reading.mark)


def _beat(transaction: Transaction, held: Leadership, reading: Reading) -> None:
    leadership.renew(transaction, held, LEADERSHIP)
    ledger.beat(transaction, ZONE, reading)
