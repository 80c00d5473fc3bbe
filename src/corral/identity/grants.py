"""What ties people to organisations: memberships, and roles given on them."""

from datetime import datetime
from typing import Any

from sqlalchemy import Select, delete, func, insert, select, update

from corral.api.callers import IDENTITY, Caller
from corral.api.problems import conflict
from corral.audit.record import record
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import Conflict, Forbidden, Invalid, NotFound
from corral.core.scopes import outermost
from corral.events.record import publish
from corral.identity.directory import get_user
from corral.identity.ends import end_of_role
from corral.identity.lookups import (
    Organisation,
    RoleFacts,
    check_grantable,
    find_node,
    find_role,
    find_user,
    role_by_key,
    root_of,
    sees_user,
    user_subject,
)
from corral.identity.models import NewGrant, User, UserWithRole
from corral.identity.tables import membership, organisation, role, role_grant, user
from corral.store.database import AnyRow, Transaction


def join_organisation(transaction: Transaction, caller: Caller, user_id: str, node_id: str) -> User:
    """Makes the person a member; does nothing for one who is."""
    row = find_user(transaction, caller, user_id)
    node = find_node(transaction, caller, node_id, Permission.PEOPLE_MANAGE)
    if admit(transaction, caller, row, node):
        subject = user_subject(transaction, user_id, row.name)
        record(transaction, caller, "membership.create", subject, after={"organisation": node.name})
        user_changed(transaction, user_id, bump(transaction, user_id))
    return get_user(transaction, caller, user_id)


def leave_organisation(transaction: Transaction, caller: Caller, user_id: str, node_id: str) -> None:
    """Ends the membership and takes the roles given on that organisation."""
    row = find_user(transaction, caller, user_id)
    node = find_node(transaction, caller, node_id, Permission.PEOPLE_MANAGE)
    held = transaction.rows(
        _GRANTS.where(role_grant.c.user_id == user_id, role_grant.c.organisation_id == node.id)
    )
    for grant in held:
        _take(transaction, caller, row, grant, node)
    gone = transaction.run(
        delete(membership).where(membership.c.user_id == user_id, membership.c.organisation_id == node.id)
    )
    if not gone and not held:
        raise NotFound(f"{row.display_name} does not belong to {node.name}.", "Look up their organisations.")
    subject = user_subject(transaction, user_id, row.name)
    record(transaction, caller, "membership.delete", subject, before={"organisation": node.name})
    user_changed(transaction, user_id, bump(transaction, user_id), also=node.path)


def give_role(transaction: Transaction, caller: Caller, user_id: str, new: NewGrant) -> UserWithRole:
    row = find_user(transaction, caller, user_id)
    node = find_node(transaction, caller, new.organisation_id, Permission.ROLES_GRANT)
    wanted = find_role(transaction, caller, new.role_id)
    check_grantable(caller, wanted, node)
    if new.expires_at is not None and new.expires_at <= transaction.now:
        raise Invalid.field(
            "body.expires_at", "It is in the past.", "Choose a time in the future, or leave it out."
        )
    end = end_of_role(caller, wanted, node, new.expires_at, "body.expires_at")
    if not add_grant(transaction, user_id, wanted, node, end.at):
        raise conflict(
            "body.role_id",
            f"{row.display_name} already has the role {wanted.name} on {node.name}.",
            "To change its end, take the role first.",
        )
    admit(transaction, caller, row, node)
    record(
        transaction,
        caller,
        "grant.create",
        user_subject(transaction, user_id, row.name),
        after=_told(wanted.name, node.name, end.at),
    )
    user_changed(transaction, user_id, bump(transaction, user_id))
    person = get_user(transaction, caller, user_id)
    return UserWithRole(**dict(person), expires_at=end.at, notice=end.notice)


def take_role(transaction: Transaction, caller: Caller, user_id: str, grant_id: str) -> None:
    row = find_user(transaction, caller, user_id)
    grant = transaction.first(_GRANTS.where(role_grant.c.id == grant_id, role_grant.c.user_id == user_id))
    # A role on an organisation that one may not see is as unknown as none.
    if grant is None or not caller.permissions_on(grant.path):
        raise NotFound("That person does not have this role.", "List their roles to find its id.")
    node = find_node(transaction, caller, grant.organisation_id, Permission.ROLES_GRANT)
    _take(transaction, caller, row, grant, node)
    user_changed(transaction, user_id, bump(transaction, user_id))


def add_membership(transaction: Transaction, user_id: str, node: Organisation) -> bool:
    """Whether the person was not a member before."""
    found = transaction.scalar(
        select(membership.c.user_id).where(
            membership.c.user_id == user_id, membership.c.organisation_id == node.id
        )
    )
    if found is None:
        transaction.run(
            insert(membership).values(user_id=user_id, organisation_id=node.id, created_at=transaction.now)
        )
    return found is None


