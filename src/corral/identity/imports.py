"""People from a CSV: a rehearsal that says what each line would do, then all lines or none."""

from datetime import timedelta

from sqlalchemy import insert, select

from corral.api.callers import Caller
from corral.audit.record import Subject, record, record_all
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import FieldError, Invalid
from corral.events.record import publish
from corral.identity.grants import add_grant, admit, bump, may_admit, user_changed
from corral.identity.login import SessionRules, link_row, make_login_link
from corral.identity.lookups import (
    Node,
    RoleFacts,
    check_grantable,
    find_node,
    find_role,
    find_user,
    held_at,
    sees_user,
    user_subject,
)
from corral.identity.models import Import, ImportedRow, ImportResult, LoginLink
from corral.identity.organisations import IDENTITY
from corral.identity.rules import ImportRow, read_people
from corral.identity.tables import login_link, membership, role_grant, user
from corral.store.database import Transaction

IN_BATCH = 500


def import_people(
    transaction: Transaction, caller: Caller, wanted: Import, rules: SessionRules, console: str
) -> ImportResult:
    node = find_node(transaction, caller, wanted.organisation_id, Permission.PEOPLE_MANAGE)
    role = find_role(transaction, caller, wanted.role_id)
    check_grantable(caller, role, node)
    rows = read_people(wanted.csv)
    known = _known(transaction, [row.name for row in rows])
    outcomes = [_outcome(transaction, caller, row, known, node, role) for row in rows]
    errors = [one for one in outcomes if one.result == "error"]
    if errors and not wanted.dry_run:
        raise Invalid(
            f"{len(errors)} of {len(rows)} lines cannot be imported; nobody was.",
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
                _add(transaction, caller, known[outcome.name], node, role)
        links = _create(
            transaction,
            caller,
            [row for row, outcome in zip(rows, outcomes, strict=True) if outcome.result == "create"],
            node,
            role,
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
    )


def _known(transaction: Transaction, names: list[str]) -> dict[str, str]:
    """Ids of the names that exist already."""
    found: dict[str, str] = {}
    for start in range(0, len(names), IN_BATCH):
        batch = names[start : start + IN_BATCH]
        rows = transaction.rows(select(user.c.name, user.c.id).where(user.c.name.in_(batch)))
        found.update({row.name: row.id for row in rows})
    return found


def _outcome(
    transaction: Transaction,
    caller: Caller,
    row: ImportRow,
    known: dict[str, str],
    node: Node,
    role: RoleFacts,
) -> ImportedRow:
    problems = list(row.problems)
    user_id = known.get(row.name)
    result: str = "create"
    if user_id is not None:
        if not sees_user(transaction, caller, user_id):
            problems.append("name: taken")  # by whom, and where they belong, is not told
        elif _belongs(transaction, user_id, node, role):
            result = "unchanged"
        else:
            result = "add"
            if not may_admit(transaction, caller, user_id) and not _is_member(transaction, user_id, node):
                problems.append("name: belongs to organisations whose people you do not manage")
            if not caller.may(Permission.ROLES_GRANT, node.path):
                problems.append(f"role: giving one to people who exist needs roles.grant on {node.name}")
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


def _belongs(transaction: Transaction, user_id: str, node: Node, role: RoleFacts) -> bool:
    granted = transaction.first(
        select(role_grant.c.id).where(
            role_grant.c.user_id == user_id,
            role_grant.c.organisation_id == node.id,
            role_grant.c.role_id == role.id,
            held_at(transaction.now),
        )
    )
    return granted is not None and _is_member(transaction, user_id, node)


def _is_member(transaction: Transaction, user_id: str, node: Node) -> bool:
    member = select(membership.c.user_id).where(
        membership.c.user_id == user_id, membership.c.organisation_id == node.id
    )
    return transaction.first(member) is not None


def _add(transaction: Transaction, caller: Caller, user_id: str, node: Node, role: RoleFacts) -> None:
    person = find_user(transaction, caller, user_id)
    admit(transaction, caller, person, node)
    add_grant(transaction, user_id, role, node, None)
    told = _told(person.name, node, role)
    subject = user_subject(transaction, user_id, person.name)
    record(transaction, caller, "membership.create", subject, after=told)
    user_changed(transaction, user_id, bump(transaction, user_id))


def _create(
    transaction: Transaction,
    caller: Caller,
    rows: list[ImportRow],
    node: Node,
    role: RoleFacts,
    lifetime: timedelta,
    console: str,
) -> dict[str, LoginLink]:
    """New accounts, all in a few statements: a year's students are thousands. Their links by name."""
    if not rows:
        return {}
    now = transaction.now
    ids = {row.name: new_id(Kind.USER, now) for row in rows}
    links = {row.name: make_login_link(now, lifetime, console) for row in rows}
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
        {"id": new_id(Kind.GRANT, now), "user_id": one, "role_id": role.id, "expires_at": None, **place}
        for one in ids.values()
    ]
    transaction.run(insert(role_grant), grants)
    transaction.run(
        insert(login_link), [link_row(links[name], one, caller.user_id, now) for name, one in ids.items()]
    )
    subjects = [
        (Subject("user", ids[row.name], row.name, node.path), None, _told(row.name, node, role))
        for row in rows
    ]
    record_all(transaction, caller, "user.create", subjects)
    # One event for all: it tells lists to look again, and nobody can have opened these people yet.
    publish(transaction, "user", ids[rows[0].name], 1, scope=node.path)
    transaction.hint(IDENTITY)
    return links


def _told(name: str, node: Node, role: RoleFacts) -> dict[str, str]:
    return {"name": name, "organisation": node.name, "role": role.name, "by": "import"}
