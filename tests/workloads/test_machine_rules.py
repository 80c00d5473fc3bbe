"""The life of a workload, rule by rule: state, reason and instructions of each step, exactly."""

from dataclasses import replace

import pytest

from corral.core.plans import Action, Entitlement
from corral.workloads.machine import (
    End,
    Event,
    Fate,
    FoundFeasible,
    FoundInfeasible,
    Life,
    Member,
    PersonAsked,
    Phase,
    PlaceGranted,
    Preempted,
    PreemptionCancelled,
    ReplicaEnded,
    ReplicaObserved,
    StartMembers,
    Step,
    StopMembers,
    StopSent,
    handle,
    instructions_for,
    why_ended,
)
from corral.workloads.reasons import StateCause, StateReason
from corral.workloads.states import State, Wanted

ANA = {"by": "u1", "by_name": "Ana"}
STOP = PersonAsked(Wanted.STOP, "u1", "Ana")
SUSPEND = PersonAsked(Wanted.SUSPEND, "u1", "Ana")
RESUME = PersonAsked(Wanted.RUN, "u1", "Ana")
TAKEN = Preempted(Action.RECLAIM, "w2", "bert", Entitlement.GUARANTEE)
ASKED_TO_STOP = StateReason(StateCause.ASKED_TO_STOP, ANA)
ASKED_TO_SUSPEND = StateReason(StateCause.ASKED_TO_SUSPEND, ANA)
ASKED_TO_RESUME = StateReason(StateCause.ASKED_TO_RESUME, ANA)
WAS_TAKEN = StateReason(
    StateCause.TAKEN,
    {"rule": "reclaim", "for": "w2", "for_name": "bert", "entitlement": Entitlement.GUARANTEE.value},
)


def after(*events: Event, life: Life | None = None) -> Life:
    life = life or Life()
    for event in events:
        life = handle(life, event).life
    return life


def members(*phases: Phase) -> tuple[Member, ...]:
    return tuple(Member(number, phase) for number, phase in enumerate(phases))


QUEUED = Life()
# One replica runs and one is not known to the engine yet: there is always something to tell it.
STARTING = after(PlaceGranted(2, ["n0", "n1"]), ReplicaObserved(0, Phase.RUNNING))
RUNNING = after(PlaceGranted(1, ["n0"]), ReplicaObserved(0, Phase.RUNNING))
SUSPENDING = after(SUSPEND, life=STARTING)
STOPPING = after(STOP, life=STARTING)
SUCCEEDED = after(ReplicaEnded(0, End.SUCCEEDED), life=RUNNING)


@pytest.mark.parametrize(
    ("life", "event"),
    [
        (STARTING, FoundInfeasible({})),
        (STARTING, FoundFeasible()),
        (QUEUED, FoundFeasible()),
        (STOPPING, STOP),
        (SUCCEEDED, STOP),
        (SUSPENDING, SUSPEND),
        (STOPPING, SUSPEND),
        (SUCCEEDED, SUSPEND),
        (STARTING, RESUME),
        (STOPPING, RESUME),
        (SUCCEEDED, RESUME),
        (SUSPENDING, TAKEN),
        (QUEUED, TAKEN),
        (STARTING, PreemptionCancelled()),
        (SUSPENDING, PreemptionCancelled()),
        (STOPPING, PreemptionCancelled()),
        (after(TAKEN, StopSent(), life=STARTING), PreemptionCancelled()),
        (replace(SUSPENDING, fate_because=None), PreemptionCancelled()),
        (STARTING, StopSent()),
        (STARTING, ReplicaObserved(0, Phase.RUNNING)),
        (STARTING, ReplicaObserved(0, Phase.STARTING)),
        (after(ReplicaEnded(0, End.SUCCEEDED), life=STARTING), ReplicaObserved(0, Phase.RUNNING)),
        (after(ReplicaEnded(0, End.SUCCEEDED), life=STARTING), ReplicaEnded(0, End.FAILED, exit_code=1)),
    ],
)
def test_event_that_changes_nothing_repeats_what_the_engine_must_know(life: Life, event: Event) -> None:
    assert handle(life, event) == Step(life, None, instructions_for(life))