def add_grant(
    transaction: Transaction, user_id: str, wanted: RoleFacts, node: Organisation, expires_at: datetime | None
) -> bool:
    """Whether the person did not have the role there before; one that has ended is replaced."""
    same = (
        role_grant.c.user_id == user_id,
        role_grant.c.role_id == wanted.id,
        role_grant.c.organisation_id == node.id,
    )
    transaction.run(delete(role_grant).where(*same, role_grant.c.expires_at <= transaction.now))
    found = transaction.scalar(select(role_grant.c.id).where(*same))
    if found is None:
        transaction.run(
            insert(role_grant).values(
                id=new_id(Kind.GRANT, transaction.now),
                user_id=user_id,
                role_id=wanted.id,
                organisation_id=node.id,
                expires_at=expires_at,
                created_at=transaction.now,
            )
        )
    return found is None


def admit(transaction: Transaction, caller: Caller, person: AnyRow, node: Organisation) -> bool:
    """Whether the person becomes a member: the one way in that is not their own doing.

    Seeing someone is not enough to draw them in, for who manages the people of `node` could steer them next.
    """
    may = may_admit(transaction, caller, person.id)
    if not add_membership(transaction, person.id, node):
        return False
    if not may:
        raise Forbidden(
            f"{person.display_name} belongs to organisations whose people you do not manage.",
            f"Create a join code for {node.name}, so that they can join themselves.",
        )
    return True


def may_admit(transaction: Transaction, caller: Caller, user_id: str) -> bool:
    """Whether the caller may make this person, who exists, a member of what they manage."""
    return user_id == caller.user_id or sees_user(transaction, caller, user_id, Permission.PEOPLE_MANAGE)


def refuse_last_super_administrator(transaction: Transaction, user_id: str) -> None:
    """Refuses to leave the installation without an active super administrator."""
    others = transaction.scalar(
        select(func.count())
        .select_from(role_grant)
        .join(user, user.c.id == role_grant.c.user_id)
        .where(
            role_grant.c.role_id == role_by_key(transaction, "super_administrator").id,
            role_grant.c.organisation_id == root_of(transaction).id,
            role_grant.c.expires_at.is_(None),
            user.c.state == "active",
            user.c.id != user_id,
        )
    )
    if not others:
        raise Conflict(
            "This is the last active super administrator.", "Make another person super administrator first."
        )


def bump(transaction: Transaction, user_id: str) -> int:
    """Counts a change of what belongs to the person; returns the new generation."""
    transaction.run(update(user).where(user.c.id == user_id).values(generation=user.c.generation + 1))
    return int(transaction.scalar(select(user.c.generation).where(user.c.id == user_id)))


def user_changed(transaction: Transaction, user_id: str, generation: int, also: str | None = None) -> None:
    """Tells every organisation the person belongs to, the person, and the authentication's memory."""
    paths = [path for (path,) in transaction.rows(_PATHS.where(membership.c.user_id == user_id))] + (
        [also] if also else []
    )
    scopes: list[str | None] = [*outermost(paths)]
    for path in scopes or [None]:
        publish(transaction, "user", user_id, generation, scope=path, user_id=user_id)
    transaction.hint(IDENTITY)


def _take(
    transaction: Transaction, caller: Caller, person: AnyRow, grant: AnyRow, node: Organisation
) -> None:
    wanted = find_role(transaction, caller, grant.role_id)
    check_grantable(caller, wanted, node)
    if wanted.key == "super_administrator" and node.parent_id is None and person.state == "active":
        refuse_last_super_administrator(transaction, person.id)
    transaction.run(delete(role_grant).where(role_grant.c.id == grant.grant_id))
    subject = user_subject(transaction, person.id, person.name)
    record(
        transaction, caller, "grant.delete", subject, before=_told(wanted.name, node.name, grant.expires_at)
    )


def _told(role_name: str, node_name: str, expires_at: datetime | None) -> dict[str, Any]:
    return {
        "role": role_name,
        "organisation": node_name,
        "expires_at": expires_at.isoformat() if expires_at else None,
    }


_PATHS: Select[*tuple[Any, ...]] = select(organisation.c.path).join(
    membership, membership.c.organisation_id == organisation.c.id
)
_GRANTS: Select[*tuple[Any, ...]] = (
    select(
        role_grant.c.id.label("grant_id"),
        role_grant.c.user_id,
        role_grant.c.role_id,
        role_grant.c.organisation_id,
        role_grant.c.expires_at,
        role.c.name.label("role_name"),
        role.c.key,
        organisation.c.name.label("organisation_name"),
        organisation.c.path,
    )
    .join(role, role.c.id == role_grant.c.role_id)
    .join(organisation, organisation.c.id == role_grant.c.organisation_id)
    .order_by(organisation.c.path, role.c.name)
)
