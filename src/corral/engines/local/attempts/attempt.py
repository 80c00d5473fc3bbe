"""An attempt as Corral tracks it: what lies on disk, and the connection to its supervisor while it lives."""

import asyncio
import time
from pathlib import Path

from corral.core.failures import in_words
from corral.core.steps import Step
from corral.engines.interface import Run, RunPhase
from corral.engines.local.attempts import run_states
from corral.engines.local.attempts.connections import DialedConnections
from corral.engines.local.attempts.observation_log import ObservationLog
from corral.engines.local.attempts.supervisor_client import Link, State
from corral.engines.local.kernel.cgroup_roots import cgroup_roots_from
from corral.engines.local.kernel.cgroups import Group
from corral.engines.local.records import durable_json, layout, locks
from corral.engines.local.records.spec import Spec
from corral.engines.local.supervise.event_loop import boot_id

_LOOK_AGAIN_SECONDS = 0.2
_LONGEST_REST_SECONDS = 30.0
_FIRST_REPORT_SECONDS = 2
_EMPTY_SECONDS = 1
_EMPTY_PAUSE_SECONDS = 0.01


class TrackedAttempt:
    """Records what it learns in the log.

    `forgotten` are replicas whose ending Corral has stored: they are not reported again.
    """

    def __init__(self, spec: Spec, directory: Path, log: ObservationLog) -> None:
        self.spec = spec
        self.directory = directory
        self.forgotten: set[int] = set()
        self.link: Link | None = None
        self.dials = DialedConnections(directory)
        self.troubles: dict[Step, str] = {}  # in words
        self._log = log
        self._heard = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def ended(self) -> bool:
        return all(self.replica_ended(index) for index in range(len(self.spec.replicas)))

    def replica_ended(self, index: int) -> bool:
        run = self._log.get(self.spec.replicas[index].run)
        return index in self.forgotten or (run is not None and run.phase is RunPhase.ENDED)

    def group(self, index: int) -> Group:
        return Group(cgroup_roots_from(self.spec.groups), layout.group_name(self.spec.attempt, index))

    def record_starting(self) -> None:
        for index in range(len(self.spec.replicas)):
            self._record(index, run_states.starting(self.spec, index))

    def follow(self) -> None:
        """Stays connected to the supervisor until everything has ended; whoever finds it dead says so."""
        if self._following is None:
            self._following = asyncio.create_task(self._follow())

    async def first_report(self) -> None:
        """Waits until the supervisor has reported its state, or is known to be gone."""
        assert self._following is not None
        heard = asyncio.create_task(self._heard.wait())
        await asyncio.wait(
            {heard, self._following}, timeout=_FIRST_REPORT_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        heard.cancel()
        if not self._heard.is_set() and not self._following.done():
            self.troubles[Step.FOLLOW] = "its supervisor does not answer"

    async def close(self) -> None:
        if self.link is not None:
            self.link.close()
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait({self._following})

    def read_endings(self) -> None:
        for index in range(len(self.spec.replicas)):
            if not self.replica_ended(index):
                record = durable_json.read(self.directory, layout.exit_name(index))
                if record is not None:
                    self._record(index, run_states.from_record(self.spec, index, record, _now()))

    async def _follow(self) -> None:
        rest = _LOOK_AGAIN_SECONDS
        while True:
            try:
                went_on = await self._look()
                self.troubles.pop(Step.FOLLOW, None)
            except (OSError, ValueError, KeyError, TypeError) as error:
                self.troubles[Step.FOLLOW] = in_words(error, with_names=True)
                went_on = False
            if self.ended:
                return
            rest = _LOOK_AGAIN_SECONDS if went_on else min(rest * 1.5, _LONGEST_REST_SECONDS)
            if not went_on:
                await asyncio.sleep(rest)

    async def _look(self) -> bool:
        """Whether something was learnt, so that it is worth to look again at once."""
        # First the lock, then the records: who has let go of the lock has written them before.
        alive = locks.holder(self.directory) is not None
        self.read_endings()
        if self.ended:
            return True
        if alive:
            return await self._listen()
        if not self.directory.exists():
            # Its supervisor may live on, without a place for its records.
            return await self._listen() or await asyncio.to_thread(self._record_vanished)
        return await asyncio.to_thread(self._record_loss)

    async def _listen(self) -> bool:
        """Until the supervisor hangs up; False if it cannot be reached."""
        gone = asyncio.Event()
        try:
            path = Path(self.spec.sockets, layout.CONTROL_SOCKET)
            self.link = Link(path, self._hear, gone.set)
        except OSError:
            return False
        try:
            await gone.wait()
        finally:
            self.link.close()
            self.link = None
        return True

    def _hear(self, state: State) -> None:
        for index, replica in enumerate(state):
            if replica["phase"] != RunPhase.ENDED:
                self._record(index, run_states.from_state(self.spec, index, replica))
        self.read_endings()
        self.troubles.pop(Step.FOLLOW, None)
        self._heard.set()

    def _record(self, index: int, run: Run) -> None:
        if index not in self.forgotten:
            self._log.record(run)

    def _record_vanished(self) -> bool:
        """Its directory is gone, and nobody answers: nothing can be written down, and nothing may be left."""
        for index in range(len(self.spec.replicas)):
            if not _empty(self.group(index)):
                return False
        for index, replica in enumerate(self.spec.replicas):
            before = self._log.get(replica.run)
            lost = run_states.lost_record(
                replica.run, run_states.LOST_BY_REMOVAL, None if before is None else before.started, _now()
            )
            self._loop.call_soon_threadsafe(
                self._record, index, run_states.from_record(self.spec, index, lost, _now())
            )
        return True

    def _record_loss(self) -> bool:
        """Nobody supervises it and nothing says how it ended. Only when nothing of it is left is it lost."""
        begun = durable_json.read(self.directory, layout.BEGUN)
        if begun is None:
            return False  # it is about to begin
        _empty(Group(cgroup_roots_from(self.spec.groups), layout.door_group_name(self.spec.attempt)))
        restarted = begun.get("boot_id") != boot_id()
        for index, replica in enumerate(self.spec.replicas):
            if not restarted and not _empty(self.group(index)):
                return False
            before = self._log.get(replica.run)
            started = None if before is None else before.started
            because = run_states.LOST_BY_RESTART if restarted else run_states.LOST_BY_KILL
            lost = run_states.lost_record(replica.run, because, started, _now())
            durable_json.write_once(self.directory, layout.exit_name(index), lost)
        return True


def _empty(group: Group) -> bool:
    """Ends what is inside. With its supervisor a sandbox dies by itself; this makes sure of it."""
    until = time.monotonic() + _EMPTY_SECONDS
    try:
        while group.processes():
            group.kill()
            if time.monotonic() > until:
                return False
            time.sleep(_EMPTY_PAUSE_SECONDS)
    except FileNotFoundError:
        return True
    group.remove()
    return True


def _now() -> int:
    return time.time_ns() // 1000