def test_engine_is_asked_to_start_what_it_does_not_know_and_to_end_what_it_does() -> None:
    phases = (Phase.GRANTED, Phase.STARTING, Phase.RUNNING, Phase.ENDED)
    life = Life(State.STARTING, attempt=1, members=members(*phases))
    assert instructions_for(life) == (StartMembers((0,), resume=False),)
    assert instructions_for(replace(life, attempt=2)) == (StartMembers((0,), resume=True),)
    for state in (State.SUSPENDING, State.STOPPING):
        assert instructions_for(replace(life, state=state)) == (StopMembers((1, 2)),)
        gone = replace(life, state=state, members=members(Phase.GRANTED, Phase.ENDED))
        assert instructions_for(gone) == ()
    assert instructions_for(QUEUED) == ()


@pytest.mark.parametrize("life", [QUEUED, Life(State.INFEASIBLE), Life(State.SUSPENDED)])
def test_waiting_work_is_stopped_and_suspended_at_once_with_who_asked(life: Life) -> None:
    stopped = replace(life, state=State.STOPPED, wanted=Wanted.STOP)
    assert handle(life, STOP) == Step(stopped, ASKED_TO_STOP)
    suspended = replace(life, state=State.SUSPENDED, wanted=Wanted.SUSPEND)
    assert handle(life, SUSPEND) == Step(suspended, ASKED_TO_SUSPEND)


@pytest.mark.parametrize(
    ("event", "wanted", "state", "fate", "because"),
    [
        (STOP, Wanted.STOP, State.STOPPING, Fate.STOP, ASKED_TO_STOP),
        (SUSPEND, Wanted.SUSPEND, State.SUSPENDING, Fate.SUSPEND, ASKED_TO_SUSPEND),
        (TAKEN, Wanted.RUN, State.SUSPENDING, Fate.SUSPEND, WAS_TAKEN),
    ],
)
def test_placed_work_leaves_with_its_fate_and_the_reason(
    event: Event, wanted: Wanted, state: State, fate: Fate, because: StateReason
) -> None:
    leaving = replace(STARTING, wanted=wanted, state=state, fate=fate, fate_because=because)
    assert handle(STARTING, event) == Step(leaving, because, (StopMembers((0,)),))


def test_taken_without_a_taker_names_none() -> None:
    step = handle(RUNNING, Preempted(Action.RECLAIM))
    assert step.because == StateReason(StateCause.TAKEN, {"rule": "reclaim", "for": None, "for_name": None})


def test_suspending_what_leaves_already_changes_only_what_is_wanted() -> None:
    leaving = after(TAKEN, life=STARTING)
    wanted = replace(leaving, wanted=Wanted.SUSPEND)
    assert handle(leaving, SUSPEND) == Step(wanted, None, instructions_for(leaving))


def test_resuming_what_still_leaves_changes_only_what_is_wanted() -> None:
    wanted = replace(SUSPENDING, wanted=Wanted.RUN)
    assert handle(SUSPENDING, RESUME) == Step(wanted, None, instructions_for(SUSPENDING))


@pytest.mark.parametrize("state", [State.SUSPENDED, State.STOPPED, State.FAILED])
def test_resumed_work_waits_again_as_if_nothing_had_failed(state: State) -> None:
    wanted = {State.SUSPENDED: Wanted.SUSPEND, State.STOPPED: Wanted.STOP, State.FAILED: Wanted.RUN}[state]
    over = Life(
        state,
        wanted,
        attempt=3,
        members=members(Phase.ENDED),
        retries=2,
        failures=2,
        losses=1,
        pause_seconds=20,
    )
    assert handle(over, RESUME) == Step(Life(attempt=3, retries=2), ASKED_TO_RESUME)


@pytest.mark.parametrize(
    ("phase", "state"), [(Phase.RUNNING, State.RUNNING), (Phase.STARTING, State.STARTING)]
)
def test_place_that_is_kept_gives_the_state_back(phase: Phase, state: State) -> None:
    taken = after(TAKEN, life=after(PlaceGranted(1, ["n0"]), ReplicaObserved(0, phase)))
    step = handle(taken, PreemptionCancelled())
    assert step.life == replace(taken, state=state, fate=None, fate_because=None)
    assert step.because == StateReason(StateCause.KEPT, {"for": "w2", "for_name": "bert"})


