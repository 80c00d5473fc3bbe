"""The life of one job: waits, runs, is preempted, waits again, ends. And how the scheduler sees it."""

from enum import IntEnum

from corral.core.devices import DeviceUse
from corral.core.explanations import Estimate
from corral.core.workloads import Replica, ReplicaGroup, ReplicaState, Workload
from corral.replay.jobs import Job


class Stage(IntEnum):
    WAITING = 0
    RUNNING = 1
    LEAVING = 2
    DONE = 3


class Spot:
    """Where a replica is, under which run."""

    __slots__ = ("devices", "gpu_milli", "node", "run", "stuck")

    def __init__(self, run: str, node: str, devices: tuple[DeviceUse, ...], gpu_milli: int) -> None:
        self.run = run
        self.node = node
        self.devices = devices
        self.gpu_milli = gpu_milli
        self.stuck = False


class Life:
    """What the loop knows of a job. Members of a gang start and go together."""

    __slots__ = (
        "attempt",
        "done_seconds",
        "ended",
        "estimate",
        "evictions",
        "first_start",
        "job",
        "lost_seconds",
        "priority",
        "resume_seconds",
        "running_since",
        "spots",
        "stage",
        "waited_seconds",
        "waiting_since",
        "working",
        "working_since",
    )

    def __init__(self, job: Job, now: int) -> None:
        self.job = job
        self.stage = Stage.WAITING
        self.attempt = 0
        self.priority = job.priority
        self.spots: dict[str, Spot] = {}
        self.done_seconds = 0  # work that need not be done again
        self.lost_seconds = 0  # work that had to be, and what resuming took
        self.waited_seconds = 0
        self.waiting_since = now
        self.first_start: int | None = None
        self.running_since: int | None = None  # when this attempt got its place
        self.working = 0  # replicas of this attempt that have begun
        self.working_since: int | None = None  # when all of them had
        self.resume_seconds = 0  # what loading the last checkpoint takes of this attempt
        self.ended: int | None = None
        self.evictions = 0
        self.estimate: Estimate | None = None  # what it was told when it arrived

    def workload(self) -> Workload:
        """As the scheduler sees it; its age is that of its arrival, whatever happened since."""
        job = self.job
        limit = job.limit_seconds
        running = self.stage is Stage.RUNNING
        state = ReplicaState.RUNNING if running else ReplicaState.RELEASING
        replicas = tuple(self._replica(f"{job.name}-{number}", state) for number in range(job.replicas))
        group = ReplicaGroup("main", request=job.request, replicas=replicas, preemptible=job.preemptible)
        return Workload(
            name=job.name,
            queue=job.queue,
            groups=(group,),
            priority=self.priority,
            created=job.arrives,
            running_since=self.running_since if running else None,
            runtime_limit_seconds=None if limit is None else max(1, limit - self.done_seconds),
        )

    def _replica(self, name: str, state: ReplicaState) -> Replica:
        spot = self.spots.get(name)
        if spot is None:
            return Replica(name)
        return Replica(name, ReplicaState.STUCK if spot.stuck else state, spot.node, spot.devices)

    @property
    def remaining_seconds(self) -> int:
        """What the next attempt works, if nothing interrupts it."""
        return self.job.work_seconds - self.done_seconds + self.resume_seconds

    def interrupt(self, now: int, *, saved: bool) -> None:
        """Its work ends here for now; what was not saved has to be done again."""
        self.waiting_since = now
        if self.working_since is None:
            return
        spent = now - self.working_since
        worked = max(0, spent - self.resume_seconds)
        interval = self.job.checkpoint_seconds
        kept = worked if saved else worked - worked % interval if interval else 0
        self.done_seconds += kept
        self.lost_seconds += spent - kept
        self.working_since = None
