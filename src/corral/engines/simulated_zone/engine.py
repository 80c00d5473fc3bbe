"""The engine of a simulated zone. It keeps nothing in memory that matters: every call reads the rows.

So any process drives the zone, at any time, also several of them; and one that is killed loses nothing.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from typing import Concatenate, ParamSpec

from corral.core.refusals import Conflict, Invalid
from corral.engines.interface import Capabilities, Cursor, Inventory, Observation, Start
from corral.engines.reports import LogChunk, Message, Usage
from corral.engines.session_limits import DEFAULT_BOUNDS, Bounds, SessionLimits
from corral.engines.sessions import Session, Terminal
from corral.engines.simulated_zone import inventory, logs, measure, rows, starting, world
from corral.engines.simulated_zone.inventory import Fleet
from corral.engines.simulated_zone.rows import NodeState, ZoneRow
from corral.engines.simulated_zone.tables import DETAIL_LENGTH
from corral.engines.simulated_zone.world import SECOND, RunRow
from corral.store.database import Database, Transaction

P = ParamSpec("P")

NOTHING_TO_ENTER = "This zone is simulated: nothing runs there that could be entered."
NOTHING_TO_REACH = "This zone is simulated: nothing runs there that could be reached."
REMEDY = "Use a zone that runs work on real machines."
FOLLOW_BYTES = 65536
MOST_START_SECONDS = 86_400
# Clocks are set, and machines sleep: an instant that is due is looked for again after this time at most.
LOOK_AGAIN_SECONDS = 5.0


class SimulatedZoneEngine:
    """Implements `Engine`. `description` makes the zone's rows if there are none; else the rows count.

    Nodes change with `rows.write_description`, in every process at once.
    """

    capabilities = Capabilities(messages=False, execute=False, dial=False, workspaces=False)

    def __init__(
        self, database: Database, zone_id: str, description: str, *, bounds: Bounds = DEFAULT_BOUNDS
    ) -> None:
        self._database = database
        self._zone_id = zone_id
        self._description = description
        self._visitors = SessionLimits(bounds)
        self._fleet: tuple[int, Fleet] | None = None
        self._made = False

    @property
    def clock_domain(self) -> str:
        """Names the zone's time, which no host has: instants of two processes are of the same clock."""
        return f"simulated:{self._zone_id}"

    # What is there

    async def inventory(self) -> Inventory:
        await self._make()
        return await self._database.scan(self._inventory)

    async def observe(self, after: Cursor | None = None) -> Observation:
        await self._make()
        if await self._database.scan(lambda transaction: rows.is_due(transaction, self._zone(transaction))):
            await self._database.write(rows.settle, self._zone_id)
        return await self._database.scan(self._observe, after)

    async def wait(self, after: Cursor | None, seconds: float) -> None:
        await self._make()
        await self._until(self._due, seconds, after)

    # What is done

    async def start(self, starts: Sequence[Start]) -> None:
        await self._make()
        await self._database.write(self._start, starts)

    async def signal(self, runs: Iterable[str], grace_seconds: int) -> None:
        await self._change(runs, lambda row, at: world.signalled(row, at, grace_seconds))

    async def kill(self, runs: Iterable[str]) -> None:
        await self._change(runs, world.killed)

    async def forget(self, runs: Iterable[str]) -> None:
        await self._make()
        await self._database.write(rows.forget, self._zone_id, list(runs))

    async def forget_person(self, owner: str) -> None:
        """Nothing is kept for people."""

    async def discard(self, workloads: Iterable[str]) -> None:
        await self._make()
        await self._database.write(rows.discard, self._zone_id, list(workloads))

    async def set_node(self, name: str, state: NodeState) -> None:
        """Makes a node fail, or mends it; a lost one takes its runs with it."""
        await self._make()
        fleet = await self._database.scan(lambda transaction: self._nodes(self._zone(transaction)))
        if name not in fleet.names:
            raise Invalid.field("node", f"There is no node {name}.", "See the nodes: corral node list")
        if state.start_seconds is not None and not 0 <= state.start_seconds <= MOST_START_SECONDS:
            raise Invalid.field(
                "start_seconds", "It is out of bounds.", f"Choose from 0 to {MOST_START_SECONDS} seconds."
            )
        if len(state.refusal or "") > DETAIL_LENGTH:
            raise Invalid.field("refusal", "It is too long.", f"Use at most {DETAIL_LENGTH} characters.")
        await self._database.write(rows.switch_node, self._zone_id, name, state)

    async def node_states(self) -> Mapping[str, NodeState]:
        """Nodes that were switched; the others are as described."""
        await self._make()
        states = await self._database.scan(rows.node_states, self._zone_id)
        return {name: state for name, state in states.items() if state != NodeState()}

    # What runs report

    async def logs(self, run: str, after: int, limit: int) -> LogChunk:
        await self._make()
        if await self._database.read(self._is_line_due, run):
            await self._database.write(rows.settle, self._zone_id)
        return await self._database.read(self._output, run, after, limit)

    async def follow(self, run: str, after: int) -> AsyncIterator[LogChunk]:
        await self._make()
        row = await self._database.read(rows.kept, self._zone_id, run)
        with self._visitors.streams.taken(row.owner):
            while True:
                chunk = await self.logs(run, after, FOLLOW_BYTES)
                if chunk.data:
                    after = chunk.next
                    yield chunk
                if chunk.ended:
                    return
                if not chunk.data:
                    await self._until(self._line_due, float("inf"), run, after)

    async def usage(self, runs: Iterable[str] | None = None) -> Usage:
        await self._make()
        return await self._database.scan(self._usage, None if runs is None else set(runs))

    async def messages(
        self,
        after: Mapping[str, int],  # noqa: ARG002
        limit: int = 1000,  # noqa: ARG002
        runs: Collection[str] | None = None,  # noqa: ARG002
    ) -> tuple[Message, ...]:
        """None: nothing runs that could say something."""
        return ()

    async def execute(
        self,
        run: str,
        command: Sequence[str],  # noqa: ARG002
        terminal: Terminal | None = None,  # noqa: ARG002
    ) -> Session:
        await self._make()
        await self._database.read(rows.kept, self._zone_id, run)
        raise Conflict(NOTHING_TO_ENTER, REMEDY)

    async def dial(self, run: str, port: int) -> socket.socket:  # noqa: ARG002
        await self._make()
        await self._database.read(rows.kept, self._zone_id, run)
        raise Conflict(NOTHING_TO_REACH, REMEDY)

    # How it works

    async def _make(self) -> None:
        """Makes the zone's rows, once."""
        if self._made:
            return
        try:
            await self._database.read(self._zone)
        except rows.UnknownZone:
            await self._database.write(self._make_rows)
        self._made = True

    def _make_rows(self, transaction: Transaction) -> None:
        try:
            self._zone(transaction)
        except rows.UnknownZone:
            rows.write_description(transaction, self._zone_id, self._description)

    def _zone(self, transaction: Transaction) -> ZoneRow:
        return rows.read_zone(transaction, self._zone_id)

    def _nodes(self, zone: ZoneRow) -> Fleet:
        """Kept until the description changes."""
        if self._fleet is None or self._fleet[0] != zone.description_revision:
            self._fleet = zone.description_revision, inventory.parse(zone.description)
        return self._fleet[1]

    def _inventory(self, transaction: Transaction) -> Inventory:
        zone = self._zone(transaction)
        fleet = self._nodes(zone)
        lost = self._lost(transaction)
        nodes = tuple(node for name, node in fleet.nodes.items() if name not in lost)
        facts = {name: facts for name, facts in fleet.facts.items() if name not in lost}
        return Inventory(zone.inventory_revision, nodes, facts)

    def _lost(self, transaction: Transaction) -> set[str]:
        return {name for name, state in rows.node_states(transaction, self._zone_id).items() if state.lost}

    def _observe(self, transaction: Transaction, after: Cursor | None) -> Observation:
        zone = self._zone(transaction)
        cursor = Cursor(zone.epoch, zone.horizon)
        if after is None or not _knows(zone, after):
            there = rows.known(transaction, self._zone_id)
            runs = tuple(world.run_at(row, zone.horizon, self.clock_domain) for row in there)
            return Observation(cursor, True, runs)
        changed = rows.changed(transaction, self._zone_id, after.sequence, zone.horizon)
        found = world.changes(changed, after.sequence, zone.horizon, self.clock_domain)
        return Observation(cursor, False, found)

    def _due(self, transaction: Transaction, after: Cursor | None) -> int | None:
        """How long until `observe(after)` has something to tell."""
        zone = self._zone(transaction)
        if after is None or not _knows(zone, after):
            return 0
        return rows.ahead_us(transaction, zone, rows.next_change(transaction, self._zone_id, after.sequence))

    async def _until(
        self,
        due: Callable[Concatenate[Transaction, P], int | None],
        seconds: float,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Until nothing is left of the microseconds that `due` gives, or the time is over."""
        loop = asyncio.get_running_loop()
        over = loop.time() + seconds
        hinted = asyncio.Event()
        unsubscribe = self._database.hints.subscribe(rows.topic(self._zone_id), hinted.set)
        try:
            while (left := over - loop.time()) > 0:
                hinted.clear()
                ahead_us = await self._database.scan(due, *args, **kwargs)
                if ahead_us == 0:
                    return
                if ahead_us is not None:
                    left = min(left, ahead_us / SECOND)
                try:
                    async with asyncio.timeout(min(left, LOOK_AGAIN_SECONDS)):
                        await hinted.wait()
                except TimeoutError:
                    continue
        finally:
            unsubscribe()

    def _start(self, transaction: Transaction, starts: Sequence[Start]) -> None:
        zone, at = rows.step(transaction, self._zone_id)
        starting.start(transaction, self._zone_id, self._nodes(zone), starts, at)

    async def _change(self, runs: Iterable[str], change: Callable[[RunRow, int], RunRow]) -> None:
        await self._make()
        await self._database.write(self._write_change, list(runs), change)

    def _write_change(
        self, transaction: Transaction, runs: Sequence[str], change: Callable[[RunRow, int], RunRow]
    ) -> None:
        _, at = rows.step(transaction, self._zone_id)
        before = rows.chosen(transaction, self._zone_id, runs)
        after = [change(row, at) for row in before]
        rows.write_ends(
            transaction, self._zone_id, [new for old, new in zip(before, after, strict=True) if new != old]
        )

    def _line_due(self, transaction: Transaction, run: str, after: int) -> int | None:
        """How long until there is output from this offset on."""
        row = rows.kept(transaction, self._zone_id, run)
        return rows.ahead_us(transaction, self._zone(transaction), logs.next_line(row, after))

    def _is_line_due(self, transaction: Transaction, run: str) -> bool:
        """Whether there is a line that can be told only after the horizon has moved."""
        row, horizon = rows.kept(transaction, self._zone_id, run), self._zone(transaction).horizon
        now = rows.microseconds(transaction.now)
        return any(horizon < line.at <= now for line in logs.lines(row))

    def _output(self, transaction: Transaction, run: str, after: int, limit: int) -> LogChunk:
        row = rows.kept(transaction, self._zone_id, run)
        return logs.output(row, self._zone(transaction).horizon, after, limit)

    def _usage(self, transaction: Transaction, chosen: Collection[str] | None) -> Usage:
        zone = self._zone(transaction)
        return measure.usage(
            self._nodes(zone),
            self._lost(transaction),
            rows.known(transaction, self._zone_id),
            chosen,
            rows.retired_cpu_us(transaction, self._zone_id),
            zone.created_at,
            rows.time_of(transaction, zone),
        )


def _knows(zone: ZoneRow, cursor: Cursor) -> bool:
    return cursor.epoch == zone.epoch and cursor.sequence <= zone.horizon
