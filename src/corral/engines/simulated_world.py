"""A world of nodes and runs on virtual time, with every failure a switch away.

Time stands still until `advance`. Chance is drawn from the seed and the name of the run or node alone, so a
decision of the scheduler does not change the luck of other runs.
"""

import asyncio
import heapq
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from corral.core.nodes import Node
from corral.core.refusals import NotFound
from corral.engines import simulated_reports
from corral.engines.interface import Ending, Inventory, Run, RunPhase, Start
from corral.engines.reports import Message, MessageKind
from corral.engines.session_limits import DEFAULT_BOUNDS, Bounds, SessionLimits

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Program:
    """What a run does: begins after `start_seconds`, works, takes `leave_seconds` to save when told to go.

    Without `work_seconds` it goes on until it is told.
    """

    work_seconds: int | None = None
    start_seconds: int = 0
    leave_seconds: int = 0
    ending: Ending = Ending.SUCCEEDED


@dataclass(frozen=True, slots=True)
class Faults:
    """How often things go wrong, in millionths of runs; and how often each node is lost, on average.

    A slow release holds its devices `slow_release_seconds` longer than the grace; a stuck one until its node
    comes back or someone frees it.
    """

    refused_ppm: int = 0
    slow_release_ppm: int = 0
    slow_release_seconds: int = 600
    stuck_release_ppm: int = 0
    node_lost_every_seconds: int = 0
    node_away_seconds: int = 3600


NO_FAULTS = Faults()


class _Event(IntEnum):
    BEGIN = 0
    FINISH = 1
    LEAVE = 2
    LOSE = 3
    RETURN = 4
    BAD_LUCK = 5


class _Live:
    """A run and the instant of its next event; events of another instant are out of date."""

    __slots__ = ("began", "done", "due", "phase", "program", "since", "slow", "start", "stuck")

    def __init__(self, start: Start, program: Program, now: int) -> None:
        self.start = start
        self.program = program
        self.phase = RunPhase.STARTING
        self.since = now
        self.began: int | None = None
        self.due: int | None = None
        self.stuck = False
        self.slow = False
        self.done = False


