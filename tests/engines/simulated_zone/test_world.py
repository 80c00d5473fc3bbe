"""What a row says about a run at any instant, and that nothing told before is taken back."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from corral.core.devices import DeviceUse
from corral.engines.interface import Ending, Run, RunPhase, Start
from corral.engines.simulated_zone import logs, world
from corral.engines.simulated_zone.world import NEVER, SECOND, RunRow
from corral.engines.tasks import SimulatedUse, Simulation, Task

DOMAIN = "simulated:z"
DEVICES = {"gpu0": 1000, "gpu1": 1000}
T0 = 1_000 * SECOND


def row_of(
    simulation: Simulation, *, carried_us: int = 0, time_limit_seconds: int | None = None, **more: Any
) -> RunRow:
    task = Task(
        "ada", (), "w", cpu_milli=2000, memory_mib=4096, time_limit_seconds=time_limit_seconds, **more
    )
    uses = (DeviceUse("gpu0"), DeviceUse("gpu1", 300))
    start = Start("r", "w", "0", 1, "n", uses, task)
    return world.started(start, task, simulation, T0, device_mib=DEVICES, carried_us=carried_us)


def at(row: RunRow, seconds: float) -> Run:
    return world.run_at(row, T0 + round(seconds * SECOND), DOMAIN)


def phases(row: RunRow, after: int = 0, until: int = NEVER - 1) -> list[tuple[RunPhase, int]]:
    told = world.changes([row], after, until, DOMAIN)
    return [(run.phase, (run.since - T0) // SECOND) for run in told]


def test_run_starts_runs_and_ends_at_its_instants() -> None:
    row = row_of(Simulation(60))
    assert [at(row, second).phase for second in (0, 0.999, 1, 60.999, 61)] == [
        RunPhase.STARTING,
        RunPhase.STARTING,
        RunPhase.RUNNING,
        RunPhase.RUNNING,
        RunPhase.ENDED,
    ]
    ended = at(row, 1000)
    assert (ended.ending, ended.exit_code, ended.ended) == (Ending.SUCCEEDED, 0, T0 + 61 * SECOND)
    assert ended.ended_mark == (DOMAIN, T0 + 61 * SECOND)
    assert at(row, 30).notes == ("simulated",)


def test_exit_code_other_than_zero_is_a_failure() -> None:
    ended = at(row_of(Simulation(60, exit_code=3)), 100)
    assert (ended.ending, ended.exit_code, ended.detail) == (Ending.FAILED, 3, "exit code 3")


def test_time_limit_ends_what_takes_longer() -> None:
    ended = at(row_of(Simulation(60), time_limit_seconds=20), 21)
    assert (ended.ending, ended.timed_out, ended.exit_code) == (Ending.FAILED, True, None)
    assert "time limit of 20 s" in ended.detail
    assert at(row_of(Simulation(60), time_limit_seconds=60), 61).ending is Ending.SUCCEEDED


def test_work_without_a_duration_goes_on_until_it_is_told() -> None:
    row = row_of(Simulation(None))
    assert at(row, 10**9).phase is RunPhase.RUNNING
    assert phases(world.killed(row, T0 + 90 * SECOND))[-1] == (RunPhase.ENDED, 90)


def test_signal_lets_it_save_and_keeps_its_progress() -> None:
    row = world.signalled(row_of(Simulation(60, save_seconds=5)), T0 + 21 * SECOND, 30)
    assert phases(row)[-2:] == [(RunPhase.LEAVING, 21), (RunPhase.ENDED, 26)]
    assert (row.ending, row.exit_code, row.signal) == (Ending.SUSPENDED, 0, None)
    assert world.progress_us(row) == 20 * SECOND
    again = row_of(Simulation(60), carried_us=world.progress_us(row))
    assert phases(again)[-1] == (RunPhase.ENDED, 41)


def test_grace_ends_what_saves_for_longer() -> None:
    row = world.signalled(row_of(Simulation(60, save_seconds=100)), T0 + 21 * SECOND, 30)
    assert phases(row)[-1] == (RunPhase.ENDED, 51)
    assert (row.signal, row.exit_code) == (world.SIGKILL, None)
    assert "grace of 30 s" in row.detail


def test_second_signal_does_not_prolong_and_kill_shortens() -> None:
    row = world.signalled(row_of(Simulation(60, save_seconds=100)), T0 + 21 * SECOND, 30)
    assert world.signalled(row, T0 + 25 * SECOND, 3600) == row
    assert phases(world.killed(row, T0 + 30 * SECOND))[-1] == (RunPhase.ENDED, 30)
    assert world.killed(row, T0 + 51 * SECOND) == row


def test_what_has_not_begun_has_nothing_to_save() -> None:
    row = world.signalled(row_of(Simulation(60, save_seconds=5)), T0 + SECOND // 2, 30)
    assert [phase for phase, _ in phases(row)] == [RunPhase.STARTING, RunPhase.ENDED]
    ended = at(row, 1)
    assert (ended.ending, ended.started) == (Ending.SUSPENDED, None)
    assert world.progress_us(row) == 0


def test_lost_work_has_done_what_was_saved_before() -> None:
    row = world.lost(row_of(Simulation(60), carried_us=10 * SECOND), T0 + 31 * SECOND, "node n was lost")
    assert (row.ending, row.detail) == (Ending.LOST, "node n was lost")
    assert world.progress_us(row) == 10 * SECOND


def test_use_is_that_of_the_simulation_within_what_was_given() -> None:
    use = SimulatedUse(cpu_milli=500, memory_mib=9999, gpu_percent=70, gpu_memory_mib=400)
    row = row_of(Simulation(60, usage=use))
    counters = world.counters(row, T0 + 11 * SECOND)
    assert (counters.cpu_microseconds, counters.memory_bytes) == (5 * SECOND, 4096 * 1024 * 1024)
    assert (counters.gpu_memory_mib, counters.gpu_busy_percent) == (400 + 300, 140)
    assert world.counters(row, T0).cpu_microseconds == 0
    ended = at(row, 1000).usage
    assert ended is not None
    assert (ended.cpu_microseconds, ended.memory_bytes, ended.gpu_busy_percent) == (30 * SECOND, 0, 0)


def test_refused_start_holds_nothing_and_ends_at_once() -> None:
    start = Start("r", "w", "0", 1, "n", (DeviceUse("gpu0"),))
    row = world.refused(start, T0, "no " * 1000)
    assert phases(row) == [(RunPhase.ENDED, 0)]
    assert world.held_mib([row], T0) == {}
    assert len(row.detail) <= 500


def test_held_until_the_ending() -> None:
    row = row_of(Simulation(60))
    assert world.held_mib([row], T0 + 61 * SECOND - 1) == {("n", "gpu0"): 1000, ("n", "gpu1"): 300}
    assert world.held_mib([row], T0 + 61 * SECOND) == {}


def test_ends_come_before_starts_of_the_same_instant() -> None:
    first = row_of(Simulation(60))._replace(run="z")
    second = row_of(Simulation(60))._replace(run="a", starts_at=first.ends_at, runs_at=NEVER, ends_at=NEVER)
    told = world.changes([second, first], first.ends_at - 1, first.ends_at, DOMAIN)
    assert [(run.run, run.phase) for run in told] == [("z", RunPhase.ENDED), ("a", RunPhase.STARTING)]


OPERATIONS = st.lists(
    st.tuples(
        st.integers(1, 40 * SECOND),
        st.sampled_from(["look", "signal", "kill", "lose"]),
        st.integers(0, 20),
    ),
    max_size=8,
)
SIMULATIONS = st.builds(
    Simulation, st.one_of(st.none(), st.integers(0, 60)), st.integers(0, 3), save_seconds=st.integers(0, 30)
)


def outcome(row: RunRow, until: int) -> tuple[tuple[Run, ...], bytes]:
    return world.changes([row], 0, until, DOMAIN), logs.output(row, until, 0, 10**6).data


@given(SIMULATIONS, OPERATIONS, st.one_of(st.none(), st.integers(0, 60)), st.integers(0, 30))
def test_nothing_that_is_done_changes_what_was_told_before(
    simulation: Simulation, operations: list[tuple[int, str, int]], limit: int | None, carried: int
) -> None:
    row, now = row_of(simulation, time_limit_seconds=limit, carried_us=carried * SECOND), T0
    for wait_us, what, grace in operations:
        horizon = now + wait_us  # somebody looks here, and what is done comes after it
        now = horizon + 1
        told = outcome(row, horizon)
        before = row
        match what:
            case "signal":
                row = world.signalled(row, now, grace)
            case "kill":
                row = world.killed(row, now)
            case "lose":
                row = world.lost(row, now, "lost")
        assert outcome(row, horizon) == told
        if before.ends_at <= horizon:
            assert row == before
    runs = world.changes([row], 0, NEVER - 1, DOMAIN)
    order = [list(RunPhase).index(run.phase) for run in runs]
    assert order == sorted(set(order))
    assert [run.since for run in runs] == sorted(run.since for run in runs)
    assert sum(run.phase is RunPhase.ENDED for run in runs) == (row.ends_at < NEVER)
    worked = world.progress_us(row)
    assert min(row.carried_us, row.duration_us) <= worked <= max(row.duration_us, row.carried_us)


def test_output_tells_of_start_progress_and_end() -> None:
    row = row_of(Simulation(60))
    text = logs.output(row, row.ends_at, 0, 10_000).data.decode().splitlines()
    assert [line.split(" ", 1)[1] for line in text] == [
        "Started on n. Simulated: nothing is computed.",
        "Progress: 25 %",
        "Progress: 50 %",
        "Progress: 75 %",
        "Finished.",
    ]
    halfway = logs.output(row, T0 + 31 * SECOND, 0, 10_000)
    assert halfway.data.decode().splitlines() == text[:3]
    assert not halfway.ended
    assert logs.next_line(row, halfway.next) == T0 + 46 * SECOND
    assert logs.next_line(row, 10_000) is None


def test_output_of_a_resumed_attempt_says_what_was_done_before() -> None:
    row = row_of(Simulation(60), carried_us=20 * SECOND)
    text = logs.output(row, row.ends_at, 0, 10_000).data.decode()
    assert "Resumed: 20 of 60 s were done before." in text
    assert "25 %" not in text
    assert "50 %" in text
