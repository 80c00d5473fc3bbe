"""People from a CSV: a dry run that says what each line would do, then all lines or none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, insert, select

from corral.api.callers import IDENTITY, Caller
from corral.audit.record import Subject, record, record_all
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import FieldError, Invalid
from corral.events.record import publish
from corral.identity.ends import End, end_of_role
from corral.identity.grants import add_grant, admit, bump, user_changed
from corral.identity.login import SessionRules, link_row, make_login_link
from corral.identity.lookups import (
    Organisation,
    RoleFacts,
    check_grantable,
    find_node,
    find_role,
    find_user,
    held_at,
    people_condition,
    user_subject,
)
from corral.identity.models import Import, ImportedRow, ImportResult, LoginLink
from corral.identity.rules import ImportRow, read_people
from corral.identity.tables import login_link, membership, role_grant, user
from corral.store.database import Transaction
from corral.store.schema import any_of

IN_BATCH = 500


def import_people(
    transaction: Transaction, caller: Caller, wanted: Import, rules: SessionRules, console: str
) -> ImportResult:
    node = find_node(transaction, caller, wanted.organisation_id, Permission.PEOPLE_MANAGE)
    role = find_role(transaction, caller, wanted.role_id)
    check_grantable(caller, role, node)
    end = end_of_role(caller, role, node)
    rows = read_people(wanted.csv)
    known = _known(transaction, [row.name for row in rows])
    standing = _standing(transaction, caller, known, node, role)
    outcomes = [_outcome(caller, row, known.get(row.name), standing, node) for row in rows]
    errors = [one for one in outcomes if one.result == "error"]
    if errors and not wanted.dry_run:
        raise Invalid(
            f"{len(errors)} of {len(rows)} lines cannot be imported. Nobody was imported.",
            "Correct these lines and import again; a dry run shows every line.",
            errors=[
                FieldError("body.csv", f"Line {one.line}: {problem}", "Correct this line.")
                for one in errors[:20]
                for problem in one.problems
            ],
        )
    if not wanted.dry_run:
        for outcome in outcomes:
            if outcome.result == "add":
                _add(transaction, caller, known[outcome.name], node, role, end)
        links = _create(
            transaction,
            caller,
            [row for row, outcome in zip(rows, outcomes, strict=True) if outcome.result == "create"],
            node,
            role,
            end,
            rules.given_link_lifetime,
            console,
        )
        outcomes = [one.model_copy(update={"login_link": links.get(one.name)}) for one in outcomes]
    return ImportResult(
        dry_run=wanted.dry_run,
        rows=outcomes,
        created=sum(one.result == "create" for one in outcomes),
        added=sum(one.result == "add" for one in outcomes),
        errors=len(errors),
        role_expires_at=end.at,
        notice=end.notice,
    )


def _known(transaction: Transaction, names: list[str]) -> dict[str, str]:
    """Ids of the names that exist already."""
    found: dict[str, str] = {}
    for start in range(0, len(names), IN_BATCH):
        batch = names[start : start + IN_BATCH]
        rows = transaction.rows(select(user.c.name, user.c.id).where(user.c.name.in_(batch)))
        found.update({row.name: row.id for row in rows})
    return found


@dataclass(frozen=True, slots=True)
class _Standing:
    """How people who exist stand to the import: ids, found in a few statements for all of them."""

    seen: frozenset[str]
    managed: frozenset[str]
    members: frozenset[str]
    granted: frozenset[str]


def _standing(
    transaction: Transaction, caller: Caller, known: Mapping[str, str], node: Organisation, role: RoleFacts
) -> _Standing:
    def those(column: ColumnElement[str], *conditions: ColumnElement[bool]) -> frozenset[str]:
        statement = select(column).where(any_of(column, "ids"), *conditions)
        return frozenset(one for (one,) in transaction.rows(statement, ids))

    ids = {"ids": json.dumps([*known.values()])}
    granted = (role_grant.c.organisation_id == node.id, role_grant.c.role_id == role.id)
    return _Standing(
        seen=those(user.c.id, people_condition(caller.scopes(Permission.PEOPLE_READ))),
        managed=those(user.c.id, people_condition(caller.scopes(Permission.PEOPLE_MANAGE)))
        | {caller.user_id},
        members=those(membership.c.user_id, membership.c.organisation_id == node.id),
        granted=those(role_grant.c.user_id, *granted, held_at(transaction.now)),
    )


def _outcome(
    caller: Caller, row: ImportRow, user_id: str | None, standing: _Standing, node: Organisation
) -> ImportedRow:
    problems = list(row.problems)
    result: str = "create"
    if user_id is not None:
        if user_id not in standing.seen:
            problems.append("name: taken")  # by whom, and where they belong, is not told
        elif user_id in standing.members and user_id in standing.granted:
            result = "unchanged"
        else:
            result = "add"
            if user_id not in standing.managed and user_id not in standing.members:
                problems.append("name: belongs to organisations whose people you do not manage")
            if not caller.may(Permission.ROLES_GRANT, node.path):
                problems.append(f"role: giving one to existing people needs roles.grant on {node.name}")
    return ImportedRow.model_validate(
        {
            "line": row.line,
            "name": row.name,
            "display_name": row.display_name,
            "mail": row.mail,
            "result": "error" if problems else result,
            "problems": problems,
        }
    )


def _add(
    transaction: Transaction, caller: Caller, user_id: str, node: Organisation, role: RoleFacts, end: End
) -> None:
    person = find_user(transaction, caller, user_id)
    admit(transaction, caller, person, node)
    add_grant(transaction, user_id, role, node, end.at)
    told = _told(person.name, node, role, end)
    subject = user_subject(transaction, user_id, person.name)
    record(transaction, caller, "membership.create", subject, after=told)
    user_changed(transaction, user_id, bump(transaction, user_id))


def _create(
    transaction: Transaction,
    caller: Caller,
    rows: list[ImportRow],
    node: Organisation,
    role: RoleFacts,
    end: End,
    lifetime: timedelta,
    console: str,
) -> dict[str, LoginLink]:
    """New accounts, all in a few statements: a year's students are thousands. Their links by name."""
    if not rows:
        return {}
    now = transaction.now
    ids = {row.name: new_id(Kind.USER, now) for row in rows}
    managed = caller.until([Permission.PEOPLE_MANAGE], node.path)
    links = {row.name: make_login_link(now, lifetime, console, managed) for row in rows}
    at = {"created_at": now}
    place = {"organisation_id": node.id, **at}
    transaction.run(
        insert(user),
        [
            {
                "id": ids[row.name],
                "name": row.name,
                "display_name": row.display_name,
                "mail": row.mail,
                "state": "active",
                "priority": row.priority,
                "generation": 1,
                **at,
            }
            for row in rows
        ],
    )
    transaction.run(insert(membership), [{"user_id": one, **place} for one in ids.values()])
    grants = [
        {"id": new_id(Kind.GRANT, now), "user_id": one, "role_id": role.id, "expires_at": end.at, **place}
        for one in ids.values()
    ]
    transaction.run(insert(role_grant), grants)
    transaction.run(
        insert(login_link), [link_row(links[name], one, caller.user_id, now) for name, one in ids.items()]
    )
    subjects = [
        (Subject("user", ids[row.name], row.name, node.path), None, _told(row.name, node, role, end))
        for row in rows
    ]
    record_all(transaction, caller, "user.create", subjects)
    # One event for all: it tells lists to look again, and nobody can have opened these people yet.
    publish(transaction, "user", ids[rows[0].name], 1, scope=node.path)
    transaction.hint(IDENTITY)
    return links


def _told(name: str, node: Organisation, role: RoleFacts, end: End) -> dict[str, str]:
    told = {"name": name, "organisation": node.name, "role": role.name, "by": "import"}
    return told if end.at is None else {**told, "role_expires_at": end.at.isoformat()}
