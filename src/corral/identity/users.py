"""People's accounts: create and change them."""

from typing import Any

from sqlalchemy import delete, insert, select, update

from corral.api.callers import Caller
from corral.api.problems import conflict
from corral.api.versions import Expected
from corral.audit.record import record
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import Conflict
from corral.identity.directory import get_user
from corral.identity.ends import end_of_role
from corral.identity.grants import add_grant, add_membership, refuse_last_super_administrator, user_changed
from corral.identity.lookups import (
    check_grantable,
    find_node,
    find_role,
    find_steered,
    user_subject,
)
from corral.identity.models import NewUser, State, User, UserChange, UserWithRole
from corral.identity.tables import session, user
from corral.store.database import AnyRow, Transaction


def create_user(transaction: Transaction, caller: Caller, new: NewUser) -> UserWithRole:
    node = find_node(transaction, caller, new.organisation_id, Permission.PEOPLE_MANAGE)
    caller.require(Permission.PEOPLE_READ, node.path, node.name)  # the answer shows the person
    wanted = find_role(transaction, caller, new.role_id)
    check_grantable(caller, wanted, node)
    user_id = add_user(
        transaction, name=new.name, display_name=new.display_name, mail=new.mail, priority=new.priority
    )
    add_membership(transaction, user_id, node)
    end = end_of_role(caller, wanted, node)
    add_grant(transaction, user_id, wanted, node, end.at)
    record(
        transaction,
        caller,
        "user.create",
        user_subject(transaction, user_id, new.name),
        after={
            "name": new.name,
            "display_name": new.display_name,
            "mail": new.mail,
            "organisation": node.name,
            "role": wanted.name,
            "role_expires_at": end.at.isoformat() if end.at else None,
            "priority": new.priority,
        },
    )
    user_changed(transaction, user_id, 1)
    person = get_user(transaction, caller, user_id)
    return UserWithRole(**dict(person), expires_at=end.at, notice=end.notice)


def add_user(
    transaction: Transaction,
    *,
    name: str,
    display_name: str,
    mail: str | None,
    priority: int = 1,
    state: State = "active",
) -> str:
    """Inserts the person alone; memberships, roles, audit and event are the caller's part."""
    if transaction.scalar(select(user.c.id).where(user.c.name == name)) is not None:
        raise conflict("body.name", f"The name {name} is taken.", "Choose another name.")
    user_id = new_id(Kind.USER, transaction.now)
    transaction.run(
        insert(user).values(
            id=user_id,
            name=name,
            display_name=display_name,
            mail=mail,
            state=state,
            priority=priority,
            created_at=transaction.now,
            generation=1,
        )
    )
    return user_id


def change_user(
    transaction: Transaction, caller: Caller, user_id: str, change: UserChange, expected: Expected
) -> User:
    row = find_steered(transaction, caller, user_id)
    expected.check(row.generation)
    wanted = change.given(may_be_empty={"mail"})
    if wanted.get("state") == "disabled":
        if user_id == caller.user_id:
            raise Conflict("You cannot disable your own account.", "Ask another administrator.")
        refuse_last_super_administrator(transaction, user_id)
        transaction.run(delete(session).where(session.c.user_id == user_id))
    return apply_change(transaction, caller, row, wanted)


def apply_change(transaction: Transaction, caller: Caller, row: AnyRow, wanted: dict[str, Any]) -> User:
    """Writes the fields that differ, with audit entry and event."""
    after = {name: value for name, value in wanted.items() if value != getattr(row, name)}
    if after:
        transaction.run(
            update(user).where(user.c.id == row.id).values(**after, generation=row.generation + 1)
        )
        record(
            transaction,
            caller,
            "user.change",
            user_subject(transaction, row.id, row.name),
            before={name: getattr(row, name) for name in after},
            after=after,
        )
        user_changed(transaction, row.id, row.generation + 1)
    return get_user(transaction, caller, row.id)
