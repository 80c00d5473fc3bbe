"""The life of a workload: what an event makes of it, and what the engine must be told then. Without I/O.

    step = handle(life, event)
    step.life           the workload afterwards
    step.because        why its state changed, if it did
    step.instructions   what the engine is told now

What must be told follows from the life alone (`instructions_for`): after a crash between writing a step down
and telling the engine, the next turn tells it again. Engines take the same word twice.

An attempt runs all replicas of a workload together. Its **fate** is what it will end as once that is decided:
the first of a person's stop, a suspension, a replica's failure or loss; a person's stop overrides the others.
When the last replica is gone, the fate becomes the next state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from corral.core.plans import Action, Entitlement
from corral.workloads.reasons import StateCause, StateReason
from corral.workloads.states import LEAVING, OVER, UNPLACED, WAITING, State, Wanted

MOST_LOSSES = 5
FIRST_PAUSE_SECONDS = 5
LONGEST_PAUSE_SECONDS = 300


class Phase(StrEnum):
    """Of one replica of the live attempt. `granted` has its place; the engine may not know of it yet."""

    GRANTED = "granted"
    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"


class End(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LEFT = "left"
    REFUSED = "refused"
    LOST = "lost"


class Fate(StrEnum):
    SUSPEND = "suspend"
    STOP = "stop"
    FAIL = "fail"
    TRY_AGAIN = "try_again"


@dataclass(frozen=True, slots=True)
class Member:
    number: int
    phase: Phase = Phase.GRANTED
    end: End | None = None
    said_done: bool = False


@dataclass(frozen=True, slots=True)
class Life:
    """`failures` and `losses` count attempts that ended so; `pause_seconds` is the wait before the next.

    `stop_sent` is written down before the engine is asked to end replicas: from then on there is no way back.
    """

    state: State = State.QUEUED
    wanted: Wanted = Wanted.RUN
    attempt: int = 0
    members: tuple[Member, ...] = ()
    fate: Fate | None = None
    fate_because: StateReason | None = None
    retries: int = 0
    failures: int = 0
    losses: int = 0
    pause_seconds: int = 0
    stop_sent: bool = False


# Events


@dataclass(frozen=True, slots=True)
class PlaceGranted:
    """The scheduler gave every replica its place: a new attempt begins."""

    replicas: int
    nodes: Sequence[str]


@dataclass(frozen=True, slots=True)
class FoundInfeasible:
    """The scheduler found that nothing that there is could run it; `facts` say what is missing."""

    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FoundFeasible:
    """Nodes, pools or quotas changed, and it could run now."""


@dataclass(frozen=True, slots=True)
class PersonAsked:
    """A person asks for something."""

    wanted: Wanted
    by: str
    by_name: str


@dataclass(frozen=True, slots=True)
class Preempted:
    """The scheduler takes its place for another workload, or for none."""

    rule: Action
    for_workload: str | None = None
    for_name: str | None = None
    entitlement: Entitlement | None = None


@dataclass(frozen=True, slots=True)
class PreemptionCancelled:
    """The workload that its place was taken for no longer needs it."""


@dataclass(frozen=True, slots=True)
class StopSent:
    """The engine is about to be asked to end its replicas."""


@dataclass(frozen=True, slots=True)
class ReplicaObserved:
    """The engine reports that a replica starts or runs."""

    number: int
    phase: Phase


@dataclass(frozen=True, slots=True)
class ReplicaEnded:
    """The engine reports that a replica has ended, and how; told once for each replica of an attempt.

    `detail` says all of it in words, `explanation` what the codes do not say.
    """

    number: int
    end: End
    exit_code: int | None = None
    signal: int | None = None
    out_of_memory: bool = False
    timed_out: bool = False
    said_done: bool = False
    detail: str = ""
    memory_mib: int = 0
    time_limit_seconds: int = 0
    explanation: str = ""


Event = (
    PlaceGranted
    | FoundInfeasible
    | FoundFeasible
    | PersonAsked
    | Preempted
    | PreemptionCancelled
    | StopSent
    | ReplicaObserved
    | ReplicaEnded
)


# Instructions


@dataclass(frozen=True, slots=True)
class StartMembers:
    numbers: tuple[int, ...]
    resume: bool


@dataclass(frozen=True, slots=True)
class StopMembers:
    """To save and go within the grace."""

    numbers: tuple[int, ...]


Instruction = StartMembers | StopMembers


@dataclass(frozen=True, slots=True)
class Step:
    life: Life
    because: StateReason | None = None
    instructions: tuple[Instruction, ...] = field(default=())


class ImpossibleEventError(Exception):
    """An event that cannot happen in this state: whoever made it did not look."""


def handle(life: Life, event: Event) -> Step:
    """What becomes of a workload. The same event twice changes nothing the second time."""
    match event:
        case PlaceGranted():
            return _on_place_granted(life, event)
        case FoundInfeasible():
            return _on_infeasible(life, event)
        case FoundFeasible():
            return _on_feasible(life)
        case PersonAsked():
            return _on_person_asked(life, event)
        case Preempted():
            return _on_preempted(life, event)
        case PreemptionCancelled():
            return _on_preemption_cancelled(life)
        case StopSent():
            return Step(replace(life, stop_sent=life.state in LEAVING), None, instructions_for(life))
        case ReplicaObserved():
            return _on_replica_observed(life, event)
        case ReplicaEnded():
            return _on_replica_ended(life, event)


def instructions_for(life: Life) -> tuple[Instruction, ...]:
    """What the engine must have been told by now; repeating it changes nothing."""
    if life.state in LEAVING:
        numbers = tuple(one.number for one in life.members if one.phase in {Phase.STARTING, Phase.RUNNING})
        return (StopMembers(numbers),) if numbers else ()
    unknown = tuple(one.number for one in life.members if one.phase is Phase.GRANTED)
    return (StartMembers(unknown, resume=life.attempt > 1),) if unknown else ()


def may_start(life: Life) -> bool:
    """Whether the scheduler may give it a place."""
    return life.state in WAITING and life.wanted is Wanted.RUN


def _on_place_granted(life: Life, event: PlaceGranted) -> Step:
    if not may_start(life):
        raise ImpossibleEventError(f"{life.state} work that is to {life.wanted} was given a place")
    members = tuple(Member(number) for number in range(event.replicas))
    begun = replace(
        life, state=State.STARTING, attempt=life.attempt + 1, members=members, fate=None, fate_because=None
    )
    return _step(begun, StateReason(StateCause.PLACED, {"nodes": ", ".join(sorted(set(event.nodes)))}))


def _on_infeasible(life: Life, event: FoundInfeasible) -> Step:
    if not may_start(life):
        return _step(life, None)
    return _step(replace(life, state=State.INFEASIBLE), StateReason(StateCause.INFEASIBLE, event.facts))


def _on_feasible(life: Life) -> Step:
    if life.state is not State.INFEASIBLE:
        return _step(life, None)
    return _step(replace(life, state=State.QUEUED), StateReason(StateCause.FEASIBLE))


def _on_person_asked(life: Life, event: PersonAsked) -> Step:
    facts = {"by": event.by, "by_name": event.by_name}
    match event.wanted:
        case Wanted.STOP:
            return _stop(life, StateReason(StateCause.ASKED_TO_STOP, facts))
        case Wanted.SUSPEND:
            return _suspend_by_hand(life, StateReason(StateCause.ASKED_TO_SUSPEND, facts))
        case Wanted.RUN:
            return _resume(life, StateReason(StateCause.ASKED_TO_RESUME, facts))


def _stop(life: Life, because: StateReason) -> Step:
    if life.state in OVER or life.fate is Fate.STOP:
        return _step(life, None)
    if life.state in UNPLACED:
        return _step(replace(life, state=State.STOPPED, wanted=Wanted.STOP), because)
    return _leave(replace(life, wanted=Wanted.STOP), Fate.STOP, because)


def _suspend_by_hand(life: Life, because: StateReason) -> Step:
    if life.state in OVER or life.wanted is not Wanted.RUN:
        return _step(life, None)
    suspended = replace(life, wanted=Wanted.SUSPEND)
    if life.state in UNPLACED:
        return _step(replace(suspended, state=State.SUSPENDED), because)
    if life.fate is not None:
        # On its way out already; what is wanted decides where it ends up.
        return _step(suspended, None)
    return _leave(suspended, Fate.SUSPEND, because)


def _resume(life: Life, because: StateReason) -> Step:
    """Suspended work goes on; work that was stopped or failed gets another chance in its old workspace."""
    if life.state in {State.SUCCEEDED, State.DELETED} or (
        life.wanted is Wanted.RUN and life.state is not State.FAILED
    ):
        return _step(life, None)
    if life.state in OVER | UNPLACED:
        again = replace(
            life, state=State.QUEUED, wanted=Wanted.RUN, failures=0, losses=0, pause_seconds=0, members=()
        )
        return _step(again, because)
    if life.fate is Fate.STOP:
        return _step(life, None)
    going_on = replace(life, wanted=Wanted.RUN)
    return _step(going_on, None)


def _on_preempted(life: Life, event: Preempted) -> Step:
    if life.state not in {State.STARTING, State.RUNNING}:
        return _step(life, None)
    facts = {"rule": event.rule.value, "for": event.for_workload, "for_name": event.for_name}
    if event.entitlement is not None:
        facts["entitlement"] = event.entitlement.value
    return _leave(life, Fate.SUSPEND, StateReason(StateCause.TAKEN, facts))


def _on_preemption_cancelled(life: Life) -> Step:
    because = life.fate_because
    if (
        life.state is not State.SUSPENDING
        or life.stop_sent
        or because is None
        or because.why is not StateCause.TAKEN
    ):
        return _step(life, None)
    all_run = all(one.phase in {Phase.RUNNING, Phase.ENDED} for one in life.members)
    state = State.RUNNING if all_run else State.STARTING
    facts = {"for": because.facts["for"], "for_name": because.facts["for_name"]}
    return _step(
        replace(life, state=state, fate=None, fate_because=None), StateReason(StateCause.KEPT, facts)
    )


def _on_replica_observed(life: Life, event: ReplicaObserved) -> Step:
    member = life.members[event.number]
    if member.phase is Phase.ENDED or list(Phase).index(event.phase) <= list(Phase).index(member.phase):
        return _step(life, None)
    after = _with(life, replace(member, phase=event.phase))
    if after.state is State.STARTING and all(
        one.phase in {Phase.RUNNING, Phase.ENDED} for one in after.members
    ):
        return _step(replace(after, state=State.RUNNING), StateReason(StateCause.ALL_RUN))
    return _step(after, None)


def _on_replica_ended(life: Life, event: ReplicaEnded) -> Step:
    member = life.members[event.number]
    if member.phase is Phase.ENDED:
        return _step(life, None)
    after = _with(life, replace(member, phase=Phase.ENDED, end=event.end, said_done=event.said_done))
    because = None
    if after.fate is None and event.end is not End.SUCCEEDED:
        after, because = _doom(after, event)
    if all(one.phase is Phase.ENDED for one in after.members):
        return _close(after)
    if after.fate is not None and after.state not in LEAVING:
        assert because is not None
        ending = StateReason(StateCause.MEMBER_ENDED, {"replica": event.number, "after": because.as_dict()})
        return _step(replace(after, state=State.STOPPING), ending)
    return _step(after, None)


def _doom(life: Life, event: ReplicaEnded) -> tuple[Life, StateReason]:
    """A replica that ended otherwise than well decides what becomes of the attempt."""
    because = why_ended(event, len(life.members))
    if event.end in {End.LOST, End.LEFT, End.REFUSED}:
        life, again = replace(life, losses=life.losses + 1), life.losses + 1 < MOST_LOSSES
        number, most = life.losses, MOST_LOSSES - 1
    else:
        life, again = (
            replace(life, failures=life.failures + 1),
            life.failures < life.retries and not event.timed_out,
        )
        number, most = life.failures, life.retries
    if again:
        retrying = StateReason(
            StateCause.TRIES_AGAIN, {"after": because.as_dict(), "number": number, "most": most}
        )
        return replace(life, fate=Fate.TRY_AGAIN, fate_because=retrying), because
    return replace(life, fate=Fate.FAIL, fate_because=because), because


def why_ended(event: ReplicaEnded, of: int) -> StateReason:
    facts = {"replica": event.number, "of": of, "detail": event.explanation or None}
    if event.end in {End.LOST, End.LEFT}:
        return StateReason(StateCause.LOST, facts | {"detail": event.detail or None})
    if event.end is End.REFUSED:
        return StateReason(StateCause.REFUSED, facts | {"detail": event.detail})
    if event.timed_out:
        return StateReason(StateCause.TIME_LIMIT, facts | {"time_limit_seconds": event.time_limit_seconds})
    if event.out_of_memory:
        return StateReason(StateCause.OUT_OF_MEMORY, facts | {"memory_mib": event.memory_mib})
    if event.signal is not None:
        return StateReason(StateCause.KILLED, facts | {"signal": event.signal})
    return StateReason(StateCause.EXITED, facts | {"exit_code": event.exit_code})


def _close(life: Life) -> Step:
    """The last replica is gone."""
    over = replace(life, fate=None, fate_because=None, pause_seconds=0, stop_sent=False)
    if life.fate is None:
        return _step(replace(over, state=State.SUCCEEDED), StateReason(StateCause.ENDED_WELL))
    if life.fate in {Fate.SUSPEND, Fate.STOP} and any(one.said_done for one in life.members):
        return _step(replace(over, state=State.SUCCEEDED), StateReason(StateCause.SAID_DONE))
    because = life.fate_because
    if life.wanted is Wanted.STOP:
        return _step(replace(over, state=State.STOPPED), because)
    if life.fate is Fate.FAIL:
        return _step(replace(over, state=State.FAILED), because)
    if life.wanted is Wanted.SUSPEND:
        return _step(replace(over, state=State.SUSPENDED), because)
    if life.fate is Fate.TRY_AGAIN:
        return _step(replace(over, state=State.QUEUED, pause_seconds=_pause(life)), because)
    if because is not None and because.why is StateCause.ASKED_TO_SUSPEND:
        # A person suspended it and let it go on before it had left.
        return _step(replace(over, state=State.QUEUED), because)
    return _step(replace(over, state=State.SUSPENDED), because)


def _pause(life: Life) -> int:
    before = life.failures + life.losses - 1
    return min(FIRST_PAUSE_SECONDS << before, LONGEST_PAUSE_SECONDS)


def _leave(life: Life, fate: Fate, because: StateReason) -> Step:
    state = State.STOPPING if fate is Fate.STOP else State.SUSPENDING
    leaving = replace(life, state=state, fate=fate, fate_because=because)
    return _step(leaving, because)


def _with(life: Life, member: Member) -> Life:
    return replace(
        life, members=tuple(member if one.number == member.number else one for one in life.members)
    )


def _step(life: Life, because: StateReason | None) -> Step:
    return Step(life, because, instructions_for(life))
