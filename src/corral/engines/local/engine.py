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
from corral.engines.local import adoption, carrying, commanding, measure, runs
from corral.engines.local.attempts import KnownAttempt
from corral.engines.local.house import House, Settings, build_house
from corral.engines.local.known import KnownRuns
from corral.engines.local.nurseries import Nursery
from corral.engines.local.outputs import find_output, read_fairly
from corral.engines.local.people import FIRST_UID, TooManyPeople
from corral.engines.local.quotas import HOMES, WORKSPACES
from corral.engines.local.reach import LocalSession
from corral.engines.local.removing import Remover
from corral.engines.local.sandbox import Mode
from corral.engines.local.starting import attempt_of, find_refusal
from corral.engines.local.turns import Turns
from corral.engines.local.workspaces import BadUpload
from corral.engines.reports import Counters, LogChunk, Message, Usage
from corral.engines.sessions import Session, Terminal
from corral.engines.visitors import USUAL_BOUNDS, Bounds, Visitors

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
    of a person's together, `bounds` how many may look into one person's work. Work outlives this object:
    `close` leaves it alone.
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
        bounds: Bounds = USUAL_BOUNDS,
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
        self._nursery = Nursery(python)
        self._known = KnownRuns()
        self._told = self._known.told
        self._visitors = Visitors(bounds)
        self._foreign: tuple[Foreign, ...] = ()
        self._opening = asyncio.Lock()
        self._starts = Turns(STARTS_AT_A_TIME, STARTS_OF_A_PERSON)
        self._first_heard = 0
        self._remover = Remover()
        self._house: House | None = None

    async def close(self) -> None:
        """Lets go of everything; supervisors and their work live on."""
        for known in self._known.here.values():
            await known.close()
        await asyncio.to_thread(self._nursery.close)
        if self._house is not None and not self._known.here:
            self._house.bases.remove()

    async def inventory(self) -> Inventory:
        return (await self._open()).inventory

    async def observe(self, after: Cursor | None = None) -> Observation:
        house = await self._open()
        observed = self._told.observe(after, self._foreign, self._troubles(house))
        if not observed.complete:
            return observed
        known = {name: len(known.spec.replicas) for name, known in self._known.here.items()}
        self._foreign = await asyncio.to_thread(adoption.find_foreign, house, known)
        return self._told.observe(None, self._foreign, self._troubles(house))

    async def wait(self, after: Cursor | None, seconds: float) -> None:
        await self._open()
        await self._told.wait(after, seconds)

    async def start(self, starts: Sequence[Start]) -> None:
        house = await self._open()
        groups: dict[str, list[Start]] = {}
        for start in {start.run: start for start in starts}.values():
            groups.setdefault(attempt_of(start), []).append(start)
        for name, group in groups.items():
            self._known.check_whole(name, group)
        # In order: of two that want the same device the first has it.
        fresh = [
            self._accept(house, name, group) for name, group in groups.items() if self._known.is_new(name)
        ]
        await asyncio.gather(*(self._carry_out(house, *accepted) for accepted in fresh))

    async def signal(self, runs: Iterable[str], grace_seconds: int) -> None:
        await self._command(runs, "signal", grace_seconds=grace_seconds)

    async def kill(self, runs: Iterable[str]) -> None:
        await self._command(runs, "kill")

    async def forget(self, runs: Iterable[str]) -> None:
        house = await self._open()
        for run in runs:
            told = self._told.get(run)
            if told is None or told.phase is not RunPhase.ENDED:
                continue
            name, index = self._known.place(run)
            known = self._known.here[name]
            was_last = await asyncio.to_thread(house.shelf.forget, known.spec, index)
            known.forgotten.add(index)
            self._told.forget(run)
            if was_last:
                await known.close()
                self._known.leave(name)

    async def discard(self, workloads: Iterable[str]) -> None:
        house = await self._open()
        live = self._known.workloads()
        for workload in workloads:
            if workload not in live:
                self._known.discard(await self._remove(house, workload))

    async def forget_person(self, owner: str) -> None:
        house = await self._open()
        if any(known.spec.owner == owner for known in self._known.here.values()):
            raise Conflict("Work of this person is still there.", "Try again when it is gone.")
        home = house.workspaces.home(owner)
        await self._remover.remove(home.parent, home.name)
        await asyncio.to_thread(house.fences.forget, HOMES, owner)
        await asyncio.to_thread(house.workspaces.forget_person, owner)

    async def logs(self, run: str, after: int, limit: int) -> LogChunk:
        house = await self._open()
        name, index = self._known.place(run)
        places = (house.shelf.run / name, house.shelf.gone / name)
        return await asyncio.to_thread(find_output, places, index, after, limit)

    async def follow(self, run: str, after: int) -> AsyncIterator[LogChunk]:
        await self._open()
        with self._visitors.streams.taken(self._known.owner(run)):
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
        house = await self._open()
        ended: dict[str, Counters] = {}
        live: dict[str, measure.Live] = {}
        for run in list(self._known.told_of() if runs is None else runs):
            if (place := self._known.live(run)) is not None:
                known, index = place
                with contextlib.suppress(OSError):  # a full disk: the next sample has it
                    known.dials.write_down()
                live[run] = measure.Live(known.group(index), known.spec, index, known.directory)
            elif (told := self._told.get(run)) is not None:
                ended[run] = told.usage or Counters()
        held = self._known.held_mib(house.ground.hardware)
        usage, went = await asyncio.to_thread(measure.everything, house, ended, live, held)
        self._known.note(Step.MEASURE, went)
        return usage

    async def messages(
        self, after: Mapping[str, int], limit: int = 1000, runs: Collection[str] | None = None
    ) -> tuple[Message, ...]:
        house = await self._open()
        chosen = [run for run in self._known.told_of() if runs is None or run in runs]
        places = [(run, *self._known.place(run)) for run in chosen]
        # Another begins each time: who comes late in the order is not always the one for whom none are left.
        self._first_heard = (self._first_heard + 1) % max(1, len(places))
        places = places[self._first_heard :] + places[: self._first_heard]
        messages, went = await asyncio.to_thread(read_fairly, house.shelf.directory, places, after, limit)
        self._known.note(Step.OUTPUT, went)
        return messages

    async def execute(self, run: str, command: Sequence[str], terminal: Terminal | None = None) -> Session:
        await self._open()
        with ExitStack() as held:
            held.enter_context(self._visitors.sessions.taken(self._known.owner(run)))
            size = None if terminal is None else terminal._asdict()
            place = self._known.live(run)
            descriptors = await commanding.visit(run, place, "execute", command=list(command), terminal=size)
            return LocalSession(descriptors, held.pop_all().close)

    async def dial(self, run: str, port: int) -> socket.socket:
        await self._open()
        with ExitStack() as held:
            held.enter_context(self._visitors.dials.taken(self._known.owner(run)))
            place = self._known.live(run)
            descriptors = await commanding.visit(run, place, "dial", port=port)
            assert place is not None
            return place[0].dials.add(descriptors[0], held.pop_all().close)

    # How it works

    async def _open(self) -> House:
        """Looks at the machine and at what runs already, once."""
        async with self._opening:
            if self._house is not None:
                return self._house
            house = await asyncio.to_thread(build_house, self._settings)
            found = await asyncio.to_thread(adoption.find_attempts, house)
            self._known.add_gone(found.gone, found.tombstones)
            for spec in found.here:
                known = KnownAttempt(spec, house.shelf.directory(spec.attempt), self._told)
                known.forgotten |= found.forgotten[spec.attempt]
                self._known.add(known)
                known.tell_starting()
                known.follow()
            await asyncio.gather(*(known.first_word() for known in self._known.here.values()))
            self._house = house
            return house

    def _troubles(self, house: House) -> tuple[Trouble, ...]:
        """Of single workloads, and what keeps everybody from starting."""
        problem = house.people.problem() if house.ground.mode == Mode.ROOT else None
        everybody = () if problem is None else (Trouble(Step.START, problem),)
        return (*everybody, *self._known.troubles())

    async def _remove(self, house: House, workload: str) -> set[str]:
        """Workspace and output of a workload; returns its attempts."""
        specs = await asyncio.to_thread(adoption.find_discarded, house, workload)
        for name in {Path(spec.workspace).name for spec in specs if house.is_workspace(spec.workspace)}:
            await self._remover.remove(house.workspaces.root, name)
            await asyncio.to_thread(house.runtimes.remove, name)
            await asyncio.to_thread(house.fences.forget, WORKSPACES, name)
            for spec in specs:
                await asyncio.to_thread(house.workspaces.forget_count, spec.owner, name)
        await asyncio.to_thread(house.beginnings.forget, workload)
        for spec in specs:
            await asyncio.to_thread(house.shelf.discard, spec.attempt)
        return {spec.attempt for spec in specs}

    def _accept(
        self, house: House, name: str, starts: Sequence[Start]
    ) -> tuple[KnownAttempt, Sequence[Start], str | None]:
        """From here on it is known, and what it holds is held."""
        refusal = find_refusal(starts, house.ground, self._known.held_mib(house.ground.hardware))
        try:
            spec = carrying.describe(house, starts, refused=refusal is not None)
        except (BadUpload, TooManyPeople) as error:
            refusal = str(error)
            spec = carrying.describe(house, starts, refused=True)
        known = KnownAttempt(spec, house.shelf.directory(name), self._told)
        self._known.add(known)
        known.tell_starting()
        if refusal is not None:
            self._tell_refused(known, refusal)
        return known, starts, refusal

    async def _carry_out(
        self, house: House, known: KnownAttempt, starts: Sequence[Start], refusal: str | None
    ) -> None:
        async with self._starts.taken(known.spec.owner):
            try:
                problem = await asyncio.to_thread(
                    carrying.carry_out, house, self._nursery, known.spec, starts, refusal
                )
            except OSError as error:
                problem = in_words(error)
        if problem is not None:
            self._tell_refused(known, problem)
        else:
            known.follow()
            await known.first_word()

    def _tell_refused(self, known: KnownAttempt, because: str) -> None:
        for index, replica in enumerate(known.spec.replicas):
            record = runs.refused_record(replica.run, because, _now())
            self._told.tell(runs.from_record(known.spec, index, record, _now()))

    async def _command(self, runs: Iterable[str], do: str, **arguments: object) -> None:
        await self._open()
        chosen: dict[str, tuple[KnownAttempt, list[int]]] = {}
        for run in runs:
            if (place := self._known.live(run)) is not None:
                known, index = place
                chosen.setdefault(known.spec.attempt, (known, []))[1].append(index)
        answers = await asyncio.gather(
            *(commanding.command(known, do, indices, arguments) for known, indices in chosen.values()),
            return_exceptions=True,
        )
        for problem in answers:
            if problem is not None:
                raise problem


def _now() -> int:
    return time.time_ns() // 1000
