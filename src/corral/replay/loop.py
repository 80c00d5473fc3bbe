"""The replay loop: arrivals, observations and timers on virtual time; a cycle when something changed.

It does what the control loops do for a real zone, in the same order: observe, tell the planner what changed,
plan, signal, start. One heap for its own timers, one inside the engine; nothing scans all jobs.
"""

import heapq
import time
from collections.abc import Callable, Sequence
from enum import IntEnum

from corral.core.holds import Claim
from corral.core.plans import Placement, Plan
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.engines.interface import Cursor, Ending, Run, RunPhase, Start
from corral.engines.simulated import Program, SimulatedEngine
from corral.replay.jobs import Cluster, Job
from corral.replay.life import Life, Spot, Stage
from corral.replay.record import Recording
from corral.replay.recorder import Recorder
from corral.replay.settings import Settings
from corral.scheduling.explaining.start_estimates import estimate_starts
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.timing.eviction_holds import EvictionHolds
from corral.scheduling.timing.run_time_history import RunTimeHistory

_LEARNS_EVERY_SECONDS = 3600

Progress = Callable[[int, int], None]


class _Timer(IntEnum):
    OVERDUE = 0
    LEVEL = 1


class Replay:
    """One replay of `jobs` on `cluster`; `run` it once."""

    def __init__(
        self, cluster: Cluster, jobs: Sequence[Job], planner: PlannerState, settings: Settings | None = None
    ) -> None:
        self.settings = settings or Settings()
        self._jobs = sorted(jobs, key=lambda job: (job.arrives, job.name))
        self._next_job = 0
        self.now = self._jobs[0].arrives if self._jobs else 0
        self.planner = planner
        self._lives: dict[str, Life] = {}
        self._runs: dict[str, tuple[Life, str]] = {}
        self._waiting = 0
        self._active = 0
        self._dirty = False
        self._last_cycle = self.now - self.settings.cycle_seconds
        self._timers: list[tuple[int, int, _Timer, Life, int]] = []
        self._timer_count = 0
        self._claims: tuple[Claim, ...] = ()
        self._taken = EvictionHolds()
        self._queues = cluster.queues
        self._run_times = RunTimeHistory()
        self._learnt_at = self.now
        self._arrived: list[str] = []  # since the last cycle
        self._cursor: Cursor | None = None
        self._nodes = {node.name: node for node in cluster.nodes}
        self._present = set(self._nodes)
        self._revision = 1
        self.engine = SimulatedEngine(
            cluster.nodes,
            self._program,
            now=self.now,
            faults=self.settings.faults,
            seed=self.settings.seed,
        )
        self._recorder = Recorder(cluster, jobs, self.now)
        self.recording = self._recorder.recording

    async def run(self, progress: Progress | None = None) -> Recording:
        """Until all work is done, or what is left can never start."""
        told = 0
        while (moment := self._next_moment()) is not None:
            self.now = moment
            self.engine.advance(moment)
            self._ring()
            await self._observe()
            self._arrive()
            if self._waiting and moment >= self._cycle_due():
                await self._cycle()
                # What was refused is told at once.
                await self._observe()
            done = self._next_job - self._waiting - self._active
            if progress is not None and done - told >= 100:
                progress(done, len(self._jobs))
                told = done
        return self._finish()

    # When the next thing happens

    def _next_moment(self) -> int | None:
        arrivals = self._next_job < len(self._jobs)
        if not arrivals and not self._active and (not self._waiting or self._is_hopeless()):
            return None
        moments = []
        if arrivals:
            moments.append(self._jobs[self._next_job].arrives)
        if (change := self.engine.next_change()) is not None:
            moments.append(change)
        if self._timers:
            moments.append(self._timers[0][0])
        # Without a change and with nothing to come, another cycle would say the same.
        if self._waiting and (self._dirty or moments):
            moments.append(max(self.now, self._cycle_due()))
        return min(moments) if moments else None

    def _cycle_due(self) -> int:
        seconds = self.settings.cycle_seconds if self._dirty else self.settings.heartbeat_seconds
        return self._last_cycle + seconds

    def _is_hopeless(self) -> bool:
        """Nothing runs, every node is there, and the last cycle started nothing."""
        return not self._dirty and len(self._present) == len(self._nodes)

    # What happens by itself

    def _arrive(self) -> None:
        jobs = self._jobs
        while self._next_job < len(jobs) and jobs[self._next_job].arrives <= self.now:
            job = jobs[self._next_job]
            self._next_job += 1
            life = self._lives[job.name] = Life(job, job.arrives)
            life.priority = self.settings.levels.priority(job.priority, 0)
            self._arrived.append(job.name)
            self._wait(life)

    def _ring(self) -> None:
        while self._timers and self._timers[0][0] <= self.now:
            _, _, timer, life, attempt = heapq.heappop(self._timers)
            if life.attempt != attempt:
                continue
            if timer is _Timer.OVERDUE and life.stage is Stage.LEAVING:
                for spot in life.spots.values():
                    spot.stuck = True
                    self.recording.stuck_releases += 1
                self._tell(life)
            elif timer is _Timer.LEVEL and life.stage is Stage.RUNNING:
                self._set_level(life)
                self._tell(life)

    async def _observe(self) -> None:
        observed = await self.engine.observe(self._cursor)
        self._cursor = observed.cursor
        touched: dict[str, Life] = {}
        ended = []
        for run in observed.runs:
            found = self._runs.get(run.run)
            if found is None:
                continue
            life, replica = found
            if run.phase is RunPhase.RUNNING:
                self._begin(life, run)
            elif run.phase is RunPhase.ENDED:
                ended.append(run.run)
                del self._runs[run.run]
                touched[life.job.name] = life
                await self._end(life, replica, run)
        if ended:
            await self.engine.forget(ended)
        for life in touched.values():
            self._settle(life)
        await self._count_nodes()

    def _begin(self, life: Life, run: Run) -> None:
        life.working += 1
        if life.stage is Stage.RUNNING and life.working == life.job.replicas:
            life.working_since = run.since
            self._set_level(life)

    async def _end(self, life: Life, replica: str, run: Run) -> None:
        spot = life.spots.pop(replica)
        self._recorder.hold(life.job, spot, run.since, -1)
        if life.stage is not Stage.RUNNING:
            return
        if run.ending in (Ending.SUCCEEDED, Ending.FAILED):
            if life.ended is None:
                life.ended = run.since
                life.lost_seconds += life.resume_seconds
            return
        if run.ending is Ending.REFUSED:
            self.recording.refused_starts += 1
        else:
            self.recording.lost_runs += 1
        await self._suspend(life, saved=False)

    def _settle(self, life: Life) -> None:
        """After an observation: the job is done, waits again, or some of it is still on its way out."""
        if life.spots:
            if life.stage is Stage.LEAVING:
                self._tell(life)
            return
        self._active -= 1
        if life.ended is not None:
            life.stage = Stage.DONE
            self._recorder.record(life)
            job = life.job
            self._run_times.ended([job.queue], self.now, job.work_seconds, job.limit_seconds)
            del self._lives[life.job.name]
            self.planner.drop_workload(life.job.name)
            self._dirty = True
        else:
            self._wait(life)

    async def _count_nodes(self) -> None:
        inventory = await self.engine.inventory()
        if inventory.revision == self._revision:
            return
        self._revision = inventory.revision
        present = {node.name for node in inventory.nodes}
        for name in sorted(self._present ^ present):
            node = self._nodes[name]
            if name in present:
                self.planner.set_node(node)
            else:
                self.planner.drop_node(name)
            self._recorder.count_node(self.now, node, is_there=name in present)
        self._present = present
        self._dirty = True

    # What the plan says

    async def _cycle(self) -> None:
        self._last_cycle = self.now
        self._learn()
        began = time.process_time()
        plan = self.planner.plan(self.now, claims=self._claims, reasons=False)
        self.recording.plan_cpu_seconds += time.process_time() - began
        self.recording.cycles += 1
        self._claims = tuple(Claim(each.workload, each.replica, each.node) for each in plan.promises)
        self._estimate(plan)
        self._keep(plan)
        await self._evict(plan)
        chosen: dict[str, list[Placement]] = {}
        for placement in plan.placements:
            chosen.setdefault(placement.workload, []).append(placement)
        starts = [start for name in chosen for start in self._place(self._lives[name], chosen[name])]
        await self.engine.start(starts)
        # Its own starts give the next cycle nothing to do; what leaves will be observed.
        self._dirty = False

    def _keep(self, plan: Plan) -> None:
        """What was taken for someone is kept until it starts."""
        self._taken.note(plan, self.now)
        queue_of = {each.workload: self._lives[each.workload].job.queue for each in plan.promises}
        self.planner.set_holds(self._taken.holds(queue_of))

    def _learn(self) -> None:
        if self.settings.learns and self.now - self._learnt_at >= _LEARNS_EVERY_SECONDS:
            running: dict[str, list[int]] = {}
            for life in self._lives.values():
                if life.working_since is not None:
                    began = life.working_since - life.done_seconds
                    running.setdefault(life.job.queue, []).append(began)
            self.planner.set_queues(self._run_times.applied_to(self._queues, self.now, running))
            self._learnt_at = self.now

    def _estimate(self, plan: Plan) -> None:
        """Estimates the start of work that has just arrived and does not start now."""
        arrived, self._arrived = self._arrived, []
        if self.settings.estimates:
            placed = {placement.workload for placement in plan.placements}
            waits = [name for name in arrived if name not in placed]
            if waits:
                for name, estimate in estimate_starts(self.planner, self.now, waits).items():
                    self._lives[name].estimate = estimate

    async def _evict(self, plan: Plan) -> None:
        for eviction in plan.evictions:
            life = self._lives[eviction.workload]
            if life.stage is Stage.RUNNING:
                life.evictions += 1
                counts = self.recording.evictions_by
                counts[eviction.rule] = counts.get(eviction.rule, 0) + 1
                await self._suspend(life, saved=self.settings.save_seconds <= self.settings.grace_seconds)

    async def _suspend(self, life: Life, *, saved: bool) -> None:
        """The whole gang goes; it waits again when the last of it has left."""
        life.interrupt(self.now, saved=saved)
        self._set_level(life)
        life.stage = Stage.LEAVING
        self._recorder.want(self.now, life.job, 1)
        await self.engine.signal([spot.run for spot in life.spots.values()], self.settings.grace_seconds)
        self._set_timer(
            self.now + self.settings.grace_seconds + self.settings.overdue_seconds, _Timer.OVERDUE, life
        )
        self._tell(life)

    def _place(self, life: Life, placements: list[Placement]) -> list[Start]:
        job = life.job
        assert (life.stage, len(placements)) == (Stage.WAITING, job.replicas), job.name
        life.attempt += 1
        life.stage = Stage.RUNNING
        life.running_since = self.now
        life.working, life.working_since = 0, None
        life.resume_seconds = self.settings.resume_seconds if life.attempt > 1 else 0
        life.waited_seconds += self.now - life.waiting_since
        if life.first_start is None:
            life.first_start = self.now
        self._waiting -= 1
        self._active += 1
        self._recorder.want(self.now, job, -1)
        starts = []
        for placed in placements:
            run = f"{placed.replica}/{life.attempt}"
            spot = Spot(run, placed.node, placed.devices, self._recorder.milli(placed.node, placed.devices))
            life.spots[placed.replica] = spot
            self._runs[run] = life, placed.replica
            self._recorder.hold(job, spot, self.now, 1)
            starts.append(Start(run, job.name, placed.replica, life.attempt, placed.node, placed.devices))
        self._tell(life)
        return starts

    # Bookkeeping

    def _wait(self, life: Life) -> None:
        if life.attempt == 0:
            self._recorder.want(self.now, life.job, 1)
        life.stage = Stage.WAITING
        self._waiting += 1
        self._tell(life)

    def _tell(self, life: Life) -> None:
        self.planner.set_workload(life.workload())
        self._dirty = True

    def _program(self, start: Start) -> Program:
        life = self._runs[start.run][0]
        settings = self.settings
        return Program(life.remaining_seconds, settings.start_seconds, settings.save_seconds)

    def _set_level(self, life: Life) -> None:
        """What it has held decides its level; a timer rings where the next one begins."""
        levels = self.settings.levels
        if not levels.bounds:
            return
        milli = life.job.gpu_milli
        held = life.done_seconds + life.lost_seconds
        if life.working_since is not None:
            held += self.now - life.working_since
        attained = held * milli // WHOLE_DEVICE_MILLI
        life.priority = levels.priority(life.job.priority, attained)
        bound = levels.next_bound(attained)
        if bound is not None and milli and life.working_since is not None:
            rest = -(-bound * WHOLE_DEVICE_MILLI // milli) - held
            self._set_timer(self.now + rest, _Timer.LEVEL, life)

    def _set_timer(self, at: int, timer: _Timer, life: Life) -> None:
        self._timer_count += 1
        heapq.heappush(self._timers, (at, self._timer_count, timer, life, life.attempt))

    def _finish(self) -> Recording:
        for life in self._lives.values():
            if life.stage is Stage.WAITING:
                life.waited_seconds += self.now - life.waiting_since
            self._recorder.record(life)
        self._recorder.finish(self.now)
        return self.recording
