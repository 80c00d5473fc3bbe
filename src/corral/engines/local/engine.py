"""The local engine: starts supervisors, follows them, and finds them again after a restart."""

import asyncio
import platform
import secrets
import socket
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path

from corral.core.refusals import Conflict, NotFound, Unavailable
from corral.engines.interface import Cursor, Foreign, Inventory, Observation, RunPhase, Start
from corral.engines.local import adoption, carrying, measure, runs
from corral.engines.local.attempts import KnownAttempt
from corral.engines.local.groups import Group
from corral.engines.local.house import House, Settings, build_house
from corral.engines.local.link import Link
from corral.engines.local.nurseries import Nursery
from corral.engines.local.outputs import find_output, read_messages
from corral.engines.local.people import FIRST_UID, TooManyPeople
from corral.engines.local.reach import LocalSession
from corral.engines.local.starting import attempt_of, find_refusal, held_by
from corral.engines.local.told import Told
from corral.engines.local.unpack import BadUpload
from corral.engines.reports import Counters, LogChunk, Message, Usage
from corral.engines.sessions import Session, Terminal

STARTS_AT_A_TIME = 4
FOLLOW_BYTES = 65536
_LINK_SECONDS = 5.0
_LINK_PAUSE_SECONDS = 0.02
_FOLLOW_PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.4)


