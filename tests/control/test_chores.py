"""The chores: what is past its time goes, what is not stays, people and audit log are told once."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Table, func, insert, select

from corral.api.once import KEPT as ANSWER_KEPT
from corral.api.tables import idempotent_answer
from corral.audit.actions import ACTIONS
from corral.audit.tables import audit_entry
from corral.control import chores
from corral.control.chores import chores_loop, flush_loop
from corral.control.loop import Done, Loop
from corral.control.term import Term
from corral.events.record import publish
from corral.events.tables import event
from corral.identity import tables
from corral.identity.bootstrap import found_installation
from corral.store.database import Database, Transaction
from corral.store.leadership import LeadershipLost
from tests.clocks import ShiftedClock
from tests.control.virtual_time import VirtualTime

IDLE = timedelta(hours=24)


class Place:
    """An installation with its administrator, and the means to put expiring things into it."""

    def __init__(self, transaction: Transaction) -> None:
        found_installation(transaction, "hash")
        self.organisation = transaction.scalar(select(tables.organisation.c.id))
        self.path = transaction.scalar(select(tables.organisation.c.path))
        self.role = transaction.scalar(select(tables.role.c.id).where(tables.role.c.key == "user"))
        self.person = transaction.scalar(select(tables.user.c.id))

    def add(self, transaction: Transaction, table: Table, **values: Any) -> None:
        now = transaction.now
        offer = {"organisation_id": self.organisation, "role_id": self.role, "created_at": now}
        own = {"user_id": self.person, "secret_hash": values.get("id", ""), "created_at": now}
        common: dict[str, dict[str, Any]] = {
            "invitation": offer | {"invited_by": self.person, "seats": 5, "seats_taken": 2},
            "role_grant": offer | {"user_id": self.person},
            "session": own | {"last_seen_at": now, "address": "", "user_agent": "", "provider": "local"},
            "token": own | {"name": "t", "scopes": ["*"], "local": False},
            "login_link": own,
        }
        transaction.run(insert(table).values(**(common.get(table.name, {}) | values)))


@pytest.fixture
async def place(database: Database) -> Place:
    return await database.write(Place)


async def add(database: Database, place: Place, table: Table, **values: Any) -> None:
    await database.write(place.add, table, **values)


async def take_turn(loop: Loop) -> Done:
    """One turn of a loop without its waiting; the term is one that needs no leadership."""
    return await loop._turn(Term("chores", None, float("inf"), VirtualTime()))


async def do_chores(database: Database) -> Done:
    return await take_turn(chores_loop(database, session_idle=IDLE))


async def ids(database: Database, table: Table) -> list[str]:
    return await database.read(
        lambda tx: [row.id for row in tx.rows(select(table.c.id).order_by(table.c.id))]
    )


async def events(database: Database, kind: str) -> list[tuple[str, str | None, str | None]]:
    return await database.read(
        lambda tx: [
            (row.object_id, row.scope, row.user_id)
            for row in tx.rows(select(event).where(event.c.kind == kind).order_by(event.c.id))
        ]
    )


async def audited(database: Database, action: str) -> list[Any]:
    return list(
        await database.read(lambda tx: tx.rows(select(audit_entry).where(audit_entry.c.action == action)))
    )


async def test_nothing_to_do_changes_nothing(database: Database, place: Place) -> None:
    assert await do_chores(database) == Done(0, more=False)


async def test_sessions_end_at_their_time_or_when_idle(
    database: Database, place: Place, clock: ShiftedClock
) -> None:
    now = clock()
    for name, seen_ago, lasts in (("fresh", 1, 48), ("idle", 25, 48), ("over", 1, 0), ("almost", 23, 1)):
        await add(
            database,
            place,
            tables.session,
            id=name,
            last_seen_at=now - timedelta(hours=seen_ago),
            expires_at=now + timedelta(hours=lasts),
        )
    woken: list[str] = []
    database.hints.subscribe("identity", lambda: woken.append("identity"))
    assert (await do_chores(database)).things == 2
    assert await ids(database, tables.session) == ["almost", "fresh"]
    assert await events(database, "session") == [(place.person, None, place.person)]
    assert woken
    assert (await do_chores(database)).things == 0


@pytest.mark.parametrize(("kind", "form"), [("invitation", "secret_hash"), ("join_code", "code")])
async def test_invitation_that_expired_is_removed_and_audited_once(
    database: Database, place: Place, clock: ShiftedClock, kind: str, form: str
) -> None:
    table = tables.invitation
    for name, lasts in (("old", 1), ("new", 3)):
        ends = clock() + timedelta(hours=lasts)
        await add(database, place, table, id=name, expires_at=ends, **{form: name})
    clock.advance(hours=2)
    assert (await do_chores(database)).things == 1
    assert (await do_chores(database)).things == 0
    assert await ids(database, table) == ["new"]
    (entry,) = await audited(database, f"{kind}.expire")
    assert (entry.actor_name, entry.via, entry.object_id) == ("Corral", "system", "old")
    assert entry.organisation_id == place.organisation
    assert entry.before["role"] == "User"
    assert entry.action in ACTIONS
    assert await events(database, kind) == [("old", place.path, None)]


async def test_role_given_for_a_time_is_taken_back_and_everybody_concerned_is_told(
    database: Database, place: Place, clock: ShiftedClock
) -> None:
    await add(database, place, tables.role_grant, id="g-old", expires_at=clock() + timedelta(days=1))
    (before,) = await database.read(lambda tx: tx.rows(select(tables.user.c.generation)))
    clock.advance(days=1, seconds=1)
    assert (await do_chores(database)).things == 1
    assert (await do_chores(database)).things == 0
    assert "g-old" not in await ids(database, tables.role_grant)
    assert len(await ids(database, tables.role_grant)) == 1, "a grant without an end was taken"
    (entry,) = await audited(database, "grant.expire")
    assert entry.object_id == place.person
    assert entry.before["organisation"] == "Corral"
    assert entry.action in ACTIONS
    assert await events(database, "user") == [(place.person, place.path, place.person)]
    (after,) = await database.read(lambda tx: tx.rows(select(tables.user.c.generation)))
    assert after.generation == before.generation + 1


async def test_expired_token_stays_visible_for_30_days(
    database: Database, place: Place, clock: ShiftedClock
) -> None:
    await add(database, place, tables.token, id="ends", expires_at=clock() + timedelta(days=1))
    await add(database, place, tables.token, id="endless", expires_at=None)
    clock.advance(days=30)
    await do_chores(database)
    assert await ids(database, tables.token) == ["endless", "ends"]
    clock.advance(days=2)
    await do_chores(database)
    assert await ids(database, tables.token) == ["endless"]
    assert await events(database, "token") == [(place.person, None, place.person)]


async def test_login_links_tries_and_answers_are_forgotten(
    database: Database, place: Place, clock: ShiftedClock
) -> None:
    def fill(transaction: Transaction, suffix: str) -> None:
        soon = transaction.now + timedelta(minutes=10)
        place.add(transaction, tables.login_link, id=f"link {suffix}", expires_at=soon)
        place.add(transaction, tables.login_throttle, key=f"name {suffix}", tries=3, window_ends_at=soon)
        transaction.run(
            insert(idempotent_answer).values(
                principal_id="u",
                route="/r",
                key_hash=suffix,
                body_hash="",
                status=201,
                answer="",
                created_at=transaction.now,
            )
        )

    await database.write(fill, "old")
    clock.advance(seconds=ANSWER_KEPT.total_seconds() + 1)
    await database.write(fill, "new")
    assert (await do_chores(database)).things == 3
    assert await ids(database, tables.login_link) == ["link new"]
    left = await database.read(lambda tx: tx.rows(select(tables.login_throttle.c.key)))
    assert [row.key for row in left] == ["name new"]
    left = await database.read(lambda tx: tx.rows(select(idempotent_answer.c.key_hash)))
    assert [row.key_hash for row in left] == ["new"]


async def test_events_are_kept_for_7_days_and_the_newest_always(
    database: Database, clock: ShiftedClock
) -> None:
    async def left() -> list[int]:
        return await database.read(
            lambda tx: [row.id for row in tx.rows(select(event.c.id).order_by(event.c.id))]
        )

    for _ in range(3):
        await database.write(publish, "user", "u", 1)
    clock.advance(days=6)
    await database.write(publish, "user", "u", 1)
    await do_chores(database)
    assert await left() == [1, 2, 3, 4]
    clock.advance(days=2)
    await do_chores(database)
    assert await left() == [4]
    clock.advance(days=30)
    await do_chores(database)
    assert await left() == [4]


async def test_much_work_is_done_in_bounded_steps(
    database: Database, place: Place, clock: ShiftedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chores, "MOST_AT_ONCE", 10)

    def fill(transaction: Transaction) -> None:
        for number in range(25):
            place.add(
                transaction, tables.login_throttle, key=str(number), tries=1, window_ends_at=transaction.now
            )

    await database.write(fill)
    clock.advance(seconds=1)
    turns = [await do_chores(database) for _ in range(4)]
    assert turns == [Done(10, more=True), Done(10, more=True), Done(5), Done(0)]


async def test_one_failing_chore_does_not_keep_the_others_from_being_done(
    database: Database, place: Place, clock: ShiftedClock
) -> None:
    def fail(_transaction: Transaction, _most: int) -> int:
        raise ZeroDivisionError

    def count(transaction: Transaction, _most: int) -> int:
        transaction.run(
            insert(tables.login_throttle).values(
                key="done", tries=1, window_ends_at=transaction.now + timedelta(hours=1)
            )
        )
        return 1

    loop = chores_loop(database, session_idle=IDLE, more=[fail, count])
    with pytest.raises(ExceptionGroup) as failed:
        await take_turn(loop)
    assert failed.group_contains(ZeroDivisionError)
    assert (
        await database.read(lambda tx: tx.scalar(select(func.count()).select_from(tables.login_throttle)))
        == 1
    )


async def test_chores_of_a_replaced_holder_do_nothing(
    database: Database, place: Place, clock: ShiftedClock
) -> None:
    class Replaced(Term):
        def check(self, transaction: Transaction) -> None:
            raise LeadershipLost("epoch 1 is over")

    await add(database, place, tables.session, id="over", expires_at=clock())
    loop = chores_loop(database, session_idle=IDLE)
    with pytest.raises(LeadershipLost):
        await loop._turn(Replaced("chores", None, float("inf"), VirtualTime()))
    assert await ids(database, tables.session) == ["over"]


async def test_buffers_are_all_written_down_even_if_one_fails(database: Database) -> None:
    done: list[str] = []

    def flush(name: str) -> Callable[[], Any]:
        async def run() -> None:
            if name == "broken":
                raise ZeroDivisionError
            done.append(name)

        return run

    await take_turn(flush_loop(database, [flush("one"), flush("two")]))
    assert done == ["one", "two"]
    with pytest.raises(ExceptionGroup):
        await take_turn(flush_loop(database, [flush("broken"), flush("three")]))
    assert done == ["one", "two", "three"]
