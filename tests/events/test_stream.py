"""The event stream: what arrives, for whom, from where it resumes, and when it ends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from fastapi import FastAPI
from sqlalchemy import delete, text

from corral.core.permissions import Permission
from corral.events.feed import EventFeed
from corral.events.record import publish
from corral.events.tables import event
from corral.events.visibility import NEEDED
from corral.store.database import Database, Transaction
from tests.events.streams import LAB, OTHER, ROOT, Door, Message, Stream, connected, make_app, person

ALL = tuple(Permission)


@pytest.fixture
def stopping() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
def door() -> Door:
    return Door(person("u-root", *ALL, path=ROOT), person("u-lab", *ALL), person("u-nobody"))


@pytest.fixture
async def feed(database: Database, stopping: asyncio.Event) -> AsyncIterator[EventFeed]:
    feed = EventFeed(database, stopping, capacity=20)
    async with feed.running():
        yield feed


@pytest.fixture
def app(feed: EventFeed, door: Door) -> FastAPI:
    return make_app(feed, door)


async def tell(
    database: Database,
    object_id: str,
    kind: str = "user",
    scope: str | None = LAB,
    user_id: str | None = None,
) -> None:
    await database.write(publish, kind, object_id, 3, scope=scope, user_id=user_id)


async def ids(stream: Stream, count: int) -> list[str]:
    """The object ids of the next changes."""
    return [(await message(stream)).data["id"] for _ in range(count)]


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def message(stream: Stream) -> Message:
    found = await stream.next()
    assert found is not None, "the stream ended"
    return found


async def test_stream_starts_with_the_current_id_and_tells_changes(database: Database, app: FastAPI) -> None:
    await tell(database, "before")
    async with connected(app, "u-lab") as stream:
        assert await message(stream) == Message("ready", 1, {"id": 1})
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        await tell(database, "u-new")
        assert await message(stream) == Message(
            "changed", 2, {"kind": "user", "id": "u-new", "generation": 3, "scope": LAB}
        )


async def test_stream_of_an_empty_journal_starts_at_zero(app: FastAPI) -> None:
    async with connected(app, "u-lab") as stream:
        assert await message(stream) == Message("ready", 0, {"id": 0})


async def test_anonymous_caller_is_refused(app: FastAPI) -> None:
    async with connected(app, "stranger") as stream:
        assert b"/problems/unauthenticated" in await stream.body()
        assert stream.status == 401


async def test_only_what_the_caller_may_see_arrives(database: Database, app: FastAPI) -> None:
    async with (
        connected(app, "u-lab") as lab,
        connected(app, "u-root") as root,
        connected(app, "u-nobody") as no,
    ):
        for stream in (lab, root, no):
            await message(stream)
        await tell(database, "in the lab")
        await tell(database, "above", scope=ROOT)
        await tell(database, "beside", scope=OTHER)
        await tell(database, "about nobody", scope=OTHER, user_id="u-nobody")
        await tell(database, "own session", "session", None, "u-lab")
        await tell(database, "unknown kind", "secret plan")
        for user in ("u-lab", "u-root", "u-nobody"):
            await tell(database, "last", "token", None, user)
        assert await ids(lab, 3) == ["in the lab", "own session", "last"]
        assert await ids(root, 5) == ["in the lab", "above", "beside", "about nobody", "last"]
        assert await ids(no, 2) == ["about nobody", "last"]


@pytest.mark.parametrize(("kind", "permission"), NEEDED.items())
async def test_each_kind_needs_its_permission(
    database: Database, app: FastAPI, door: Door, kind: str, permission: Permission
) -> None:
    door.callers["u-with"] = person("u-with", permission)
    door.callers["u-without"] = person("u-without", *(set(ALL) - {permission}))
    async with connected(app, "u-with") as allowed, connected(app, "u-without") as refused:
        await message(allowed)
        await message(refused)
        await tell(database, "thing", kind)
        await tell(database, "last", "token", None, "u-without")
        assert await ids(allowed, 1) == ["thing"]
        assert await ids(refused, 1) == ["last"]


class TestResuming:
    async def test_goes_on_after_the_last_id(self, database: Database, app: FastAPI) -> None:
        for name in ("one", "two", "three"):
            await tell(database, name)
        await tell(database, "unseen", scope=OTHER)
        async with connected(app, "u-lab", last_event_id="1") as stream:
            assert await message(stream) == Message("ready", 1, {"id": 4})
            assert await ids(stream, 2) == ["two", "three"]
            await tell(database, "live")
            assert await ids(stream, 1) == ["live"]

    async def test_takes_the_id_from_the_query_too(self, database: Database, app: FastAPI) -> None:
        await tell(database, "one")
        await tell(database, "two")
        async with connected(app, "u-lab", query="last_event_id=1") as stream:
            await message(stream)
            assert await ids(stream, 1) == ["two"]

    async def test_up_to_date_client_gets_nothing_twice(self, database: Database, app: FastAPI) -> None:
        await tell(database, "one")
        async with connected(app, "u-lab", last_event_id="1") as stream:
            assert await message(stream) == Message("ready", 1, {"id": 1})
            await tell(database, "two")
            assert await ids(stream, 1) == ["two"]

    @pytest.mark.parametrize("unknown", ["99", "-1", "abc", "", "1" * 19, "\u0661"])
    async def test_unknown_or_future_id_is_told_to_reset(
        self, database: Database, app: FastAPI, unknown: str
    ) -> None:
        await tell(database, "one")
        async with connected(app, "u-lab", query=f"last_event_id={unknown}") as stream:
            assert await message(stream) == Message("reset", 1, {"id": 1})
            await tell(database, "two")
            assert await ids(stream, 1) == ["two"]

    async def test_id_before_what_is_kept_is_told_to_reset(self, database: Database, app: FastAPI) -> None:
        for number in range(6):
            await tell(database, f"number {number}")
        await database.write(lambda tx: tx.run(delete(event).where(event.c.id <= 3)))
        async with connected(app, "u-lab", last_event_id="2") as stream:
            assert (await message(stream)).name == "reset"
        async with connected(app, "u-lab", last_event_id="3") as stream:
            assert (await message(stream)).name == "ready"
            assert await ids(stream, 3) == ["number 3", "number 4", "number 5"]

    async def test_too_long_absence_is_told_to_reset(self, database: Database, app: FastAPI) -> None:
        def many(transaction: Transaction) -> None:
            for _ in range(1002):
                publish(transaction, "user", "u", 1, scope=LAB)

        await database.write(many)
        async with connected(app, "u-lab", last_event_id="1") as stream:
            assert await message(stream) == Message("reset", 1002, {"id": 1002})

    async def test_id_that_another_process_told_is_known(
        self, database: Database, database_url: str, app: FastAPI
    ) -> None:
        other = Database(database_url)
        async with connected(app, "u-lab") as listening:
            await message(listening)
            # No hint reaches this process, so its feed is behind.
            await tell(other, "elsewhere")
            async with connected(app, "u-lab", last_event_id="1") as stream:
                assert await message(stream) == Message("ready", 1, {"id": 1})
            assert await ids(listening, 1) == ["elsewhere"]
        await other.close()


class TestSlowAndIdleClients:
    async def test_client_that_reads_too_slowly_is_told_to_reset_and_goes_on(
        self, database: Database, app: FastAPI
    ) -> None:
        async with connected(app, "u-lab") as slow, connected(app, "u-root") as quick:
            await message(slow)
            await message(quick)
            slow.may_send.clear()
            for number in range(30):
                await tell(database, f"number {number}")
                assert await ids(quick, 1) == [f"number {number}"]
            slow.may_send.set()
            while (found := await message(slow)).name != "reset":
                pass
            assert found == Message("reset", 30, {"id": 30})
            await tell(database, "after")
            assert await ids(slow, 1) == ["after"]

    async def test_idle_stream_gets_a_comment_that_moves_its_place_on(
        self, database: Database, app: FastAPI, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("corral.events.stream.HEARTBEAT_SECONDS", 0.2)
        async with connected(app, "u-nobody") as stream:
            await message(stream)
            await tell(database, "unseen")
            while (beat := await message(stream)).id == 0:
                assert beat == Message("", 0, None, ": alive")
            assert beat == Message("", 1, None, ": alive")

    async def test_journal_is_read_once_for_all_subscribers(
        self, database: Database, app: FastAPI, feed: EventFeed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with (
            connected(app, "u-lab") as one,
            connected(app, "u-lab") as two,
            connected(app, "u-root") as three,
        ):
            for stream in (one, two, three):
                await message(stream)
            reads = []
            monkeypatch.setattr(database, "observer", lambda verb, seconds, done: reads.append(verb))
            await tell(database, "thing")
            for stream in (one, two, three):
                assert await ids(stream, 1) == ["thing"]
            assert reads.count("read") <= 2


class TestEnding:
    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("corral.api.standing.SPREAD_SECONDS", 0.0)

    async def test_stream_ends_with_the_session(self, database: Database, app: FastAPI, door: Door) -> None:
        async with connected(app, "u-lab") as stream:
            await message(stream)
            del door.callers["u-lab"]
            await database.write(lambda transaction: transaction.hint("identity"))
            assert await stream.next() is None
        assert door.rechecks == 2, "the recheck did not say that it is no sign of life"

    async def test_lost_hint_is_made_up_for(
        self, app: FastAPI, door: Door, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("corral.api.standing.CHECK_SECONDS", 0.1)
        async with connected(app, "u-lab") as stream:
            await message(stream)
            del door.callers["u-lab"]
            assert await stream.next() is None

    @pytest.mark.parametrize("what", ["credential", "role"])
    async def test_what_ends_by_itself_ends_on_time(
        self, database: Database, app: FastAPI, door: Door, what: str
    ) -> None:
        """No hint, and long before the next look in any case."""
        end = database.now() + timedelta(seconds=0.3)
        lab = door.callers["u-lab"]
        door.callers["u-lab"] = (
            replace(lab, expires_at=end)
            if what == "credential"
            else replace(lab, authorities=tuple(replace(one, until=end) for one in lab.authorities))
        )
        async with asyncio.timeout(10), connected(app, "u-lab") as stream:
            await message(stream)
            await eventually(lambda: door.rechecks > 0)
            if what == "credential":
                del door.callers["u-lab"]
                assert await stream.next() is None
            else:
                door.callers["u-lab"] = replace(lab, authorities=())
                assert (await message(stream)).name == "reset"

    async def test_who_reads_nothing_is_cut_off(
        self, database: Database, app: FastAPI, door: Door, feed: EventFeed
    ) -> None:
        async with connected(app, "u-lab") as stream:
            await message(stream)
            stream.may_send.clear()
            await tell(database, "stuck")
            del door.callers["u-lab"]
            await database.write(lambda transaction: transaction.hint("identity"))
            await eventually(lambda: not feed._subscriptions)

    async def test_changed_authority_holds_at_once_and_tells_to_reset(
        self, database: Database, app: FastAPI, door: Door
    ) -> None:
        async with connected(app, "u-lab") as stream:
            await message(stream)
            door.callers["u-lab"] = person("u-lab", Permission.ROLES_READ, path=OTHER)
            await database.write(lambda transaction: transaction.hint("identity"))
            assert (await message(stream)).name == "reset"
            await tell(database, "not any more")
            await tell(database, "instead", "role", OTHER)
            assert await ids(stream, 1) == ["instead"]

    async def test_unchanged_authority_goes_on_quietly(
        self, database: Database, app: FastAPI, door: Door
    ) -> None:
        async with connected(app, "u-lab") as stream:
            await message(stream)
            await database.write(lambda transaction: transaction.hint("identity"))
            await tell(database, "thing")
            assert await ids(stream, 1) == ["thing"]

    async def test_all_streams_end_at_once_when_the_server_stops(
        self, app: FastAPI, stopping: asyncio.Event
    ) -> None:
        async with connected(app, "u-lab") as one, connected(app, "u-root") as two:
            await message(one)
            await message(two)
            stopping.set()
            assert await one.next() is None
            assert await two.next() is None
        async with connected(app, "u-lab") as late:
            assert b"/problems/unavailable" in await late.body()
            assert late.status == 503

    async def test_ninth_stream_of_a_person_is_refused_until_one_is_closed(
        self, app: FastAPI, feed: EventFeed
    ) -> None:
        async with asyncio.TaskGroup():
            streams = [connected(app, "u-lab") for _ in range(8)]
            opened = [await stream.__aenter__() for stream in streams]
            for stream in opened:
                await message(stream)
            async with connected(app, "u-lab") as ninth:
                assert b"/problems/too-many-streams" in await ninth.body()
                assert ninth.status == 429
            async with connected(app, "u-root") as of_another:
                await message(of_another)
            await streams[0].__aexit__(None, None, None)
            async with connected(app, "u-lab") as again:
                assert (await message(again)).name == "ready"
            for one in streams[1:]:
                await one.__aexit__(None, None, None)
        assert not feed._subscriptions
        assert not feed._per_person


async def test_feed_recovers_when_the_database_was_away(
    database: Database, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral.events.feed._FIRST_DELAY_SECONDS", 0.01)
    async with connected(app, "u-lab") as stream:
        await message(stream)
        await database.write(lambda tx: tx.run(text("ALTER TABLE event RENAME TO gone")))
        failed = asyncio.Event()
        monkeypatch.setattr(database, "observer", lambda verb, seconds, done: done or failed.set())
        await database.write(lambda transaction: transaction.hint("events"))
        await asyncio.wait_for(failed.wait(), 20)
        await database.write(lambda tx: tx.run(text("ALTER TABLE gone RENAME TO event")))
        await tell(database, "after")
        assert await ids(stream, 1) == ["after"]
