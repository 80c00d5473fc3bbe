"""What is recorded is complete, hides secrets, stays, and vanishes only with the change it tells of."""

import ast
from pathlib import Path

import pytest
from sqlalchemy import Table, delete, func, select, text, update
from sqlalchemy.exc import DBAPIError

import corral
from corral.audit.actions import ACTIONS
from corral.audit.record import MASK, Subject, masked, record
from corral.audit.search import Filters, find_entry, search
from corral.audit.tables import audit_entry, audit_posting
from corral.core.ids import Kind
from corral.core.refusals import Forbidden
from corral.store.database import Database, Transaction
from tests.audit.factories import Happening, Tree, create_caller, create_id, create_path, last_id, record_all
from tests.databases import TEMPLATE, migrated_postgresql_template, postgresql_database
from tests.runs import current_run


async def test_entry_tells_who_what_where_from_where_and_how_it_changed(database: Database) -> None:
    root = create_path()
    lab = create_path(root)
    caller = create_caller(root)
    subject = Subject("user", create_id(Kind.USER), "lin", lab)

    entry_id = await database.write(
        record, caller, "user.change", subject, before={"priority": 1}, after={"priority": 3}
    )
    row = await database.read(find_entry, caller, entry_id, Tree(root, lab).find_path)
    assert row._asdict() | {"at": None} == {
        "id": entry_id,
        "at": None,
        "actor_id": caller.user_id,
        "actor_name": "mei",
        "via": f"session:{caller.credential_id}",
        "action": "user.change",
        "object_kind": "user",
        "object_id": subject.id,
        "object_name": "lin",
        "organisation_id": last_id(lab),
        "organisation_path": lab,
        "result": "done",
        "reason": None,
        "before": {"priority": 1},
        "after": {"priority": 3},
        "address": "192.0.2.17",
        "request_id": "5f0c2b7e9d1a4c66",
    }


async def test_refusal_is_recorded_with_its_reason(database: Database) -> None:
    root = create_path()
    caller = create_caller(root)
    subject = Subject("user", create_id(Kind.USER), "lin", root)
    reason = "wrong name or password"
    await database.write(record, caller, "session.create", subject, result="refused", reason=reason)
    wanted = Filters(result="refused")
    (row,) = await database.read(search, caller, wanted, Tree(root).find_path, limit=10)
    assert (row.action, row.reason) == ("session.create", reason)


def test_secrets_are_masked_wherever_they_are() -> None:
    told = {
        "name": "mei",
        "password": "correct horse",
        "smtp": {"host": "mail.example.org", "Password": "battery", "secret": None},
        "keys": [{"private_key": "staple", "title": "laptop"}],
        "client_secret_hash": "abc",
    }
    assert masked(told) == {
        "name": "mei",
        "password": MASK,
        "smtp": {"host": "mail.example.org", "Password": MASK, "secret": None},
        "keys": [{"private_key": MASK, "title": "laptop"}],
        "client_secret_hash": MASK,
    }


async def test_masked_secret_never_reaches_the_database(database: Database) -> None:
    root = create_path()
    caller = create_caller(root)
    subject = Subject("settings", "mail", "mail", root)
    await database.write(record, caller, "setting.change", subject, after={"smtp_password": "hunter2"})

    def stored(transaction: Transaction) -> str:
        return str(transaction.rows(text("SELECT * FROM audit_entry")))

    assert "hunter2" not in await database.read(stored)
    assert MASK in await database.read(stored)


@pytest.mark.parametrize("table", [audit_entry, audit_posting], ids=lambda table: str(table.name))
@pytest.mark.parametrize("verb", ["update", "delete"])
async def test_database_itself_refuses_to_change_the_log(database: Database, verb: str, table: Table) -> None:
    await database.write(record_all, [Happening(create_path())])
    statement = update(table).values(action="user.create") if verb == "update" else delete(table)
    with pytest.raises(DBAPIError, match="append-only"):
        await database.write(lambda transaction: transaction.run(statement))
    count = select(func.count()).select_from(table)
    assert await database.read(lambda transaction: transaction.scalar(count)) == 1


@pytest.mark.postgresql
async def test_log_cannot_be_truncated() -> None:
    with postgresql_database(migrated_postgresql_template(current_run()), TEMPLATE) as url:
        database = Database(url)
        try:
            with pytest.raises(DBAPIError, match="append-only"):
                await database.write(lambda transaction: transaction.run(text("TRUNCATE audit_entry")))
        finally:
            await database.close()


async def test_entry_vanishes_with_the_change_that_failed(database: Database) -> None:
    root = create_path()
    caller = create_caller(root)

    def fail(transaction: Transaction) -> None:
        record(transaction, caller, "user.change", Subject("user", create_id(Kind.USER), "lin", root))
        raise Forbidden("No.", "Ask.")

    with pytest.raises(Forbidden):
        await database.write(fail)
    assert await database.read(search, caller, Filters(), Tree(root).find_path, limit=10) == []


async def test_action_that_nobody_could_search_for_is_not_recorded(database: Database) -> None:
    subject = Subject("user", create_id(Kind.USER), "lin", create_path())
    with pytest.raises(ValueError, match=r"user\.dance"):
        await database.write(record, create_caller(), "user.dance", subject)


def words_in_code() -> set[str]:
    """Every text in the code, but for the catalogue's own."""
    files = [file for file in Path(corral.__file__).parent.rglob("*.py") if file.name != "actions.py"]
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text())))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_catalogue_has_no_action_that_nothing_records() -> None:
    assert set(ACTIONS) - words_in_code() == set()
