"""The loop class: hints, period, leadership, back-off, stopping. Time is virtual, databases are real."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
import structlog
from sqlalchemy import insert, select, update

from corral.api.metrics import REGISTRY
from corral.control.loop import Done, Loop
from corral.control.pace import Pace
from corral.control.term import Term
from corral.platform.tables import setting
from corral.store import leadership
from corral.store.database import Database, Transaction
from corral.store.leadership import LeadershipLost
from corral.store.leadership import leadership as leadership_table
from tests.control.virtual_time import VirtualTime


class Turns:
    """A turn whose outcomes the test chooses; remembers the terms and times it was called with."""

    def __init__(self, time: VirtualTime) -> None:
        self._time = time
        self.at: list[float] = []
        self.terms: list[Term] = []
        self.next: Callable[[Term], Done] = lambda _: Done()
        self.hold: asyncio.Event | None = None
        self.cut_off = False
        self._in_progress = False
        self._held = False
        time.busy = self._is_busy

    def __call__(self, term: Term) -> Awaitable[Done]:
        # Not in the coroutine: from the moment it is made something is going to happen.
        self._in_progress = True
        return self._run(term)

    async def _run(self, term: Term) -> Done:
        self.at.append(self._time.now())
        self.terms.append(term)
        try:
            if self.hold is not None:
                self._held = True
                await self.hold.wait()
            return self.next(term)
        except asyncio.CancelledError:
            self.cut_off = True
            raise
        finally:
            # After the loop has been told that the turn is over.
            soon = asyncio.get_running_loop().call_soon
            soon(soon, self._over)

    def _over(self) -> None:
        self._in_progress = self._held = False

    def _is_busy(self) -> bool:
        waits_for_the_test = self._held and self.hold is not None and not self.hold.is_set()
        return self._in_progress and not waits_for_the_test

    def __len__(self) -> int:
        return len(self.at)


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()


@pytest.fixture
def turns(time: VirtualTime) -> Turns:
    return Turns(time)


def make_loop(database: Database, turns: Turns, time: VirtualTime, **options: object) -> Loop:
    pace = Pace(60, first_delay_seconds=4, chance=lambda: 1.0)
    arguments: dict[str, object] = {"topics": ["things"], "pace": pace, "timing": time, "chance": lambda: 1.0}
    return Loop("test", database, turns, 60, **(arguments | options))  # type: ignore[arg-type]


@asynccontextmanager
async def running(loop: Loop) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(loop.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def hint(database: Database, topic: str = "things") -> None:
    await database.write(lambda tx: tx.hint(topic))


def let_expire(transaction: Transaction) -> None:
    transaction.run(update(leadership_table).values(expires_at=transaction.now - timedelta(days=1)))


async def another_takes_the_leadership(database: Database) -> None:
    def take(transaction: Transaction) -> None:
        let_expire(transaction)
        assert leadership.acquire(transaction, "test", "another", timedelta(seconds=30))

    await database.write(take)


def metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, {"loop": "test", **labels}) or 0.0


async def test_turns_come_at_the_start_and_every_period(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    async with running(make_loop(database, turns, time)):
        await time.pass_on(125)
    assert turns.at == [1000, 1060, 1120]


async def test_hint_wakes_the_loop(database: Database, turns: Turns, time: VirtualTime) -> None:
    async with running(make_loop(database, turns, time)):
        await time.pass_on(10)
        await hint(database)
        await time.idle()
    assert turns.at == [1000, 1010]


async def test_hint_on_another_topic_does_not(database: Database, turns: Turns, time: VirtualTime) -> None:
    async with running(make_loop(database, turns, time)):
        await time.pass_on(10)
        await hint(database, "other things")
        await time.idle()
    assert turns.at == [1000]


async def test_hints_during_a_turn_become_one_more_turn(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    turns.hold = asyncio.Event()
    async with running(make_loop(database, turns, time)):
        await time.idle()
        for _ in range(5):
            await hint(database)
        await time.idle()
        turns.hold.set()
        await time.pass_on(10)
    assert len(turns) == 2


async def test_more_to_do_is_done_at_once_but_not_forever(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    turns.next = lambda _: Done(things=500, more=True)
    pace = Pace(60, most_in_a_row=5, breath_seconds=3)
    async with running(make_loop(database, turns, time, pace=pace)):
        await time.idle()
        assert turns.at == [1000] * 5
        turns.next = lambda _: Done(things=1)
        await time.pass_on(4)
    assert turns.at[5:] == [1003]


async def test_failing_turn_is_logged_counted_and_tried_again_later_and_later(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    def fail(_: Term) -> Done:
        raise ZeroDivisionError("no pools")

    turns.next = fail
    before = metric("corral_loop_turns_total", result="failed")
    with structlog.testing.capture_logs() as logs:
        async with running(make_loop(database, turns, time)):
            await time.pass_on(13)
            assert turns.at == [1000, 1004, 1012]
            assert metric("corral_loop_consecutive_failures") == 3
            await hint(database)
            await time.pass_on(10)
            assert len(turns) == 3, "a hint shortened the back-off"
            turns.next = lambda _: Done()
            await time.pass_on(10)
            assert turns.at[3:] == [1028]
            assert metric("corral_loop_consecutive_failures") == 0
    failures = [entry for entry in logs if entry["event"] == "turn failed"]
    assert metric("corral_loop_turns_total", result="failed") - before == len(failures) == 3
    assert isinstance(failures[0]["exc_info"], ZeroDivisionError)
    assert failures[0]["loop"] == "test"


async def test_loop_fails_after_three_turns_and_says_why_without_secrets(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    def fail(_: Term) -> Done:
        raise PermissionError(13, "Permission denied", "/srv/secret/place")

    turns.next = fail
    loop = make_loop(database, turns, time)
    async with running(loop):
        await time.pass_on(5)
        assert len(turns) == 2
        assert loop.failing() is None, "the next turn may repair it"
        await time.pass_on(8)
        failing = loop.failing()
        assert failing is not None
        assert (failing.name, failing.detail) == ("test", "Permission denied")
        turns.next = lambda _: Done()
        await time.pass_on(20)
        assert loop.failing() is None


async def test_loop_whose_turn_does_not_end_fails(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    turns.hold = asyncio.Event()
    loop = make_loop(database, turns, time)
    async with running(loop):
        await time.pass_on(80)
        assert loop.failing() is None
        await time.pass_on(15)
        failing = loop.failing()
        assert failing is not None
        assert failing.detail == "a turn does not end"


async def test_turn_that_takes_too_long_is_cut_off_and_counts_as_failed(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    turns.hold = asyncio.Event()
    async with running(make_loop(database, turns, time, longest_turn_seconds=45)):
        await time.pass_on(44)
        assert not turns.cut_off
        await time.pass_on(2)
        assert turns.cut_off
        assert metric("corral_loop_consecutive_failures") == 1


async def test_only_one_of_two_processes_takes_turns(database: Database, database_url: str) -> None:
    one, two = VirtualTime(), VirtualTime()
    first, second = Turns(one), Turns(two)
    other_process = Database(database_url)
    async with running(make_loop(database, first, one)):
        await one.idle()
        async with running(make_loop(other_process, second, two)):
            await two.pass_on(25)
    await other_process.close()
    assert len(first) == 1
    assert len(second) == 0


async def test_stop_finishes_the_turn_and_gives_the_lease_back(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    turns.hold = asyncio.Event()
    loop = make_loop(database, turns, time)
    async with running(loop) as task:
        await time.idle()
        loop.stop()
        await time.idle()
        assert not task.done()
        turns.hold.set()
        await asyncio.wait_for(task, 10)
    assert not turns.cut_off
    assert len(turns) == 1
    assert metric("corral_loop_leadership_held") == 0
    taken = await database.write(leadership.acquire, "test", "another", timedelta(seconds=30))
    assert taken is not None
    assert taken.epoch == turns.terms[0].epoch + 1


async def test_stopping_while_idle_is_immediate(database: Database, turns: Turns, time: VirtualTime) -> None:
    loop = make_loop(database, turns, time)
    async with running(loop) as task:
        await time.idle()
        loop.stop()
        await asyncio.wait_for(task, 10)


async def test_cancelling_leaves_no_turn_behind(database: Database, turns: Turns, time: VirtualTime) -> None:
    turns.hold = asyncio.Event()
    async with running(make_loop(database, turns, time)) as task:
        await time.idle()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
    assert turns.cut_off


async def test_lease_is_renewed_at_a_third_while_a_long_turn_runs(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    turns.hold = asyncio.Event()
    async with running(make_loop(database, turns, time, leadership_seconds=30)):
        assert await time.idle() == pytest.approx(10)
        term = turns.terms[0]
        assert term.deadline == pytest.approx(1027)
        await time.pass_on(100)
        assert term.deadline == pytest.approx(1127)
        assert not turns.cut_off
        assert len(turns) == 1


async def test_turn_is_cut_off_when_another_process_took_over(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    turns.hold = asyncio.Event()
    before = metric("corral_loop_turns_total", result="lost")
    async with running(make_loop(database, turns, time)):
        await time.idle()
        await another_takes_the_leadership(database)
        await time.pass_on(11)
        assert turns.cut_off
        assert metric("corral_loop_leadership_held") == 0
    assert metric("corral_loop_turns_total", result="lost") == before + 1


async def test_guarded_write_of_a_replaced_holder_is_refused(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    def guarded(transaction: Transaction, term: Term) -> None:
        term.check(transaction)
        transaction.run(
            insert(setting).values(key="late", value={}, generation=1, updated_at=transaction.now)
        )

    async with running(make_loop(database, turns, time)):
        await time.idle()
        await another_takes_the_leadership(database)
        with pytest.raises(LeadershipLost):
            await database.write(guarded, turns.terms[0])
    assert await database.read(lambda tx: tx.rows(select(setting.c.key))) == []


async def test_machine_that_slept_refuses_outside_calls_before_anything_else(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    turns.hold = asyncio.Event()
    async with running(make_loop(database, turns, time)):
        await time.idle()
        term = turns.terms[0]
        term.check_deadline(20)
        with pytest.raises(LeadershipLost, match=r"30\.0 s needed"):
            term.check_deadline(30)
        time.jump(3600)
        with pytest.raises(LeadershipLost):
            term.check_deadline()


async def test_loop_comes_back_after_its_lease_was_lost(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    async with running(make_loop(database, turns, time)):
        await time.idle()
        await another_takes_the_leadership(database)
        await time.pass_on(30)
        assert len(turns) == 1
        await database.write(let_expire)
        await time.pass_on(10)
        assert len(turns) == 2
        assert turns.terms[1].epoch == turns.terms[0].epoch + 2


async def test_turn_that_sees_the_lease_lost_is_not_a_failure(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    def lost(_: Term) -> Done:
        raise LeadershipLost("epoch 1 is over")

    turns.next = lost
    before = metric("corral_loop_turns_total", result="lost")
    async with running(make_loop(database, turns, time)):
        await time.idle()
        assert metric("corral_loop_turns_total", result="lost") == before + 1
        assert metric("corral_loop_consecutive_failures") == 0


async def test_database_that_goes_away_ends_the_term_at_its_deadline(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    turns.hold = asyncio.Event()
    async with running(make_loop(database, turns, time)):
        await time.idle()
        await database.write(
            lambda tx: tx.connection.exec_driver_sql("ALTER TABLE leadership RENAME TO gone")
        )
        await time.pass_on(26)
        assert not turns.cut_off
        await time.pass_on(1)
        assert turns.cut_off
        await database.write(
            lambda tx: tx.connection.exec_driver_sql("ALTER TABLE gone RENAME TO leadership")
        )
        turns.hold = None
        await time.pass_on(11)
        assert len(turns) == 2


async def test_loop_of_each_process_needs_no_lease(database: Database, database_url: str) -> None:
    one, two = VirtualTime(), VirtualTime()
    first, second = Turns(one), Turns(two)
    async with (
        running(make_loop(database, first, one, exclusive=False)),
        running(make_loop(database, second, two, exclusive=False)),
    ):
        await one.pass_on(61)
        await two.pass_on(61)
        await database.read(lambda tx: first.terms[0].check(tx))
        first.terms[0].check_deadline(10_000)
    assert len(first) == len(second) == 2


async def test_lag_since_the_first_hint_is_measured(
    database: Database, turns: Turns, time: VirtualTime
) -> None:
    turns.hold = asyncio.Event()
    async with running(make_loop(database, turns, time)):
        await time.idle()
        await hint(database)
        before = metric("corral_loop_lag_seconds_sum")
        await time.pass_on(5)
        turns.hold.set()
        await time.pass_on(1)
    assert metric("corral_loop_lag_seconds_sum") - before == pytest.approx(5.05)


def test_name_that_does_not_fit_is_refused(turns: Turns) -> None:
    with pytest.raises(ValueError, match="more than 80 characters"):
        Loop("schedule", None, turns, 1, zone="z" * 80)  # type: ignore[arg-type]
