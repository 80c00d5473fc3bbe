"""The local engine: starts supervisors, follows them, and finds them again after a restart."""

import asyncio
import contextlib
import platform
import socket
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from corral.core.failures import in_words
from corral.core.refusals import Conflict
from corral.core.steps import Step
from corral.engines.contents import ContentStore, NoContents
from corral.engines.interface import (
    Capabilities,
    Cursor,
    Foreign,
    Inventory,
    Observation,
    RunPhase,
    Start,
    Trouble,
)
from corral.engines.local.attempts import adoption, commands, run_states, usage_sampler
from corral.engines.local.attempts.attempt import TrackedAttempt
from corral.engines.local.attempts.exec_client import LocalSession
from corral.engines.local.attempts.outputs import find_output, read_fairly
from corral.engines.local.attempts.registry import RunRegistry
from corral.engines.local.context import EngineContext, Settings, open_context
from corral.engines.local.files.quotas import HOMES, WORKSPACES
from corral.engines.local.files.tree_remover import Remover
from corral.engines.local.files.user_ids import FIRST_UID, TooManyUsers
from corral.engines.local.files.workspaces import BadUpload
from corral.engines.local.launching import attempt_start
from corral.engines.local.launching.forkserver_client import ForkserverClient
from corral.engines.local.launching.intent import attempt_of, find_refusal
from corral.engines.local.launching.start_slots import StartSlots
from corral.engines.local.sandbox.bubblewrap import Mode
from corral.engines.reports import Counters, LogChunk, Message, Usage
from corral.engines.session_limits import DEFAULT_BOUNDS, Bounds, SessionLimits
from corral.engines.sessions import Session, Terminal

STARTS_AT_A_TIME = 4
STARTS_OF_A_PERSON = 2
FOLLOW_BYTES = 65536
_FOLLOW_PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.4)


