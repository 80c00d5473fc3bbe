"""People from a CSV: a rehearsal that says what each line would do, then all lines or none."""

from sqlalchemy import select

from corral.api.callers import Caller
from corral.audit.record import record
from corral.core.permissions import Permission
from corral.core.refusals import FieldError, Invalid
from corral.identity.grants import add_grant, add_membership, bump, user_changed
from corral.identity.login import SessionRules, new_login_link
from corral.identity.lookups import (
    Node,
    RoleFacts,
    check_grantable,
    find_node,
    find_role,
    held_at,
    sees_user,
    user_subject,
)
from corral.identity.models import Import, ImportedRow, ImportResult
from corral.identity.rules import ImportRow, read_people
from corral.identity.tables import membership, role_grant, user
from corral.identity.users import add_user
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
        outcomes = [
            _apply(transaction, caller, row, outcome, known, node, role, rules, console)
            for row, outcome in zip(rows, outcomes, strict=True)
        ]
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
            problems.append("name: taken by someone of another organisation")
        elif _belongs(transaction, user_id, node, role):
            result = "unchanged"
        else:
            result = "add"
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
    member = transaction.first(
        select(membership.c.user_id).where(
            membership.c.user_id == user_id, membership.c.organisation_id == node.id
        )
    )
    granted = transaction.first(
        select(role_grant.c.id).where(
            role_grant.c.user_id == user_id,
            role_grant.c.organisation_id == node.id,
            role_grant.c.role_id == role.id,
            held_at(transaction.now),
        )
    )
    return member is not None and granted is not None


def _apply(
    transaction: Transaction,
    caller: Caller,
    row: ImportRow,
    outcome: ImportedRow,
    known: dict[str, str],
    node: Node,
    role: RoleFacts,
    rules: SessionRules,
    console: str,
) -> ImportedRow:
    if outcome.result == "unchanged":
        return outcome
    told = {"name": row.name, "organisation": node.name, "role": role.name, "by": "import"}
    if outcome.result == "add":
        user_id = known[row.name]
        add_membership(transaction, user_id, node)
        add_grant(transaction, user_id, role, node, None)
        record(
            transaction, caller, "membership.create", user_subject(transaction, user_id, row.name), after=told
        )
        user_changed(transaction, user_id, bump(transaction, user_id))
        return outcome
    user_id = add_user(
        transaction, name=row.name, display_name=row.display_name, mail=row.mail, priority=row.priority
    )
    add_membership(transaction, user_id, node)
    add_grant(transaction, user_id, role, node, None)
    record(transaction, caller, "user.create", user_subject(transaction, user_id, row.name), after=told)
    user_changed(transaction, user_id, 1)
    link = new_login_link(transaction, user_id, rules.given_link_lifetime, console)
    return outcome.model_copy(update={"login_link": link})