def test_told_is_remembered_while_it_leaves_and_only_then() -> None:
    leaving = after(TAKEN, life=STARTING)
    assert handle(leaving, StopSent()) == Step(
        replace(leaving, stop_sent=True), None, instructions_for(leaving)
    )
    assert not after(StopSent(), life=STARTING).stop_sent


def test_gang_runs_when_all_run_or_have_ended() -> None:
    half = after(
        PlaceGranted(2, ["n0", "n1"]), ReplicaObserved(0, Phase.RUNNING), ReplicaEnded(0, End.SUCCEEDED)
    )
    step = handle(half, ReplicaObserved(1, Phase.RUNNING))
    assert (step.life.state, step.because) == (State.RUNNING, StateReason(StateCause.ALL_RUN))
    starts = handle(
        Life(State.STARTING, attempt=1, members=members(Phase.GRANTED)), ReplicaObserved(0, Phase.STARTING)
    )
    assert (starts.life.state, starts.because, starts.instructions) == (State.STARTING, None, ())


FAILED = ReplicaEnded(0, End.FAILED, exit_code=3)
EXITED = StateReason(StateCause.EXITED, {"replica": 0, "of": 2, "detail": None, "exit_code": 3})


def test_failure_in_a_gang_decides_its_fate_and_ends_the_others() -> None:
    gang = after(
        *(ReplicaObserved(number, Phase.RUNNING) for number in range(2)), life=after(PlaceGranted(2, ["n0"]))
    )
    told = StateReason(StateCause.MEMBER_ENDED, {"replica": 0, "after": EXITED.as_dict()})
    step = handle(gang, FAILED)
    assert (step.life.state, step.because) == (State.STOPPING, told)
    assert (step.life.fate, step.life.fate_because, step.life.failures) == (Fate.FAIL, EXITED, 1)
    again = handle(replace(gang, retries=1), FAILED).life
    tries = {"after": EXITED.as_dict(), "number": 1, "most": 1}
    assert (again.fate, again.fate_because) == (Fate.TRY_AGAIN, StateReason(StateCause.TRIES_AGAIN, tries))


@pytest.mark.parametrize("end", [End.LOST, End.LEFT, End.REFUSED])
def test_losses_are_counted_apart_from_failures_and_are_tried_again(end: End) -> None:
    lost = handle(RUNNING, ReplicaEnded(0, end, detail="gone"))
    assert (lost.life.losses, lost.life.failures, lost.life.state) == (1, 0, State.QUEUED)
    assert lost.because is not None
    assert (lost.because.facts["number"], lost.because.facts["most"]) == (1, 4)
    last = handle(replace(RUNNING, losses=4), ReplicaEnded(0, end))
    assert (last.life.losses, last.life.state) == (5, State.FAILED)


@pytest.mark.parametrize(
    ("failures", "losses", "pause"),
    [(0, 0, 5), (1, 0, 10), (1, 1, 20), (5, 0, 160), (6, 0, 300), (7, 0, 300)],
)
def test_pause_doubles_with_every_attempt_that_was_lost_or_failed(
    failures: int, losses: int, pause: int
) -> None:
    step = handle(replace(RUNNING, retries=9, failures=failures, losses=losses), FAILED)
    assert (step.life.state, step.life.pause_seconds) == (State.QUEUED, pause)


