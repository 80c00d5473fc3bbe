"""Tables and migrations say the same on both databases, and the audit log cannot be changed."""

from collections.abc import Callable
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Table, delete, select, text, update
from sqlalchemy.exc import DBAPIError

from corral.api.callers import SYSTEM
from corral.audit.record import Subject, record
from corral.audit.tables import audit_entry, audit_posting
from corral.server.tables import metadata
from corral.store.database import Database, Transaction
from corral.store.migrate import (
    HEAD,
    MIGRATIONS,
    SchemaError,
    current_revision,
    known_revisions,
    upgrade,
    with_connection,
)


def differences(connection: Connection) -> list[Any]:
    def is_here(thing: Any, _name: object, kind: str, _reflected: bool, _other: object) -> bool:
        beside = connection.dialect.name == "sqlite" and kind == "table" and "sqlite_file" in thing.info
        return not beside

    options = {
        "compare_type": True,
        "compare_server_default": True,
        "target_metadata": metadata,
        "include_object": is_here,
    }
    context = MigrationContext.configure(connection, opts=options)
    return list(compare_metadata(context, metadata))


def test_migrations_make_the_tables_that_the_code_declares(database_url: str) -> None:
    assert with_connection(database_url, differences) == []


def test_comparison_would_notice_a_difference(database_url: str) -> None:
    statement = text("ALTER TABLE setting ADD COLUMN forgotten INTEGER")
    with_connection(database_url, lambda connection: connection.execute(statement))
    assert with_connection(database_url, differences)


def test_head_is_the_newest_migration() -> None:
    scripts = ScriptDirectory(str(MIGRATIONS))
    assert scripts.get_heads() == [HEAD]
    assert HEAD in known_revisions()


def test_upgrade_of_an_empty_database_and_again(empty_database_url: str) -> None:
    assert upgrade(empty_database_url) is None
    assert current_revision(empty_database_url) == HEAD
    assert upgrade(empty_database_url) == HEAD


def upgrade_to(url: str, revision: str) -> None:
    def work(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)

    with_connection(url, work)


def test_links_and_join_codes_of_an_older_corral_become_invitations(empty_database_url: str) -> None:
    upgrade_to(empty_database_url, "0017")

    rows = {
        "user_account": {"id": "u1", "name": "mei", "display_name": "Mei", "state": "active", "priority": 1},
        "organisation": {"id": "o1", "name": "Root", "name_key": "root", "path": "/o1/"},
        "role": {"id": "r1", "organisation_id": "o1", "name": "User", "name_key": "user", "description": ""}
        | {"permissions": "[]"},
    }
    offer = {"organisation_id": "o1", "role_id": "r1", "created_at": 5, "expires_at": 6}
    link = {"id": "i1", "invited_by": "u1", "mail": "a@b.example", "secret_hash": "hash"}
    code = {"id": "j1", "made_by": "u1", "code": "BCDFG23456", "seats": 40, "seats_taken": 3}

    def fill(connection: Connection) -> None:
        for table, row in rows.items():
            insert_row(connection, table, {**row, "created_at": 0, "generation": 1})
        insert_row(connection, "invitation", {**offer, **link})
        insert_row(connection, "join_code", {**offer, **code})

    with_connection(empty_database_url, fill)
    upgrade(empty_database_url)
    columns = "id, invited_by, mail, secret_hash, code, seats, seats_taken, created_at, expires_at"
    select_all = text(f"SELECT {columns} FROM invitation ORDER BY id")
    kept = with_connection(empty_database_url, lambda connection: connection.execute(select_all).all())
    assert kept == [
        ("i1", "u1", "a@b.example", "hash", None, 1, 0, 5, 6),
        ("j1", "u1", None, None, "BCDFG23456", 40, 3, 5, 6),
    ]


def insert_row(connection: Connection, table: str, row: dict[str, Any]) -> None:
    columns, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    connection.execute(text(f"INSERT INTO {table} ({columns}) VALUES ({values})"), row)


def test_schema_of_a_newer_version_is_refused(database_url: str) -> None:
    statement = text("UPDATE alembic_version SET version_num = '9999'")
    with_connection(database_url, lambda connection: connection.execute(statement))
    with pytest.raises(SchemaError, match="made by a newer Corral"):
        upgrade(database_url)
    assert current_revision(database_url) == "9999"


def _change(table: Table) -> Callable[[Transaction], object]:
    column = table.c.action
    return lambda transaction: transaction.run(update(table).values({column: "another"}))


def _delete(table: Table) -> Callable[[Transaction], object]:
    return lambda transaction: transaction.run(delete(table))


@pytest.mark.parametrize("table", [audit_entry, audit_posting], ids=lambda table: str(table.name))
@pytest.mark.parametrize("forge", [_change, _delete])
async def test_audit_log_is_append_only_in_the_database_itself(
    database: Database, table: Table, forge: Callable[[Table], Callable[[Transaction], object]]
) -> None:
    subject = Subject("user", "u", "Mei", "/o/")
    await database.write(record, SYSTEM, "user.create", subject)
    before = await database.read(lambda transaction: transaction.rows(select(table)))
    with pytest.raises(DBAPIError, match="append-only"):
        await database.write(forge(table))
    await database.write(record, SYSTEM, "user.create", subject)
    after = await database.read(lambda transaction: transaction.rows(select(table)))
    assert len(after) == len(before) + 1
    assert before[0] in after


def test_every_constraint_has_a_name_by_which_migrations_can_drop_it() -> None:
    for table in metadata.tables.values():
        for constraint in table.constraints:
            assert constraint.name, f"{table.name}: {constraint}"
