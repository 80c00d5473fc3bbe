"""The life of a workload, event by event; and whatever the events, what always holds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corral.core.plans import Action, Entitlement, Infeasible, Lack, LackKind, Reason, ReasonKind
from corral.core.resources import Resource
from corral.workloads.machine import (
    MOST_LOSSES,
    End,
    Event,
    FoundFeasible,
    FoundInfeasible,
    ImpossibleEventError,
    Life,
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
    may_start,
)
from corral.workloads.reasons import StateCause, StateReason, infeasible_facts
from corral.workloads.states import LEAVING, OVER, PRESENT, UNPLACED, State, Wanted

STOP = PersonAsked(Wanted.STOP, "u1", "Ana")
SUSPEND = PersonAsked(Wanted.SUSPEND, "u1", "Ana")
RESUME = PersonAsked(Wanted.RUN, "u1", "Ana")
NEVER = FoundInfeasible(
    infeasible_facts(Infeasible("w1", Reason(ReasonKind.NO_ROOM, 0, 1), Lack(LackKind.DEVICES, 6, 4)), "q1")
)
TAKEN = Preempted(Action.RECLAIM, "w2", "bert")


def after(life: Life, *events: Event) -> Life:
    for event in events:
        life = handle(life, event).life
    return life


def last(life: Life, *events: Event) -> Step:
    for event in events[:-1]:
        life = handle(life, event).life
    return handle(life, events[-1])


def placed(replicas: int = 1, **changes: int) -> Life:
    return after(Life(**changes), PlaceGranted(replicas, ["n0"]))


def running(replicas: int = 1, **changes: int) -> Life:
    return after(
        placed(replicas, **changes), *(ReplicaObserved(each, Phase.RUNNING) for each in range(replicas))
    )


def why(step: Step) -> StateCause:
    assert step.because is not None
    return step.because.why


def test_place_begins_an_attempt_whose_replicas_are_started() -> None:
    step = handle(Life(), PlaceGranted(2, ["n1", "n0"]))
    assert (step.life.state, step.life.attempt) == (State.STARTING, 1)
    assert step.instructions == (StartMembers((0, 1), resume=False),)
    assert step.because == StateReason(StateCause.PLACED, {"nodes": "n0, n1"})


def test_gang_runs_when_its_last_replica_does() -> None:
    first = last(placed(2), ReplicaObserved(0, Phase.RUNNING))
    assert (first.life.state, first.because) == (State.STARTING, None)
    assert handle(first.life, ReplicaObserved(1, Phase.RUNNING)).life.state is State.RUNNING


def test_replica_that_is_known_to_the_engine_is_not_started_again() -> None:
    assert last(placed(2), ReplicaObserved(0, Phase.STARTING)).instructions == (
        StartMembers((1,), resume=False),
    )


def test_work_whose_replicas_all_end_with_0_has_succeeded() -> None:
    half = after(running(2), ReplicaEnded(0, End.SUCCEEDED, exit_code=0))
    assert half.state is State.RUNNING
    assert after(half, ReplicaEnded(1, End.SUCCEEDED, exit_code=0)).state is State.SUCCEEDED


def test_failed_replica_ends_the_others_of_its_gang() -> None:
    step = last(running(2), ReplicaEnded(1, End.FAILED, exit_code=3, detail="exit code 3"))
    assert step.life.state is State.STOPPING
    assert step.because is not None
    assert step.because.sentence() == "Replica 1 ended with exit code 3. The other replicas are ended too."
    assert step.instructions == (StopMembers((0,)),)
    closed = handle(step.life, ReplicaEnded(0, End.LEFT))
    assert closed.life.state is State.FAILED
    assert closed.because == StateReason(
        StateCause.EXITED, {"replica": 1, "of": 2, "detail": None, "exit_code": 3}
    )


def test_infeasible_work_gets_no_place_until_it_is_found_feasible() -> None:
    step = handle(Life(), NEVER)
    assert step.life.state is State.INFEASIBLE
    assert step.because is not None
    told = "Can never run because it asks for 6 GPUs on one node, and the largest node has 4."
    assert step.because.sentence() == told
    with pytest.raises(ImpossibleEventError):
        handle(step.life, PlaceGranted(1, ["n0"]))
    back = handle(step.life, FoundFeasible())
    assert (back.life.state, why(back)) == (State.QUEUED, StateCause.FEASIBLE)
    assert after(back.life, PlaceGranted(1, ["n0"])).state is State.STARTING


def test_work_that_holds_a_place_or_was_suspended_by_hand_is_not_infeasible() -> None:
    for life in (placed(), running(), after(Life(), SUSPEND), after(Life(), STOP)):
        assert handle(life, NEVER).life == life
    assert after(running(), TAKEN, ReplicaEnded(0, End.LEFT), NEVER).state is State.INFEASIBLE


def test_people_stop_and_suspend_infeasible_work_at_once() -> None:
    assert after(Life(), NEVER, STOP).state is State.STOPPED
    assert after(Life(), NEVER, SUSPEND).state is State.SUSPENDED
    assert after(Life(), NEVER, SUSPEND, RESUME).state is State.QUEUED
    assert after(Life(), NEVER, RESUME).state is State.INFEASIBLE


@pytest.mark.parametrize(
    ("reason", "lack", "expected"),
    [
        (
            Reason(ReasonKind.NO_ROOM, 0, 1),
            Lack(LackKind.DEVICES, 1, 0),
            "it asks for 1 GPU on one node, and no node has one",
        ),
        (Reason(ReasonKind.NO_ROOM, 0, 1), Lack(LackKind.NODES), "there is no node in its pools"),
        (
            Reason(ReasonKind.NO_ROOM, 0, 1),
            Lack(LackKind.SLICE_MIB, 98304, 81920),
            "it asks for 96 GiB of one GPU, and the largest that can be shared has 80 GiB",
        ),
        (
            Reason(ReasonKind.NO_ROOM, 0, 1),
            Lack(LackKind.CPU_MILLI, 64000, 16000),
            "it asks for 64 CPU on one node, and the largest node has 16",
        ),
        (
            Reason(ReasonKind.NO_ROOM, 0, 1),
            Lack(LackKind.MEMORY_MIB, 2048, 512),
            "it asks for 2 GiB of memory on one node, and the largest node has 512 MiB",
        ),
        (
            Reason(ReasonKind.NO_ROOM, 0, 1),
            Lack(LackKind.COMBINED),
            "no one node has all that a replica asks for",
        ),
        (
            Reason(ReasonKind.NO_ROOM, 0, 1),
            Lack(LackKind.PROFILE, names=("1g.10gb",)),
            "no GPU can be cut into 1g.10gb",
        ),
        (
            Reason(ReasonKind.NO_ROOM, 0, 1),
            Lack(LackKind.TAINTS, names=("a", "b")),
            "every node has a taint that keeps it away: a, b",
        ),
        (
            Reason(ReasonKind.NO_ROOM, 0, 1),
            Lack(LackKind.DEVICES, 6, 4, restricted=True),
            "it asks for 6 GPUs on one node, and the largest node open to it has 4",
        ),
        (
            Reason(ReasonKind.NO_ROOM, 0, 1),
            Lack(LackKind.USABLE_DEVICES, 6, 4),
            "it asks for 6 GPUs on one node, and no node has more than 4 that it can use",
        ),
        (
            Reason(ReasonKind.NO_DOMAIN, 4, 8, 2, level="rack"),
            None,
            "its 8 replicas start together in one rack, and none has room for more than 4",
        ),
        (
            Reason(ReasonKind.LIMIT, 0, 6000, 4000, "q1", Resource.GPU_MILLI),
            None,
            "it asks for 6 GPU, and the limit of its queue is 4 GPU",
        ),
        (
            Reason(ReasonKind.LIMIT, 0, 6000, 4000, "q0", Resource.GPU_MILLI),
            None,
            "it asks for 6 GPU, and the limit of a queue above its own is 4 GPU",
        ),
        (
            Reason(ReasonKind.KEPT_BY_FIXED_QUEUES, 0, 6000, 4000, None, Resource.GPU_MILLI),
            None,
            "it asks for 6 GPU, and only 4 GPU are not kept by fixed queues",
        ),
    ],
)
def test_arithmetic_of_infeasible_work_in_words(reason: Reason, lack: Lack | None, expected: str) -> None:
    because = StateReason(StateCause.INFEASIBLE, infeasible_facts(Infeasible("w1", reason, lack), "q1"))
    assert StateReason.from_dict(because.as_dict()).sentence() == f"Can never run because {expected}."


@pytest.mark.parametrize(
    ("ended", "expected"),
    [
        (ReplicaEnded(0, End.FAILED, exit_code=1), "It ended with exit code 1."),
        (
            ReplicaEnded(0, End.FAILED, exit_code=127, explanation="cannot find file train.py"),
            "It ended with exit code 127: cannot find file train.py.",
        ),
        (ReplicaEnded(0, End.FAILED, signal=11), "It was ended by signal 11."),
        (
            ReplicaEnded(0, End.FAILED, signal=9, out_of_memory=True, memory_mib=64),
            "It ran out of memory at its limit of 64 MiB.",
        ),
        (
            ReplicaEnded(0, End.FAILED, signal=9, timed_out=True, time_limit_seconds=60),
            "It reached its time limit of 60 s.",
        ),
    ],
)
def test_failure_says_in_words_what_happened(ended: ReplicaEnded, expected: str) -> None:
    step = last(running(), ended)
    assert step.life.state is State.FAILED
    assert step.because is not None
    assert step.because.sentence() == expected


def test_failed_attempt_is_tried_again_after_longer_and_longer_pauses() -> None:
    life = running(retries=2)
    first = last(life, ReplicaEnded(0, End.FAILED, exit_code=1))
    assert (first.life.state, first.life.pause_seconds, why(first)) == (
        State.QUEUED,
        5,
        StateCause.TRIES_AGAIN,
    )
    again = after(first.life, PlaceGranted(1, ["n0"]), ReplicaEnded(0, End.FAILED, exit_code=1))
    assert (again.state, again.pause_seconds, again.attempt) == (State.QUEUED, 10, 2)
    assert (
        after(again, PlaceGranted(1, ["n0"]), ReplicaEnded(0, End.FAILED, exit_code=1)).state is State.FAILED
    )


def test_time_limit_is_not_tried_again() -> None:
    assert after(running(retries=5), ReplicaEnded(0, End.FAILED, timed_out=True)).state is State.FAILED


def test_lost_work_starts_again_without_having_asked_for_retries_but_not_for_ever() -> None:
    life = running()
    for _ in range(MOST_LOSSES - 1):
        life = after(life, ReplicaEnded(0, End.LOST))
        assert life.state is State.QUEUED
        life = after(life, PlaceGranted(1, ["n0"]), ReplicaObserved(0, Phase.RUNNING))
    assert after(life, ReplicaEnded(0, End.LOST)).state is State.FAILED


def test_start_that_is_refused_says_why() -> None:
    step = last(placed(), ReplicaEnded(0, End.REFUSED, detail="bubblewrap is missing."))
    assert step.because is not None
    assert step.because.sentence() == (
        "It could not be started: bubblewrap is missing. It is tried again (1 of 4)."
    )


def test_taken_work_is_told_then_suspended_and_may_start_again_by_itself() -> None:
    step = last(running(), TAKEN)
    assert (step.life.state, step.instructions) == (State.SUSPENDING, (StopMembers((0,)),))
    gone = handle(step.life, ReplicaEnded(0, End.LEFT))
    assert (gone.life.state, may_start(gone.life)) == (State.SUSPENDED, True)
    assert gone.because is not None
    assert gone.because.sentence() == "Suspended: bert takes its queue's fair share."
    again = handle(gone.life, PlaceGranted(1, ["n0"]))
    assert again.instructions == (StartMembers((0,), resume=True),)


@pytest.mark.parametrize(
    ("entitlement", "expected"),
    [
        (Entitlement.GUARANTEE, "Suspended: bert takes back its queue's guarantee."),
        (Entitlement.SURPLUS, "Suspended: bert takes its queue's fair share of what is left over."),
    ],
)
def test_reason_tells_guarantee_and_surplus_apart(entitlement: Entitlement, expected: str) -> None:
    step = last(running(), Preempted(Action.RECLAIM, "w2", "bert", entitlement))
    because = step.life.fate_because
    assert because is not None
    assert StateReason.from_dict(because.as_dict()).sentence() == expected


@pytest.mark.parametrize("end", [End.SUCCEEDED, End.FAILED, End.LEFT, End.LOST])
def test_any_end_after_the_notice_is_suspended(end: End) -> None:
    assert after(running(), TAKEN, ReplicaEnded(0, end, exit_code=0)).state is State.SUSPENDED


def test_work_that_said_done_has_succeeded_although_it_was_told_to_go() -> None:
    step = last(running(), TAKEN, ReplicaEnded(0, End.LEFT, said_done=True))
    assert (step.life.state, why(step)) == (State.SUCCEEDED, StateCause.SAID_DONE)


def test_place_that_is_no_longer_needed_is_left_to_its_owner_until_it_was_told() -> None:
    kept = last(running(), TAKEN, PreemptionCancelled())
    assert (kept.life.state, why(kept), kept.instructions) == (State.RUNNING, StateCause.KEPT, ())
    assert after(running(), TAKEN, StopSent(), PreemptionCancelled()).state is State.SUSPENDING


def test_person_suspends_and_lets_it_go_on() -> None:
    suspended = after(running(), SUSPEND, ReplicaEnded(0, End.LEFT))
    assert (suspended.state, may_start(suspended)) == (State.SUSPENDED, False)
    resumed = after(suspended, RESUME)
    assert (resumed.state, may_start(resumed)) == (State.QUEUED, True)


def test_suspension_that_is_taken_back_before_it_left_goes_on_afterwards() -> None:
    assert after(running(), SUSPEND, RESUME, ReplicaEnded(0, End.LEFT)).state is State.QUEUED


def test_waiting_work_is_suspended_at_once() -> None:
    assert after(Life(), SUSPEND).state is State.SUSPENDED


@pytest.mark.parametrize("before", [[], [TAKEN], [SUSPEND], [TAKEN, SUSPEND]])
def test_stop_always_wins(before: list[Event]) -> None:
    step = last(running(), *before, STOP)
    assert step.life.state is State.STOPPING
    stopped = handle(step.life, ReplicaEnded(0, End.LEFT))
    assert stopped.life.state is State.STOPPED
    assert stopped.because is not None
    assert stopped.because.sentence() == "Ana stopped it."


def test_waiting_work_stops_at_once() -> None:
    assert after(Life(), STOP).state is State.STOPPED


def test_stop_while_a_gang_falls_apart_is_not_tried_again() -> None:
    life = after(
        running(2, retries=3), ReplicaEnded(0, End.FAILED, exit_code=1), STOP, ReplicaEnded(1, End.LEFT)
    )
    assert life.state is State.STOPPED


@pytest.mark.parametrize(
    "over", [[STOP], [PlaceGranted(1, ["n0"]), ReplicaEnded(0, End.FAILED, exit_code=1)]]
)
def test_stopped_and_failed_work_can_be_started_again(over: list[Event]) -> None:
    again = after(Life(), *over, RESUME)
    assert (again.state, again.failures, may_start(again)) == (State.QUEUED, 0, True)


def test_work_that_has_succeeded_stays_so() -> None:
    done = after(running(), ReplicaEnded(0, End.SUCCEEDED, exit_code=0))
    assert after(done, STOP, SUSPEND, RESUME, TAKEN) == done


def test_place_for_work_that_may_not_start_is_refused() -> None:
    with pytest.raises(ImpossibleEventError):
        handle(after(Life(), STOP), PlaceGranted(1, ["n0"]))


def events_of(life: Life) -> st.SearchStrategy[Event]:
    """What can happen next."""
    possible: list[st.SearchStrategy[Event]] = [
        st.sampled_from(
            [STOP, SUSPEND, RESUME, TAKEN, PreemptionCancelled(), StopSent(), NEVER, FoundFeasible()]
        ),
    ]
    if may_start(life):
        possible.append(st.integers(1, 3).map(lambda replicas: PlaceGranted(replicas, ["n0"])))
    if life.members and life.state in PRESENT:
        numbers = st.integers(0, len(life.members) - 1)
        possible.append(st.builds(ReplicaObserved, numbers, st.sampled_from([Phase.STARTING, Phase.RUNNING])))
        possible.append(
            st.builds(
                ReplicaEnded,
                numbers,
                st.sampled_from(End),
                exit_code=st.integers(0, 255),
                said_done=st.booleans(),
                timed_out=st.booleans(),
            )
        )
    return st.one_of(possible)


@settings(deadline=None)
@given(st.data(), st.integers(0, 2))
def test_whatever_happens(data: st.DataObject, retries: int) -> None:
    life = Life(retries=retries)
    for _ in range(data.draw(st.integers(1, 25))):
        event = data.draw(events_of(life))
        step = handle(life, event)
        before, life = life, step.life
        live = [one for one in life.members if one.phase is not Phase.ENDED]
        # A state without an attempt has nothing on any node; one with an attempt has something left.
        assert bool(live) == (life.state in PRESENT)
        assert (life.state in LEAVING) == (life.fate is not None)
        assert (step.because is not None) or life.state is before.state
        assert life.attempt - before.attempt == isinstance(event, PlaceGranted)
        if life.state in LEAVING:
            assert not any(isinstance(one, StartMembers) for one in step.instructions)
        else:
            assert not any(isinstance(one, StopMembers) for one in step.instructions)
        if before.wanted is Wanted.STOP and event is not RESUME:
            assert life.wanted is Wanted.STOP
            assert life.state in {State.STOPPING, *OVER}
        if life.state is State.INFEASIBLE:
            assert (life.wanted, may_start(life)) == (Wanted.RUN, False)
        if not isinstance(event, PlaceGranted):
            again = handle(life, event)
            assert (again.life, again.because) == (life, None)
        if step.because is not None:
            assert step.because == StateReason.from_dict(step.because.as_dict())
            assert step.because.sentence().endswith(".")


@given(st.data())
def test_every_replica_that_ends_brings_the_work_to_rest(data: st.DataObject) -> None:
    life = Life(retries=1)
    for _ in range(data.draw(st.integers(1, 15))):
        life = handle(life, data.draw(events_of(life))).life
    if life.state in PRESENT:
        for member in life.members:
            life = after(life, ReplicaEnded(member.number, End.LEFT))
    assert life.state in OVER | UNPLACED
    assert life.fate is None