@pytest.mark.parametrize(
    ("ended", "cause", "facts"),
    [
        (ReplicaEnded(1, End.LOST, detail="node gone"), StateCause.LOST, {"detail": "node gone"}),
        (ReplicaEnded(1, End.LEFT), StateCause.LOST, {"detail": None}),
        (ReplicaEnded(1, End.REFUSED, detail="exit code 2"), StateCause.REFUSED, {"detail": "exit code 2"}),
        (
            ReplicaEnded(1, End.FAILED, timed_out=True, out_of_memory=True, signal=9, time_limit_seconds=60),
            StateCause.TIME_LIMIT,
            {"detail": None, "time_limit_seconds": 60},
        ),
        (
            ReplicaEnded(1, End.FAILED, out_of_memory=True, signal=9, memory_mib=512, detail="out of memory"),
            StateCause.OUT_OF_MEMORY,
            {"detail": None, "memory_mib": 512},
        ),
        (
            ReplicaEnded(1, End.FAILED, signal=9, detail="ended by signal 9"),
            StateCause.KILLED,
            {"detail": None, "signal": 9},
        ),
        (
            ReplicaEnded(1, End.FAILED, exit_code=2, detail="reached its time limit of 60 s"),
            StateCause.EXITED,
            {"detail": None, "exit_code": 2},
        ),
        (
            ReplicaEnded(1, End.FAILED, exit_code=2, detail="exit code 2; full", explanation="full"),
            StateCause.EXITED,
            {"detail": "full", "exit_code": 2},
        ),
        (
            ReplicaEnded(1, End.FAILED, signal=9, detail="exit code 7", explanation="exit code 7"),
            StateCause.KILLED,
            {"detail": "exit code 7", "signal": 9},
        ),
        (
            ReplicaEnded(1, End.FAILED, exit_code=2, explanation="no such file"),
            StateCause.EXITED,
            {"detail": "no such file", "exit_code": 2},
        ),
    ],
)
def test_end_is_told_by_what_explains_it_best(
    ended: ReplicaEnded, cause: StateCause, facts: dict[str, object]
) -> None:
    assert why_ended(ended, 4) == StateReason(cause, {"replica": 1, "of": 4} | facts)


@pytest.mark.parametrize(
    ("life", "state", "because"),
    [
        (RUNNING, State.SUCCEEDED, StateReason(StateCause.ENDED_WELL)),
        (after(STOP, life=RUNNING), State.STOPPED, ASKED_TO_STOP),
        (after(SUSPEND, life=RUNNING), State.SUSPENDED, ASKED_TO_SUSPEND),
        (after(SUSPEND, RESUME, life=RUNNING), State.QUEUED, ASKED_TO_SUSPEND),
        (after(TAKEN, life=RUNNING), State.SUSPENDED, WAS_TAKEN),
        (after(TAKEN, SUSPEND, life=RUNNING), State.SUSPENDED, WAS_TAKEN),
    ],
)
def test_last_replica_that_goes_makes_the_fate_the_state(
    life: Life, state: State, because: StateReason
) -> None:
    told = replace(life, stop_sent=True, pause_seconds=7)
    step = handle(told, ReplicaEnded(0, End.SUCCEEDED))
    assert (step.life.state, step.because) == (state, because)
    assert (step.life.fate, step.life.fate_because, step.life.stop_sent) == (None, None, False)
    assert step.life.pause_seconds == 0
    if life.fate is not None:
        done = handle(told, ReplicaEnded(0, End.SUCCEEDED, said_done=True))
        assert (done.life.state, done.because) == (State.SUCCEEDED, StateReason(StateCause.SAID_DONE))


def test_failure_of_work_that_is_to_be_suspended_or_stopped_ends_as_wanted() -> None:
    gang = replace(
        after(PlaceGranted(2, ["n0"]), *(ReplicaObserved(n, Phase.RUNNING) for n in range(2))), retries=1
    )
    falling = after(FAILED, life=gang)
    assert after(SUSPEND, ReplicaEnded(1, End.LEFT), life=falling).state is State.SUSPENDED
    assert after(STOP, ReplicaEnded(1, End.LEFT), life=falling).state is State.STOPPED
    assert (
        after(SUSPEND, ReplicaEnded(1, End.LEFT), life=after(FAILED, life=replace(gang, retries=0))).state
        is State.FAILED
    )


def test_said_done_counts_only_for_work_that_was_told_to_go() -> None:
    failed = handle(RUNNING, ReplicaEnded(0, End.FAILED, exit_code=1, said_done=True))
    assert failed.life.state is State.FAILED
    assert failed.life.members == (Member(0, Phase.ENDED, End.FAILED, said_done=True),)