class LocalEngine:
    """Implements `Engine` for this machine.

    `trusted` is for one person's own work on their own machine: it also runs without a sandbox or limits, and
    every run says so. `allowed` are private networks and names that work may reach; the public ones it may
    reach anyway. `disk_look_seconds` is how often the disk is looked at. Work outlives this object:
    `close` leaves it alone.
    """

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
        python: str | None = None,
    ) -> None:
        name = node or platform.node() or "local"
        self._settings = Settings(
            data, runtime, name, simulated_gpus, trusted, first_uid, tuple(allowed), disk_look_seconds
        )
        self._nursery = Nursery(python)
        self._told = Told(secrets.token_hex(8))
        self._known: dict[str, KnownAttempt] = {}
        self._places: dict[str, tuple[str, int]] = {}  # attempt and index of every run with output
        self._gone: set[str] = set()
        self._foreign: tuple[Foreign, ...] = ()
        self._opening = asyncio.Lock()
        self._starts = asyncio.Semaphore(STARTS_AT_A_TIME)
        self._house: House | None = None

    async def close(self) -> None:
        """Lets go of everything; supervisors and their work live on."""
        for known in self._known.values():
            await known.close()
        await asyncio.to_thread(self._nursery.close)
        if self._house is not None and not self._known:
            self._house.bases.remove()

    async def inventory(self) -> Inventory:
        return (await self._open()).inventory

    async def observe(self, after: Cursor | None = None) -> Observation:
        house = await self._open()
        observed = self._told.observe(after, self._foreign)
        if not observed.complete:
            return observed
        known = {name: len(known.spec.replicas) for name, known in self._known.items()}
        self._foreign = await asyncio.to_thread(adoption.find_foreign, house, known)
        return self._told.observe(None, self._foreign)

    async def wait(self, after: Cursor | None, seconds: float) -> None:
        await self._open()
        await self._told.wait(after, seconds)

    async def start(self, starts: Sequence[Start]) -> None:
        house = await self._open()
        groups: dict[str, list[Start]] = {}
        for start in {start.run: start for start in starts}.values():
            groups.setdefault(attempt_of(start), []).append(start)
        for name, group in groups.items():
            self._check_whole(name, group)
        # In order: of two that want the same device the first has it.
        fresh = [self._accept(house, name, group) for name, group in groups.items() if self._is_new(name)]
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
            name, index = self._places[run]
            known = self._known[name]
            known.forgotten.add(index)
            self._told.forget(run)
            if await asyncio.to_thread(house.shelf.forget, known.spec, index):
                await known.close()
                del self._known[name]
                self._gone.add(name)

    async def discard(self, workloads: Iterable[str]) -> None:
        house = await self._open()
        live = {known.spec.workload for known in self._known.values()}
        for workload in workloads:
            if workload not in live:
                removed = await asyncio.to_thread(adoption.discard, house, workload)
                self._places = {run: place for run, place in self._places.items() if place[0] not in removed}

    async def logs(self, run: str, after: int, limit: int) -> LogChunk:
        house = await self._open()
        name, index = self._place(run)
        places = (house.shelf.run / name, house.shelf.gone / name)
        return await asyncio.to_thread(find_output, places, index, after, limit)

    async def follow(self, run: str, after: int) -> AsyncIterator[LogChunk]:
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
        chosen = list(self._places if runs is None else runs)
        ended: dict[str, Counters] = {}
        live: dict[str, Group] = {}
        for run in chosen:
            told = self._told.get(run)
            if told is not None:
                name, index = self._places[run]
                if told.phase is RunPhase.ENDED:
                    ended[run] = told.usage or Counters()
                else:
                    live[run] = self._known[name].group(index)
        return await asyncio.to_thread(measure.everything, house, ended, live, self._held(house))

    async def messages(self, after: Mapping[str, int], limit: int = 1000) -> tuple[Message, ...]:
        house = await self._open()
        places = [(run, *place) for run, place in self._places.items() if run in self._told]

        def read() -> tuple[Message, ...]:
            found: list[Message] = []
            for run, name, index in places:
                directory = house.shelf.directory(name)
                found += read_messages(directory, run, index, after.get(run, 0), limit - len(found))
                if len(found) >= limit:
                    break
            return tuple(found)

        return await asyncio.to_thread(read)

    async def execute(self, run: str, command: Sequence[str], terminal: Terminal | None = None) -> Session:
        link, index = await self._enterable(run)
        size = None if terminal is None else terminal._asdict()
        _, descriptors = await link.command("execute", replica=index, command=list(command), terminal=size)
        return LocalSession(descriptors)

    async def dial(self, run: str, port: int) -> socket.socket:
        link, index = await self._enterable(run)
        _, descriptors = await link.command("dial", replica=index, port=port)
        connected = socket.socket(fileno=descriptors[0])
        connected.setblocking(False)
        return connected

    # How it works

    async def _open(self) -> House:
        """Looks at the machine and at what runs already, once."""
        async with self._opening:
            if self._house is not None:
                return self._house
            house = await asyncio.to_thread(build_house, self._settings)
            found = await asyncio.to_thread(adoption.find_attempts, house)
            for spec in found.gone:
                self._gone.add(spec.attempt)
                self._remember(spec.attempt, [replica.run for replica in spec.replicas])
            self._gone |= found.tombstones
            for spec in found.here:
                known = KnownAttempt(spec, house.shelf.directory(spec.attempt), self._told)
                known.forgotten |= found.forgotten[spec.attempt]
                self._known[spec.attempt] = known
                self._remember(spec.attempt, [replica.run for replica in spec.replicas])
                known.tell_starting()
                known.follow()
            await asyncio.gather(*(known.first_word() for known in self._known.values()))
            self._house = house
            return house

    def _is_new(self, name: str) -> bool:
        return name not in self._known and name not in self._gone

    def _check_whole(self, name: str, starts: Sequence[Start]) -> None:
        known = self._known.get(name)
        if known is not None:
            started = {replica.run for replica in known.spec.replicas}
            if not started.issuperset(start.run for start in starts):
                raise ValueError(f"all replicas of {name} are started by one call; some were started before")

    def _accept(
        self, house: House, name: str, starts: Sequence[Start]
    ) -> tuple[KnownAttempt, Sequence[Start], str | None]:
        """From here on it is known, and what it holds is held."""
        refusal = find_refusal(starts, house.ground, self._held(house))
        try:
            spec = carrying.describe(house, starts, refused=refusal is not None)
        except (BadUpload, TooManyPeople) as error:
            refusal = str(error)
            spec = carrying.describe(house, starts, refused=True)
        known = self._known[name] = KnownAttempt(spec, house.shelf.directory(name), self._told)
        self._remember(name, [start.run for start in starts])
        known.tell_starting()
        if refusal is not None:
            self._tell_refused(known, refusal)
        return known, starts, refusal

    async def _carry_out(
        self, house: House, known: KnownAttempt, starts: Sequence[Start], refusal: str | None
    ) -> None:
        async with self._starts:
            problem = await asyncio.to_thread(
                carrying.carry_out, house, self._nursery, known.spec, starts, refusal
            )
        if problem is not None:
            self._tell_refused(known, problem)
        else:
            known.follow()
            await known.first_word()

    def _tell_refused(self, known: KnownAttempt, because: str) -> None:
        for index, replica in enumerate(known.spec.replicas):
            record = runs.refused_record(replica.run, because, _now())
            self._told.tell(runs.from_record(known.spec, index, record, _now()))

    def _held(self, house: House) -> dict[str, int]:
        live = [known.spec for known in self._known.values() if not known.ended]
        return held_by(live, house.ground.hardware)

    def _remember(self, name: str, names: Iterable[str]) -> None:
        self._places |= {run: (name, index) for index, run in enumerate(names)}

    def _place(self, run: str) -> tuple[str, int]:
        if run not in self._places:
            raise NotFound(f"There is no run {run} here.", "See what is running: corral ps")
        return self._places[run]

    async def _command(self, runs: Iterable[str], do: str, **arguments: object) -> None:
        await self._open()
        chosen: dict[str, list[int]] = {}
        for run in runs:
            told = self._told.get(run)
            if told is not None and told.phase is not RunPhase.ENDED:
                name, index = self._places[run]
                chosen.setdefault(name, []).append(index)
        await asyncio.gather(
            *(
                self._tell_supervisor(self._known[name], do, indices, arguments)
                for name, indices in chosen.items()
            )
        )

    async def _tell_supervisor(
        self, known: KnownAttempt, do: str, indices: list[int], arguments: Mapping[str, object]
    ) -> None:
        # One that hangs up in between has ended, or will be found again: commands can be repeated.
        for last_try in (False, True):
            link = await self._linked(known)
            if link is None:
                return
            try:
                await link.command(do, replicas=indices, **arguments)
            except Unavailable:
                if last_try:
                    raise
            else:
                return

    async def _enterable(self, run: str) -> tuple[Link, int]:
        await self._open()
        name, index = self._place(run)
        known = self._known.get(name)
        link = None if known is None else await self._linked(known)
        if known is None or link is None or known.replica_ended(index):
            raise Conflict(f"{run} has ended: nothing runs in it.", "See what is running: corral ps")
        return link, index

    async def _linked(self, known: KnownAttempt) -> Link | None:
        """The connection to its supervisor, as soon as there is one; None if it has ended meanwhile."""
        until = time.monotonic() + _LINK_SECONDS
        while (known.link is None or not known.link.open) and not known.ended:
            if time.monotonic() > until:
                raise Unavailable("The supervisor of this run does not answer.", "Try again in a moment.")
            await asyncio.sleep(_LINK_PAUSE_SECONDS)
        return None if known.ended else known.link


def _now() -> int:
    return time.time_ns() // 1000
