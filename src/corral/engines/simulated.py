"""The simulated engine: nodes, devices and runs on virtual time.

What happens, and when, is in `simulated_world`. Nothing is computed: the output of a run says so, and there
is nothing to reach into.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from corral.core.refusals import Conflict
from corral.engines import simulated_reports
from corral.engines.interface import Capabilities, Cursor, Inventory, Observation, RunPhase, Start
from corral.engines.reports import Counters, LogChunk, Message, Usage
from corral.engines.sessions import Session, Terminal
from corral.engines.simulated_world import NO_FAULTS, Faults, Program, World

__all__ = ["NO_FAULTS", "Faults", "Program", "SimulatedEngine"]


class SimulatedEngine(World):
    """Implements `Engine`; `advance` and the switches are the world's own."""

    capabilities = Capabilities(execute=False, dial=False, workspaces=False)
    clock_domain = None

    async def inventory(self) -> Inventory:
        return self._inventory

    async def observe(self, after: Cursor | None = None) -> Observation:
        newest = self._dropped + len(self._changes)
        cursor = Cursor(self._epoch, newest)
        is_current = (
            after is not None and after.epoch == self._epoch and self._dropped <= after.sequence <= newest
        )
        if after is None or not is_current:
            runs = [self._run(live) for live in self._live.values()]
            return Observation(cursor, True, (*runs, *self._ended.values()))
        del self._changes[: after.sequence - self._dropped]
        self._dropped = after.sequence
        return Observation(cursor, False, tuple(self._changes))

    async def start(self, starts: Sequence[Start]) -> None:
        for start in starts:
            if start.run in self._live or start.run in self._ended or start.run in self._forgotten:
                continue
            self._begin(start)

    async def signal(self, runs: Iterable[str], grace_seconds: int) -> None:
        for name in runs:
            live = self._live.get(name)
            if live is not None and live.phase is not RunPhase.LEAVING:
                self._tell_to_go(live, grace_seconds)

    async def kill(self, runs: Iterable[str]) -> None:
        for name in runs:
            live = self._live.get(name)
            if live is None:
                continue
            if live.phase is not RunPhase.LEAVING:
                self._tell_to_go(live, 0)
            elif not live.stuck and not live.slow:
                self._leave_now(live)

    async def forget(self, runs: Iterable[str]) -> None:
        for name in runs:
            if (ended := self._ended.pop(name, None)) is not None:
                self._forgotten[name] = ended
                self._messages.pop(name, None)

    async def forget_person(self, owner: str) -> None:
        """Nothing is kept for people."""

    async def discard(self, workloads: Iterable[str]) -> None:
        for workload in workloads:
            runs = self._runs_of.get(workload, [])
            if not any(run in self._live or run in self._ended for run in runs):
                self._forgotten.update(dict.fromkeys(runs))

    async def wait(self, after: Cursor | None, seconds: float) -> None:
        """The seconds are virtual too: it returns with the news or when `advance` has come that far."""
        until = self.now + seconds * self._second
        moved = asyncio.Event()
        self._waiting.add(moved)
        try:
            while self.now < until and after == Cursor(self._epoch, self._dropped + len(self._changes)):
                await moved.wait()
                moved.clear()
        finally:
            self._waiting.remove(moved)

    async def logs(self, run: str, after: int, limit: int) -> LogChunk:
        return simulated_reports.output(self._forgotten.get(run) or self._find(run), after, limit)

    async def follow(self, run: str, after: int) -> AsyncIterator[LogChunk]:
        with self._visitors.streams.taken(self._owners.get(run, "")):
            while True:
                cursor = Cursor(self._epoch, self._dropped + len(self._changes))
                chunk = await self.logs(run, after, simulated_reports.MOST_OUTPUT)
                if chunk.data:
                    after = chunk.next
                    yield chunk
                if chunk.ended:
                    return
                await self.wait(cursor, simulated_reports.FOREVER)

    async def usage(self, runs: Iterable[str] | None = None) -> Usage:
        names = [*self._live, *self._ended] if runs is None else runs
        counters: dict[str, Counters] = {}
        for name in names:
            if live := self._live.get(name):
                used = simulated_reports.counters(live.start.task, live.began, self.now, self._second)
                counters[name] = replace(used, **self._use_of_devices(live.start))
            elif name in self._ended:
                counters[name] = self._ended[name].usage or Counters()
        nodes = [self._nodes[name] for name in sorted(self._present)]
        return simulated_reports.usage(self.now, self._second, counters, nodes, self._used)

    async def messages(
        self, after: Mapping[str, int], limit: int = 1000, runs: Collection[str] | None = None
    ) -> tuple[Message, ...]:
        names = self._messages if runs is None else runs
        messages = [message for name in names for message in self._messages.get(name, ())]
        return tuple(message for message in messages if message.number > after.get(message.run, 0))[:limit]

    async def execute(
        self,
        run: str,
        command: Sequence[str],  # noqa: ARG002
        terminal: Terminal | None = None,  # noqa: ARG002
    ) -> Session:
        self._find(run)
        raise Conflict(
            "Simulated runs have nothing to execute in.", "Use a zone that runs work on real machines."
        )

    async def dial(self, run: str, port: int) -> socket.socket:  # noqa: ARG002
        self._find(run)
        raise Conflict("Nothing listens in a simulated run.", "Use a zone that runs work on real machines.")
