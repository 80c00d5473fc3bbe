"""What watching costs: `uv run python -m benchmarks.usage`.

Samples of an hour, every ten seconds, of as many series as asked for: stored, rolled up, asked for again.
Beside them, in the same run, the same points in the layout one would think of first: a table in the order
of series and time, written with the plain driver. Then the ledger: grants, heartbeats and ends of as many
allocations as asked for.
"""

import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.report import parser, show
from corral.store.database import Database
from corral.store.migrate import upgrade
from corral.usage import ledger
from corral.usage.clock import Mark, Reading
from corral.usage.grants import Grant
from corral.usage.samples.points import Metric, Point, SeriesKey
from corral.usage.samples.sampler import Samples, open_samples

NINE = 1_794_733_200
HOUR = 3600
PERIOD = 10
SECOND_US = 1_000_000
ZONE = "z01k9x3v7qzt8m2c4w6d0aa"


class SetClock:
    def __init__(self) -> None:
        self.now = NINE

    def __call__(self) -> datetime:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now)


@dataclass
class Cost:
    """CPU and wall seconds, and bytes that were written to the disk."""

    cpu: float = 0.0
    wall: float = 0.0
    written: int = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        before = (time.process_time(), time.perf_counter(), _written())
        yield
        self.cpu += time.process_time() - before[0]
        self.wall += time.perf_counter() - before[1]
        self.written += _written() - before[2]

    def row(self, what: str, things: int, unit: str) -> dict[str, Any]:
        return {
            "what": what,
            "things": things,
            "unit": unit,
            "a second": int(things / self.wall),
            "µs CPU each": self.cpu / things * 1e6,
            "KiB disk each": self.written / things / 1024,
        }


def _written() -> int:
    for line in Path("/proc/self/io").read_text().splitlines():
        if line.startswith("write_bytes:"):
            return int(line.split()[1])
    raise RuntimeError("/proc/self/io does not say what was written")


def main() -> None:
    arguments = parser("usage", "Samples, their roll-ups and the ledger: rows a second, CPU, disk.")
    arguments.add_argument("--series", type=int, default=1000, help="how many are sampled (default: 1000)")
    arguments.add_argument("--allocations", type=int, default=500, help="how many are held (default: 500)")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="corral-usage-", dir=os.environ.get("TMPDIR")) as name:
        folder = Path(name)
        url = f"sqlite:///{folder / 'corral.db'}"
        upgrade(url)
        rows = [_plain(folder / "plain.db", given.series)]
        rows += asyncio.run(_samples(url, given.series))
        rows += asyncio.run(_ledger(url, given.allocations))
    show("usage", rows, given.json)


def _batches(series: int) -> Iterator[tuple[int, list[Point]]]:
    metrics = list(Metric)
    keys = [
        SeriesKey("replica", f"w{number // len(metrics)}-1-0", metrics[number % len(metrics)])
        for number in range(series)
    ]
    for at in range(NINE, NINE + HOUR, PERIOD):
        yield at, [Point(key, at, (at * 7919 + index * 104729) % 100_000) for index, key in enumerate(keys)]


def _plain(path: Path, series: int) -> dict[str, Any]:
    cost = Cost()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-16000"):
            database.execute(f"PRAGMA {pragma}")
        database.execute(
            "CREATE TABLE point (series INTEGER, at INTEGER, value INTEGER, PRIMARY KEY (series, at))"
            " WITHOUT ROWID"
        )
        for at, points in _batches(series):
            rows = [(index, at, point.value) for index, point in enumerate(points)]
            with cost.counted():
                database.execute("BEGIN IMMEDIATE")
                database.executemany("INSERT INTO point VALUES (?, ?, ?)", rows)
                database.execute("COMMIT")
    return cost.row("plain table by series and time", series * HOUR // PERIOD, "point")


async def _samples(url: str, series: int) -> list[dict[str, Any]]:
    clock = SetClock()
    database = Database(url, clock=clock)
    samples = open_samples(database)
    stored, rolled = Cost(), Cost()
    try:
        for at, points in _batches(series):
            clock.now = at
            with stored.counted():
                await samples.store(points)
            if at % 60 == 0:
                with rolled.counted():
                    await _tidy(samples)
        clock.now = NINE + HOUR + 60
        with rolled.counted():
            await _tidy(samples)
        count = series * HOUR // PERIOD
        rows = [stored.row("samples stored", count, "point"), rolled.row("samples rolled up", count, "point")]
        for what, span in (("ten minutes", 600), ("an hour", HOUR), ("a day", 24 * HOUR)):
            rows.append(await _asked(samples, what, clock.now - span, clock.now))
        return rows
    finally:
        await samples.close()
        await database.close()


async def _asked(samples: Samples, what: str, since: int, until: int) -> dict[str, Any]:
    cost, times = Cost(), 20
    for number in range(times):
        with cost.counted():
            await samples.query(
                "replica", f"w{number}-1-0", [Metric.CPU_MILLI], since=since, until=until, points=300
            )
    return cost.row(f"one series asked for, {what}", times, "question")


async def _tidy(samples: Samples) -> None:
    while await samples.tidy():
        pass


async def _ledger(url: str, allocations: int) -> list[dict[str, Any]]:
    database = Database(url)
    at = datetime(2026, 11, 15, 8, 50, tzinfo=UTC)

    def reading(seconds: int) -> Reading:
        return Reading(Mark("boot", seconds * SECOND_US), at + timedelta(seconds=seconds))

    async def beat(seconds: int) -> None:
        await database.write(ledger.beat, ZONE, reading(seconds))

    grants = [_grant(number) for number in range(allocations)]

    async def grant_all() -> None:
        for one in grants:
            await database.write(ledger.open, one, reading(0))

    async def end_all() -> None:
        for one in grants:
            await database.write(ledger.close, one.allocation_id, reading(5400).mark)

    try:
        return [
            await _timed("ledger: granted, a transaction each", allocations, "allocation", grant_all),
            await _timed("ledger: heartbeat of all", allocations, "allocation", lambda: beat(10)),
            await _timed("ledger: heartbeat that cuts an hour", allocations, "allocation", lambda: beat(900)),
            await _timed("ledger: ended, a transaction each", allocations, "allocation", end_all),
        ]
    finally:
        await database.close()


async def _timed(what: str, things: int, unit: str, work: Callable[[], Awaitable[None]]) -> dict[str, Any]:
    cost = Cost()
    with cost.counted():
        await work()
    return cost.row(what, things, unit)


def _grant(number: int) -> Grant:
    return Grant(
        allocation_id=f"w{number:022d}-1-0",
        workload_id=f"w{number:022d}",
        attempt=1,
        replica=0,
        user_id="u01k9x3v7qzt8m2c4w6d0ef",
        organisation_id="o01k9x3v7qzt8m2c4w6d0eg",
        queue_id="q01k9x3v7qzt8m2c4w6d0eh",
        zone_id=ZONE,
        node="machine",
        resources=(("gpu_milli", "H100-80GB", 1000), ("cpu_milli", "", 4000), ("memory_mib", "", 16384)),
        kind="training",
    )


if __name__ == "__main__":
    main()