class World:
    """Nodes, devices and runs, and what becomes of them while time is moved on.

    `now` counts `ticks_per_second`: 1,000,000 speaks of instants as engines on real time do.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        program_of: Callable[[Start], Program],
        *,
        now: int = 0,
        faults: Faults = NO_FAULTS,
        seed: int = 0,
        epoch: str = "simulated",
        ticks_per_second: int = 1,
        bounds: Bounds = DEFAULT_BOUNDS,
    ) -> None:
        self.now = now
        self._second = ticks_per_second
        self._program_of = program_of
        self._faults = faults
        self._seed = seed
        self._epoch = epoch
        self._nodes = {node.name: node for node in nodes}
        self._present = set(self._nodes)
        self._inventory = Inventory(1, tuple(self._nodes.values()))
        self._memory = {
            (node.name, device.id): device.memory_mib
            for node in self._nodes.values()
            for device in node.devices
        }
        self._used: dict[tuple[str, str], int] = {}
        self._live: dict[str, _Live] = {}
        self._on_node: dict[str, dict[str, None]] = {name: {} for name in self._nodes}
        self._ended: dict[str, Run] = {}
        self._forgotten: dict[str, Run | None] = {}
        self._runs_of: dict[str, list[str]] = {}
        self._owners: dict[str, str] = {}
        self._visitors = SessionLimits(bounds)
        self._refusals: dict[str, str] = {}
        self._changes: list[Run] = []
        self._dropped = 0  # changes that were confirmed and are no longer kept
        self._events: list[tuple[int, int, _Event, str]] = []
        self._event_count = 0
        self._messages: dict[str, list[Message]] = {}
        self._waiting: set[asyncio.Event] = set()
        if faults.node_lost_every_seconds:
            for name in sorted(self._nodes):
                self._draw_loss(name, now)

    # Virtual time

    def next_change(self) -> int | None:
        """The instant of the next thing that happens by itself."""
        while self._events and self._out_of_date(self._events[0]):
            heapq.heappop(self._events)
        return self._events[0][0] if self._events else None

    def advance(self, to: int) -> None:
        """Lets everything happen that is due until `to`, in order."""
        while (due := self.next_change()) is not None and due <= to:
            _, _, event, name = heapq.heappop(self._events)
            self.now = max(self.now, due)
            self._happen(event, name)
        self.now = max(self.now, to)
        self._wake()

    # Switches

    def refuse(self, run: str, because: str) -> None:
        """The start of this run will be refused."""
        self._refusals[run] = because

    def restart(self, epoch: str) -> None:
        """The engine begins again: work goes on, but what was told before is not known."""
        self._epoch = epoch
        self._changes.clear()
        self._dropped = 0
        self._wake()

    def say(self, run: str, kind: MessageKind, body: Mapping[str, object] | None = None) -> None:
        """The run says something through its socket."""
        messages = self._messages.setdefault(run, [])
        messages.append(Message(run, len(messages) + 1, kind, self.now, dict(body or {})))
        if kind is MessageKind.DONE:
            self._live[run].done = True

    def free(self, run: str) -> None:
        """Someone removed a run that was stuck."""
        live = self._live.get(run)
        if live is not None and live.stuck:
            self._end(live, Ending.SUSPENDED, "freed")

    def lose(self, node: str) -> None:
        """The node is gone, with all that ran on it."""
        if node not in self._present:
            return
        self._present.remove(node)
        self._list_nodes()
        for name in list(self._on_node[node]):
            self._end(self._live[name], Ending.LOST, f"{node} was lost")

    def lose_between(self, node: str, at: int, back: int) -> None:
        """The node will be lost, and be there again later."""
        self._push(at, _Event.LOSE, node)
        self._push(back, _Event.RETURN, node)

    def join(self, node: Node) -> None:
        """A node that was not there before, or one that is there as it is now."""
        self._nodes[node.name] = node
        self._present.add(node.name)
        self._on_node.setdefault(node.name, {})
        self._memory |= {(node.name, device.id): device.memory_mib for device in node.devices}
        self._list_nodes()

    def bring_back(self, node: str) -> None:
        """The node is there again, empty."""
        if node not in self._present:
            self._present.add(node)
            self._list_nodes()

    # How it works

    def _begin(self, start: Start) -> None:
        self._runs_of.setdefault(start.workload, []).append(start.run)
        self._owners[start.run] = "" if start.task is None else start.task.owner
        live = _Live(start, self._program_of(start), self.now)
        refused = self._refusal(start)
        if refused is not None:
            self._tell_end(live, Ending.REFUSED, refused)
            return
        self._live[start.run] = live
        self._on_node[start.node][start.run] = None
        self._hold(start, 1)
        self._tell(live)
        self._expect(live, self._in(live.program.start_seconds), _Event.BEGIN)

    def _leave_now(self, live: _Live) -> None:
        self._expect(live, self.now, _Event.LEAVE)

    def _happen(self, event: _Event, name: str) -> None:
        if event is _Event.LOSE:
            self.lose(name)
        elif event is _Event.RETURN:
            self.bring_back(name)
        elif event is _Event.BAD_LUCK:
            back = self._in(self._faults.node_away_seconds)
            self.lose_between(name, self.now, back)
            self._draw_loss(name, back)
        else:
            self._go_on(self._live[name], event)

    def _go_on(self, live: _Live, event: _Event) -> None:
        if event is _Event.BEGIN:
            live.phase, live.since, live.began = RunPhase.RUNNING, self.now, self.now
            self._tell(live)
            work = live.program.work_seconds
            self._expect(live, None if work is None else self._in(work), _Event.FINISH)
        elif event is _Event.FINISH:
            self._end(live, live.program.ending)
        else:
            self._end(live, Ending.SUCCEEDED if live.done else Ending.SUSPENDED)

    def _tell_to_go(self, live: _Live, grace_seconds: int) -> None:
        # What has not begun has nothing to save.
        began = live.phase is RunPhase.RUNNING
        seconds = min(grace_seconds, live.program.leave_seconds) if began else 0
        live.phase, live.since = RunPhase.LEAVING, self.now
        self._tell(live)
        name = live.start.run
        if self._drawn(name, "stuck", self._faults.stuck_release_ppm):
            live.stuck = True
        elif self._drawn(name, "slow", self._faults.slow_release_ppm):
            live.slow = True
            seconds = grace_seconds + self._faults.slow_release_seconds
        self._expect(live, None if live.stuck else self._in(seconds), _Event.LEAVE)

    def _refusal(self, start: Start) -> str | None:
        if start.run in self._refusals:
            return self._refusals.pop(start.run)
        if start.node not in self._present:
            return f"there is no node {start.node}"
        for use in start.devices:
            key = start.node, use.device
            memory = self._memory.get(key)
            if memory is None:
                return f"{start.node} has no device {use.device}"
            if self._used.get(key, 0) + (memory if use.memory_mib is None else use.memory_mib) > memory:
                return f"device {use.device} of {start.node} is in use"
        if self._drawn(start.run, "refused", self._faults.refused_ppm):
            return "the node could not start it"
        return None

    def _hold(self, start: Start, sign: int) -> None:
        for use in start.devices:
            key = start.node, use.device
            mib = self._memory[key] if use.memory_mib is None else use.memory_mib
            self._used[key] = self._used.get(key, 0) + sign * mib

    def _use_of_devices(self, start: Start) -> dict[str, int]:
        if not start.devices:
            return {}
        whole = [self._memory[start.node, use.device] for use in start.devices]
        sizes = [use.memory_mib for use in start.devices]
        memory = sum(all_of_it if mib is None else mib for mib, all_of_it in zip(sizes, whole, strict=True))
        return {"gpu_memory_mib": memory, "gpu_busy_percent": 0}

    def _end(self, live: _Live, ending: Ending, detail: str = "") -> None:
        del self._live[live.start.run]
        del self._on_node[live.start.node][live.start.run]
        self._hold(live.start, -1)
        self._tell_end(live, ending, detail)

    def _tell_end(self, live: _Live, ending: Ending, detail: str) -> None:
        code = {Ending.SUCCEEDED: 0, Ending.FAILED: 1}.get(ending)
        run = Run(
            live.start.run,
            live.start.node,
            RunPhase.ENDED,
            self.now,
            ending,
            detail,
            exit_code=code,
            said_done=live.done,
            started=live.began,
            ended=self.now,
            usage=simulated_reports.counters(live.start.task, live.began, self.now, self._second),
        )
        self._ended[run.run] = run
        self._changes.append(run)
        self._wake()

    def _tell(self, live: _Live) -> None:
        self._changes.append(self._run(live))
        self._wake()

    def _wake(self) -> None:
        for moved in self._waiting:
            moved.set()

    @staticmethod
    def _run(live: _Live) -> Run:
        ready_since = live.began if live.phase is RunPhase.RUNNING else None
        return Run(
            live.start.run,
            live.start.node,
            live.phase,
            live.since,
            started=live.began,
            ready_since=ready_since,
        )

    def _find(self, run: str) -> Run:
        if run in self._live:
            return self._run(self._live[run])
        if run in self._ended:
            return self._ended[run]
        raise NotFound(f"There is no run {run} here.", "See what is running: corral ps")

    def _in(self, seconds: int) -> int:
        return self.now + seconds * self._second

    def _list_nodes(self) -> None:
        nodes = tuple(node for name, node in self._nodes.items() if name in self._present)
        self._inventory = Inventory(self._inventory.revision + 1, nodes)

    def _expect(self, live: _Live, due: int | None, event: _Event) -> None:
        live.due = due
        if due is not None:
            self._push(due, event, live.start.run)

    def _push(self, due: int, event: _Event, name: str) -> None:
        self._event_count += 1
        heapq.heappush(self._events, (due, self._event_count, event, name))

    def _out_of_date(self, entry: tuple[int, int, _Event, str]) -> bool:
        due, _, event, name = entry
        if event >= _Event.LOSE:
            return False
        live = self._live.get(name)
        if live is None or live.due != due:
            return True
        return (event is _Event.LEAVE) != (live.phase is RunPhase.LEAVING)

    def _drawn(self, name: str, what: str, ppm: int) -> bool:
        return ppm > 0 and self._luck(name, what).randrange(_MILLION) < ppm

    def _draw_loss(self, node: str, after: int) -> None:
        luck = self._luck(node, f"loss after {after}")
        seconds = luck.expovariate(1 / self._faults.node_lost_every_seconds)
        self._push(after + max(1, round(seconds)) * self._second, _Event.BAD_LUCK, node)

    def _luck(self, name: str, what: str) -> random.Random:
        return random.Random(f"{self._seed}/{what}/{name}")  # noqa: S311 - a simulation, no secret