class LocalEngine:
    """Implements `Engine` for this machine.

    `trusted` is for one person's own work on their own machine: it also runs without a sandbox or limits, and
    every run says so. `allowed` are private networks and names that work may reach; the public ones it may
    reach anyway. `disk_look_seconds` is how often the disk is looked at, `home_mib` how much a home may hold
    (0: anything), `workspace_files`, `person_mib` and `person_files` what workspaces may, one of them and all
    of a person's together, `bounds` how many may look into one person's work, `contents` finds
    uploads by their digest. Work outlives this object: `close` leaves it alone.
    """

    capabilities = Capabilities()
    clock_domain = None

    def __init__(
        self,
        data: Path,
        runtime: Path,
        *,
        node: str | None = None,
        simulated_gpus: str | None = None,
        trusted: bool = False,
        first_uid: int = FIRST_UID,
        allowed: Sequence[str] = (),
        disk_look_seconds: float = 10,
        home_mib: int = 0,
        workspace_files: int = 0,
        person_mib: int = 0,
        person_files: int = 0,
        bounds: Bounds = DEFAULT_BOUNDS,
        contents: ContentStore | None = None,
        python: str | None = None,
    ) -> None:
        name = node or platform.node() or "local"
        self._settings = Settings(
            data,
            runtime,
            name,
            simulated_gpus,
            trusted,
            first_uid,
            tuple(allowed),
            disk_look_seconds,
            home_mib,
            workspace_files,
            person_mib,
            person_files,
        )
        self._contents = contents or NoContents()
        self._forkserver = ForkserverClient(python)
        self._registry = RunRegistry()
        self._log = self._registry.log
        self._session_limits = SessionLimits(bounds)
        self._foreign: tuple[Foreign, ...] = ()
        self._opening = asyncio.Lock()
        self._starts = StartSlots(STARTS_AT_A_TIME, STARTS_OF_A_PERSON)
        self._first_heard = 0
        self._remover = Remover()
        self._context: EngineContext | None = None

    async def close(self) -> None:
        """Lets go of everything; supervisors and their work live on."""
        for attempt in self._registry.here.values():
            await attempt.close()
        await asyncio.to_thread(self._forkserver.close)
        if self._context is not None and not self._registry.here:
            self._context.cgroup_roots.remove()

    async def inventory(self) -> Inventory:
        return (await self._open()).inventory

    async def observe(self, after: Cursor | None = None) -> Observation:
        context = await self._open()
        observed = self._log.observe(after, self._foreign, self._troubles(context))
        if not observed.complete:
            return observed
        replicas = {name: len(attempt.spec.replicas) for name, attempt in self._registry.here.items()}
        self._foreign = await asyncio.to_thread(adoption.find_foreign, context, replicas)
        return self._log.observe(None, self._foreign, self._troubles(context))

    async def wait(self, after: Cursor | None, seconds: float) -> None:
        await self._open()
        await self._log.wait(after, seconds)

    async def start(self, starts: Sequence[Start]) -> None:
        context = await self._open()
        groups: dict[str, list[Start]] = {}
        for start in {start.run: start for start in starts}.values():
            groups.setdefault(attempt_of(start), []).append(start)
        for name, group in groups.items():
            self._registry.check_whole(name, group)
        # In order: of two that want the same device the first has it.
        fresh = [
            self._accept(context, name, group)
            for name, group in groups.items()
            if self._registry.is_new(name)
        ]
        await asyncio.gather(*(self._carry_out(context, *accepted) for accepted in fresh))

    async def signal(self, runs: Iterable[str], grace_seconds: int) -> None:
        await self._command(runs, "signal", grace_seconds=grace_seconds)

    async def kill(self, runs: Iterable[str]) -> None:
        await self._command(runs, "kill")

    async def forget(self, runs: Iterable[str]) -> None:
        context = await self._open()
        for run in runs:
            recorded = self._log.get(run)
            if recorded is None or recorded.phase is not RunPhase.ENDED:
                continue
            name, index = self._registry.place(run)
            attempt = self._registry.here[name]
            was_last = await asyncio.to_thread(context.attempt_store.forget, attempt.spec, index)
            attempt.forgotten.add(index)
            self._log.forget(run)
            if was_last:
                await attempt.close()
                self._registry.leave(name)

    async def discard(self, workloads: Iterable[str]) -> None:
        context = await self._open()
        live = self._registry.workloads()
        for workload in workloads:
            if workload not in live:
                self._registry.discard(await self._remove(context, workload))

    async def forget_person(self, owner: str) -> None:
        context = await self._open()
        if any(attempt.spec.owner == owner for attempt in self._registry.here.values()):
            raise Conflict("Work of this person is still there.", "Try again when it is gone.")
        home = context.workspaces.home(owner)
        await self._remover.remove(home.parent, home.name)
        await asyncio.to_thread(context.disk_quotas.forget, HOMES, owner)
        await asyncio.to_thread(context.workspaces.forget_person, owner)

    async def logs(self, run: str, after: int, limit: int) -> LogChunk:
        context = await self._open()
        name, index = self._registry.place(run)
        places = (context.attempt_store.run / name, context.attempt_store.gone / name)
        return await asyncio.to_thread(find_output, places, index, after, limit)

    async def follow(self, run: str, after: int) -> AsyncIterator[LogChunk]:
        await self._open()
        with self._session_limits.streams.taken(self._registry.owner(run)):
            quiet = 0
            while True:
                chunk = await self.logs(run, after, FOLLOW_BYTES)
                if chunk.next > after:
                    after, quiet = chunk.next, 0
                    yield chunk
                if chunk.ended:
                    return
                if not chunk.data:
                    await asyncio.sleep(_FOLLOW_PAUSES_SECONDS[min(quiet, len(_FOLLOW_PAUSES_SECONDS) - 1)])
                    quiet += 1

    async def usage(self, runs: Iterable[str] | None = None) -> Usage:
        context = await self._open()
        ended: dict[str, Counters] = {}
        live: dict[str, usage_sampler.Live] = {}
        for run in list(self._registry.recorded_runs() if runs is None else runs):
            if (place := self._registry.live(run)) is not None:
                attempt, index = place
                with contextlib.suppress(OSError):  # a full disk: the next sample has it
                    attempt.dials.write_down()
                live[run] = usage_sampler.Live(attempt.group(index), attempt.spec, index, attempt.directory)
            elif (recorded := self._log.get(run)) is not None:
                ended[run] = recorded.usage or Counters()
        allocated_mib = self._registry.allocated_mib(context.host.hardware)
        usage, went = await asyncio.to_thread(usage_sampler.everything, context, ended, live, allocated_mib)
        self._registry.note(Step.MEASURE, went)
        return usage

    async def messages(
        self, after: Mapping[str, int], limit: int = 1000, runs: Collection[str] | None = None
    ) -> tuple[Message, ...]:
        context = await self._open()
        chosen = [run for run in self._registry.recorded_runs() if runs is None or run in runs]
        places = [(run, *self._registry.place(run)) for run in chosen]
        # Another begins each time: who comes late in the order is not always the one for whom none are left.
        self._first_heard = (self._first_heard + 1) % max(1, len(places))
        places = places[self._first_heard :] + places[: self._first_heard]
        messages, went = await asyncio.to_thread(
            read_fairly, context.attempt_store.directory, places, after, limit
        )
        self._registry.note(Step.OUTPUT, went)
        return messages

    async def execute(self, run: str, command: Sequence[str], terminal: Terminal | None = None) -> Session:
        await self._open()
        with ExitStack() as stack:
            stack.enter_context(self._session_limits.sessions.taken(self._registry.owner(run)))
            size = None if terminal is None else terminal._asdict()
            place = self._registry.live(run)
            descriptors = await commands.open_session(
                run, place, "execute", command=list(command), terminal=size
            )
            return LocalSession(descriptors, stack.pop_all().close)

    async def dial(self, run: str, port: int) -> socket.socket:
        await self._open()
        with ExitStack() as stack:
            stack.enter_context(self._session_limits.dials.taken(self._registry.owner(run)))
            place = self._registry.live(run)
            descriptors = await commands.open_session(run, place, "dial", port=port)
            assert place is not None
            return place[0].dials.add(descriptors[0], stack.pop_all().close)

    # How it works

    async def _open(self) -> EngineContext:
        """Looks at the machine and at what runs already, once."""
        async with self._opening:
            if self._context is not None:
                return self._context
            context = await asyncio.to_thread(open_context, self._settings, self._contents)
            found = await asyncio.to_thread(adoption.find_attempts, context)
            self._registry.add_gone(found.gone, found.tombstones)
            for spec in found.here:
                attempt = TrackedAttempt(spec, context.attempt_store.directory(spec.attempt), self._log)
                attempt.forgotten |= found.forgotten[spec.attempt]
                self._registry.add(attempt)
                attempt.record_starting()
                attempt.follow()
            await asyncio.gather(*(attempt.first_report() for attempt in self._registry.here.values()))
            self._context = context
            return context

    def _troubles(self, context: EngineContext) -> tuple[Trouble, ...]:
        """Of single workloads, and what keeps everybody from starting."""
        problem = context.people.problem() if context.host.mode == Mode.ROOT else None
        everybody = () if problem is None else (Trouble(Step.START, problem),)
        return (*everybody, *self._registry.troubles())

    async def _remove(self, context: EngineContext, workload: str) -> set[str]:
        """Workspace and output of a workload; returns its attempts."""
        specs = await asyncio.to_thread(adoption.find_discarded, context, workload)
        for name in {Path(spec.workspace).name for spec in specs if context.is_workspace(spec.workspace)}:
            await self._remover.remove(context.workspaces.root, name)
            await asyncio.to_thread(context.runtimes.remove, name)
            await asyncio.to_thread(context.disk_quotas.forget, WORKSPACES, name)
            for spec in specs:
                await asyncio.to_thread(context.workspaces.forget_count, spec.owner, name)
        await asyncio.to_thread(context.crash_guard.forget, workload)
        for spec in specs:
            await asyncio.to_thread(context.attempt_store.discard, spec.attempt)
        return {spec.attempt for spec in specs}

    def _accept(
        self, context: EngineContext, name: str, starts: Sequence[Start]
    ) -> tuple[TrackedAttempt, Sequence[Start], str | None]:
        """From here on it is attempt, and what it holds is held."""
        refusal = find_refusal(starts, context.host, self._registry.allocated_mib(context.host.hardware))
        try:
            spec = attempt_start.describe(context, starts, refused=refusal is not None)
        except (BadUpload, TooManyUsers) as error:
            refusal = str(error)
            spec = attempt_start.describe(context, starts, refused=True)
        attempt = TrackedAttempt(spec, context.attempt_store.directory(name), self._log)
        self._registry.add(attempt)
        attempt.record_starting()
        if refusal is not None:
            self._record_refused(attempt, refusal)
        return attempt, starts, refusal

    async def _carry_out(
        self, context: EngineContext, attempt: TrackedAttempt, starts: Sequence[Start], refusal: str | None
    ) -> None:
        async with self._starts.taken(attempt.spec.owner):
            try:
                problem = await asyncio.to_thread(
                    attempt_start.carry_out, context, self._forkserver, attempt.spec, starts, refusal
                )
            except OSError as error:
                problem = in_words(error)
        if problem is not None:
            self._record_refused(attempt, problem)
        else:
            attempt.follow()
            await attempt.first_report()

    def _record_refused(self, attempt: TrackedAttempt, because: str) -> None:
        for index, replica in enumerate(attempt.spec.replicas):
            record = run_states.refused_record(replica.run, because, _now())
            self._log.record(run_states.from_record(attempt.spec, index, record, _now()))

    async def _command(self, runs: Iterable[str], do: str, **arguments: object) -> None:
        await self._open()
        chosen: dict[str, tuple[TrackedAttempt, list[int]]] = {}
        for run in runs:
            if (place := self._registry.live(run)) is not None:
                attempt, index = place
                chosen.setdefault(attempt.spec.attempt, (attempt, []))[1].append(index)
        answers = await asyncio.gather(
            *(commands.command(attempt, do, indices, arguments) for attempt, indices in chosen.values()),
            return_exceptions=True,
        )
        for problem in answers:
            if problem is not None:
                raise problem


def _now() -> int:
    return time.time_ns() // 1000
