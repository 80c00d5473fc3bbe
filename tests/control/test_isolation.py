"""What fails for one workload fails for it alone: in the same turn others go on, and its page says why."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from corral.control import observations
from corral.control.purge import Keeping
from corral.control.reports import keep_reports
from corral.core.refusals import Unavailable
from corral.core.runs import RunId
from corral.engines.interface import Start
from corral.engines.reports import Message, MessageKind
from corral.engines.simulated import Program
from corral.store.database import Transaction
from corral.workloads import service
from corral.workloads.records import load, note_member
from corral.workloads.tables import workload
from tests.apps import ADMIN_PASSWORD
from tests.campus import made
from tests.control.ground import Ground

Patch = pytest.MonkeyPatch


class OddError(Exception):
    """Something that nobody thought of."""


@dataclass
class Pair:
    """Two workloads that go the same way; one of them is odd."""

    ground: Ground
    odd: str
    other: str

    async def troubles(self) -> list[str]:
        return [one["sentence"] for one in (await self.ground.get(self.odd))["troubles"]]

    async def other_troubles(self) -> list[str]:
        return [one["sentence"] for one in (await self.ground.get(self.other))["troubles"]]


async def pair(ground: Ground) -> Pair:
    for name in ("odd", "other"):
        ground.programs[name] = Program(100, 1, 2)
    admin = ground.campus.admin
    return Pair(ground, await ground.submit(admin, "odd"), await ground.submit(admin, "other"))


def fail_in_engine(patched: Patch, both: Pair, method: str, how: Callable[[], Awaitable[None]]) -> None:
    """What the engine is told about the odd one fails."""
    real = getattr(both.ground.engine, method)

    async def told(names: Iterable[Any], *more: Any) -> None:
        chosen = list(names)
        for one in chosen:
            if (one.workload if isinstance(one, Start) else str(one)).startswith(both.odd):
                await how()
        await real(chosen, *more)

    patched.setattr(both.ground.engine, method, told)


async def raises() -> None:
    raise OddError("password=hunter2")


async def refuses() -> None:
    raise Unavailable("The supervisor of this run does not answer.", "Try again.")


async def hangs() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("how", [raises, refuses, hangs])
@pytest.mark.parametrize("step", ["start", "signal", "forget", "discard"])
async def test_engine_call_that_fails_for_one_workload_holds_up_no_other(
    ground: Ground, monkeypatch: Patch, step: str, how: Callable[[], Awaitable[None]]
) -> None:
    both = await pair(ground)
    admin = ground.campus.admin
    with monkeypatch.context() as patched:
        if step == "start":
            fail_in_engine(patched, both, "start", how)
            await ground.schedule_and_reconcile()
            assert {start.workload for start in ground.started} == {both.other}
            await ground.pass_time(10)
            assert await ground.states(both.odd, both.other) == ["starting", "running"]
        elif step == "signal":
            await ground.pass_time(10)
            fail_in_engine(patched, both, "signal", how)
            for one in (both.odd, both.other):
                made(await admin.post(f"/workloads/{one}/stop"))
            await ground.pass_time(20)
            assert await ground.states(both.odd, both.other) == ["stopping", "stopped"]
        else:
            fail_in_engine(patched, both, step, how)
            await ground.pass_time(120)
            assert await ground.states(both.odd, both.other) == ["succeeded", "succeeded"]
            if step == "discard":
                for one in (both.odd, both.other):
                    made(await admin.post(f"/workloads/{one}/delete"))
                await ground.settle()
                assert [await _discarded(ground, one) for one in (both.odd, both.other)] == [False, True]
            else:
                left = {run.run for run in (await ground.engine.observe()).runs}
                assert left == {f"{both.odd}-1-0"}
        began = time.monotonic()
        later = await ground.submit(admin, "later")
        await ground.settle()
        assert time.monotonic() - began < 10
        assert await ground.state(later) in ("starting", "running")
        if how is not hangs:
            (said,) = await both.troubles()
            assert ("does not answer" in said) is (how is refuses)
            assert "hunter2" not in said
        assert await both.other_troubles() == []
    await ground.restart()  # ends what hangs
    await ground.pass_time(240)
    assert await both.troubles() == []


async def _discarded(ground: Ground, workload_id: str) -> bool:
    rows = await ground.campus.database.read(
        lambda t: t.rows(workload.select().where(workload.c.id == workload_id))
    )
    return rows[0].discarded_at is not None


def _fails_for(odd: str, real: Callable[..., Any], at: int) -> Callable[..., Any]:
    def call(*args: Any, **more: Any) -> Any:
        if str(args[at]).startswith(odd):
            raise OddError
        return real(*args, **more)

    return call


@pytest.mark.parametrize("where", ["see", "follow up", "end", "load", "tasks"])
async def test_workload_that_cannot_be_recorded_holds_up_no_other(
    ground: Ground, monkeypatch: Patch, where: str
) -> None:
    both = await pair(ground)
    if where not in ("tasks", "load"):
        await ground.settle()
    with monkeypatch.context() as patched:
        _break(patched, both, where)
        if where in ("tasks", "load"):
            await ground.schedule()
        await ground.pass_time(10)
        if where == "end":
            await ground.pass_time(120)
        expected = "succeeded" if where == "end" else "running"
        assert await ground.state(both.other) == expected
        if where != "follow up":  # it was seen before that
            assert await ground.state(both.odd) != expected
        assert len(await both.troubles()) == 1, await both.troubles()
        assert await both.other_troubles() == []
    await ground.pass_time(240)
    assert await ground.states(both.odd, both.other) == ["succeeded", "succeeded"]
    assert await both.troubles() == []


def _break(patched: Patch, both: Pair, where: str) -> None:
    match where:
        case "see":
            patched.setattr(observations, "_see", _fails_for(both.odd, observations._see, 1))
        case "follow up":
            patched.setattr(observations, "_follow_up", _fails_for(both.odd, observations._follow_up, 1))
        case "end":
            real = observations._end

            def end(transaction: Any, loaded: Any, *more: Any) -> Any:
                if loaded.row.id == both.odd:
                    raise OddError
                return real(transaction, loaded, *more)

            patched.setattr(observations, "_end", end)
        case "load":

            def load_some(transaction: Any, ids: Iterable[str]) -> Any:
                chosen = list(ids)
                if both.odd in chosen:
                    raise OddError
                return load(transaction, chosen)

            patched.setattr("corral.control.observations.load", load_some)
        case "tasks":
            kind = both.ground.kinds["training"]
            tasks = kind.tasks

            def tasks_of(transaction: Any, row: Any, replicas: Any) -> Any:
                if row.id == both.odd:
                    raise OddError
                return tasks(transaction, row, replicas)

            patched.setattr(type(kind), "tasks", lambda _, *args: tasks_of(*args))


async def test_database_that_refuses_one_workload_takes_the_others(
    ground: Ground, monkeypatch: Patch
) -> None:
    """Undone by the database, not only by us: on PostgreSQL an error ends the transaction it is in."""
    both = await pair(ground)
    await ground.settle()

    def bad(transaction: Transaction, run: RunId, values: Any) -> None:
        note_member(transaction, run, values)
        if run.workload_id == both.odd:
            values = {"id": both.other, "name": "twice"}
            transaction.run(workload.insert().values(values))

    with monkeypatch.context() as patched:
        patched.setattr("corral.control.observations.note_member", bad)
        await ground.pass_time(10)
        assert await ground.states(both.odd, both.other) == ["starting", "running"]
        (said,) = await both.troubles()
        assert said.endswith("the database refused it (IntegrityError).")


async def test_report_that_cannot_be_kept_is_lost_alone(ground: Ground, monkeypatch: Patch) -> None:
    both = await pair(ground)
    await ground.pass_time(10)
    kept: list[str] = []

    def listener(transaction: Transaction, said: Sequence[Message]) -> Mapping[str, str | None]:
        if any(message.run.startswith(both.odd) for message in said):
            raise OddError
        kept.extend(message.run for message in said)
        return keep_reports(transaction, said)

    at = ground.now
    said = tuple(
        Message(f"{one}-1-0", 5, MessageKind.REPORT, at, {"loss": 1.0}) for one in (both.odd, both.other)
    )

    async def messages(after: dict[str, int], _limit: int = 0, runs: object = None) -> tuple[Message, ...]:
        return tuple(one for one in said if one.number > after.get(one.run, 0))

    with monkeypatch.context() as patched:
        patched.setattr(ground.engine, "messages", messages)
        patched.setattr(ground.zone.reconciler, "_listener", listener)
        await ground.settle()
        assert kept == [f"{both.other}-1-0"]
        (told,) = await both.troubles()
        assert told.startswith("Something that it reported could not be kept")
    await ground.pass_time(240)
    assert await ground.states(both.odd, both.other) == ["succeeded", "succeeded"]
    assert await both.troubles() == []


@pytest.mark.parametrize("chore", ["delete", "forget"])
async def test_old_work_that_cannot_be_removed_keeps_no_other(
    ground: Ground, monkeypatch: Patch, chore: str
) -> None:
    both = await pair(ground)
    keeping = Keeping(ended_work_days=100, deleted_work_days=10)
    await ground.pass_time(120)
    ground.campus.clock.advance(days=101)
    await ground.campus.admin.sign_in("admin", ADMIN_PASSWORD)
    await ground.take_over()
    with monkeypatch.context() as patched:
        if chore == "forget":
            await ground.campus.database.write(keeping.delete_ended_work, 500)
            await ground.settle()
            ground.campus.clock.advance(days=11)
            await ground.campus.admin.sign_in("admin", ADMIN_PASSWORD)
            forget = Keeping._forget

            def fails(self: Keeping, transaction: Transaction, ids: Sequence[str]) -> None:
                forget(self, transaction, ids)
                if both.odd in ids:
                    raise OddError

            patched.setattr(Keeping, "_forget", fails)
            assert await ground.campus.database.write(keeping.forget_deleted_work, 500) == 1
        else:
            patched.setattr(service, "delete_old", _fails_with(both, "corral.workloads.service.delete_old"))
            assert await ground.campus.database.write(keeping.delete_ended_work, 500) == 1
            assert await ground.states(both.odd, both.other) == ["succeeded", "deleted"]
        (told,) = await both.troubles()
        assert told.startswith("Its records could not be removed yet: an error of Corral itself (OddError)")
    assert await ground.campus.database.write(keeping.delete_ended_work, 500) == (chore == "delete")
    assert await ground.campus.database.write(keeping.forget_deleted_work, 500) == (chore == "forget")


def _fails_with(both: Pair, name: str) -> Callable[..., Any]:
    module, _, attribute = name.rpartition(".")
    real = getattr(__import__(module, fromlist=[attribute]), attribute)

    def call(transaction: Transaction, ids: Sequence[str]) -> None:
        real(transaction, ids)
        if both.odd in ids:
            raise OddError

    return call
