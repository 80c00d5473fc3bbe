"""People: list, look, create, change, and what ties them to organisations and roles."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    type_coerce,
    update,
)

from corral.api.callers import Caller
from corral.api.pages import Page, choose_order, page_of
from corral.api.problems import conflict
from corral.api.versions import Expected
from corral.audit.record import record
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import Conflict, Invalid, NotFound
from corral.core.scopes import contains, outermost
from corral.events.record import publish
from corral.identity.lookups import (
    Node,
    RoleFacts,
    authorities_of,
    check_grantable,
    find_node,
    find_role,
    find_user,
    in_subtrees,
    people_condition,
    require_people,
    role_by_key,
    root_of,
    user_subject,
)
from corral.identity.models import (
    NewGrant,
    NewUser,
    State,
    User,
    UserChange,
    UserSummary,
)
from corral.identity.organisations import IDENTITY
from corral.identity.rules import require_control
from corral.identity.tables import (
    invitation,
    join_code,
    membership,
    organisation,
    role,
    role_grant,
    session,
    user,
)
from corral.store.database import AnyRow, Transaction
from corral.store.schema import any_of

SORTS: dict[str, tuple[ColumnElement[Any], ...]] = {
    "name": (user.c.name,),
    "display_name": (user.c.display_name, user.c.id),
    "created_at": (user.c.id,),
    "last_seen_at": (func.coalesce(type_coerce(user.c.last_seen_at, BigInteger), 0), user.c.id),
}


def list_users(
    transaction: Transaction,
    caller: Caller,
    *,
    organisation_id: str | None,
    role_id: str | None,
    state: State | None,
    search: str | None,
    sort: str,
    cursor: str | None,
    limit: int,
) -> Page[User]:
    scopes = _scopes(transaction, caller, organisation_id)
    statement = select(user).where(people_condition(scopes))
    if role_id is not None:
        has_role = select(role_grant.c.id).where(
            role_grant.c.user_id == user.c.id, role_grant.c.role_id == role_id
        )
        statement = statement.where(exists(has_role))
    if state is not None:
        statement = statement.where(user.c.state == state)
    if search is not None:
        statement = statement.where(_matches(search))
    order = choose_order(sort, SORTS)
    return page_of(
        Page[User],
        transaction.rows,
        statement,
        order,
        cursor,
        limit,
        lambda rows: build_users(transaction, caller, rows),
    )


def summarise_users(transaction: Transaction, caller: Caller, organisation_id: str | None) -> UserSummary:
    scopes = _scopes(transaction, caller, organisation_id)
    condition = people_condition(scopes)
    by_state = select(user.c.state, func.count().label("people")).where(condition).group_by(user.c.state)
    states: dict[str, int] = {row.state: row.people for row in transaction.rows(by_state)}
    more = (
        select(func.count(func.distinct(role_grant.c.user_id)))
        .join(user, user.c.id == role_grant.c.user_id)
        .where(condition, role_grant.c.role_id != role_by_key(transaction, "user").id)
    )

    def open_count(table: Any) -> int:
        statement = (
            select(func.count())
            .select_from(table)
            .join(organisation, organisation.c.id == table.c.organisation_id)
            .where(in_subtrees(scopes), table.c.expires_at > transaction.now)
        )
        return int(transaction.scalar(statement))

    return UserSummary(
        people=sum(states.values()),
        pending=states.get("pending", 0),
        disabled=states.get("disabled", 0),
        with_more_than_user_role=transaction.scalar(more),
        open_invitations=open_count(invitation),
        open_join_codes=open_count(join_code),
    )


def get_user(transaction: Transaction, caller: Caller, user_id: str) -> User:
    row = find_user(transaction, caller, user_id)
    return build_users(transaction, caller, [row])[0]


def build_users(transaction: Transaction, caller: Caller, rows: Sequence[AnyRow]) -> list[User]:
    """The rows as people, with the organisations and roles that the caller may see."""
    ids = {"ids": json.dumps([row.id for row in rows])}
    scopes = caller.scopes(Permission.PEOPLE_READ)

    def seen(user_id: str, path: str) -> bool:
        return user_id == caller.user_id or any(contains(scope, path) for scope in scopes)

    places: dict[str, list[dict[str, Any]]] = {row.id: [] for row in rows}
    for user_id, node_id, name, path in transaction.rows(_MEMBERSHIPS_OF, ids):
        if seen(user_id, path):
            places[user_id].append({"id": node_id, "name": name})
    grants: dict[str, list[dict[str, Any]]] = {row.id: [] for row in rows}
    for user_id, path, *facts in transaction.rows(_GRANTS_OF, ids):
        if seen(user_id, path):
            grants[user_id].append(dict(zip(_GRANT_FIELDS, facts, strict=True)))
    # Built in one go by Pydantic's core: a hundred objects one by one would cost more than all the queries.
    return _USERS.validate_python(
        [
            {
                **dict(zip(_USER_FIELDS, row, strict=False)),
                "organisations": places[row.id],
                "roles": grants[row.id],
            }
            for row in rows
        ]
    )


def create_user(transaction: Transaction, caller: Caller, new: NewUser) -> User:
    node = find_node(transaction, caller, new.organisation_id, Permission.PEOPLE_MANAGE)
    wanted = find_role(transaction, caller, new.role_id)
    check_grantable(caller, wanted, node)
    user_id = add_user(
        transaction, name=new.name, display_name=new.display_name, mail=new.mail, priority=new.priority
    )
    add_membership(transaction, user_id, node)
    add_grant(transaction, user_id, wanted, node, None)
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
            "priority": new.priority,
        },
    )
    user_changed(transaction, user_id, 1)
    return get_user(transaction, caller, user_id)


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
    row = find_user(transaction, caller, user_id)
    require_people(transaction, caller, user_id, Permission.PEOPLE_MANAGE, row.display_name)
    require_control(caller, authorities_of(transaction, user_id), row.display_name)
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


def join_organisation(transaction: Transaction, caller: Caller, user_id: str, node_id: str) -> User:
    """Makes the person a member; once is enough."""
    row = find_user(transaction, caller, user_id)
    node = find_node(transaction, caller, node_id, Permission.PEOPLE_MANAGE)
    if add_membership(transaction, user_id, node):
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
        raise NotFound(f"{row.display_name} does not belong to {node.name}.", "Look at where they belong.")
    subject = user_subject(transaction, user_id, row.name)
    record(transaction, caller, "membership.delete", subject, before={"organisation": node.name})
    user_changed(transaction, user_id, bump(transaction, user_id), also=node.path)


def give_role(transaction: Transaction, caller: Caller, user_id: str, new: NewGrant) -> User:
    row = find_user(transaction, caller, user_id)
    node = find_node(transaction, caller, new.organisation_id, Permission.ROLES_GRANT)
    wanted = find_role(transaction, caller, new.role_id)
    check_grantable(caller, wanted, node)
    if new.expires_at is not None and new.expires_at <= transaction.now:
        raise Invalid.field(
            "body.expires_at", "It is in the past.", "Choose a time to come, or leave it out."
        )
    if not add_grant(transaction, user_id, wanted, node, new.expires_at):
        raise conflict(
            "body.role_id",
            f"{row.display_name} already has the role {wanted.name} on {node.name}.",
            "Take it first to change until when.",
        )
    add_membership(transaction, user_id, node)
    record(
        transaction,
        caller,
        "grant.create",
        user_subject(transaction, user_id, row.name),
        after=_told(wanted.name, node.name, new.expires_at),
    )
    user_changed(transaction, user_id, bump(transaction, user_id))
    return get_user(transaction, caller, user_id)


def take_role(transaction: Transaction, caller: Caller, user_id: str, grant_id: str) -> None:
    row = find_user(transaction, caller, user_id)
    grant = transaction.first(_GRANTS.where(role_grant.c.id == grant_id, role_grant.c.user_id == user_id))
    if grant is None:
        raise NotFound("That person does not have this role.", "List their roles to find its id.")
    node = find_node(transaction, caller, grant.organisation_id, Permission.ROLES_GRANT)
    _take(transaction, caller, row, grant, node)
    user_changed(transaction, user_id, bump(transaction, user_id))


def add_membership(transaction: Transaction, user_id: str, node: Node) -> bool:
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
    transaction: Transaction, user_id: str, wanted: RoleFacts, node: Node, expires_at: datetime | None
) -> bool:
    """Whether the person did not have the role there before."""
    found = transaction.scalar(
        select(role_grant.c.id).where(
            role_grant.c.user_id == user_id,
            role_grant.c.role_id == wanted.id,
            role_grant.c.organisation_id == node.id,
        )
    )
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


def refuse_last_super_administrator(transaction: Transaction, user_id: str) -> None:
    """Someone must be left who can let others in."""
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


def _take(transaction: Transaction, caller: Caller, person: AnyRow, grant: AnyRow, node: Node) -> None:
    wanted = find_role(transaction, caller, grant.role_id)
    check_grantable(caller, wanted, node)
    if wanted.key == "super_administrator" and node.parent_id is None and person.state == "active":
        refuse_last_super_administrator(transaction, person.id)
    transaction.run(delete(role_grant).where(role_grant.c.id == grant.grant_id))
    subject = user_subject(transaction, person.id, person.name)
    record(
        transaction, caller, "grant.delete", subject, before=_told(wanted.name, node.name, grant.expires_at)
    )


def _scopes(transaction: Transaction, caller: Caller, organisation_id: str | None) -> list[str]:
    if organisation_id is None:
        return caller.scopes(Permission.PEOPLE_READ)
    return [find_node(transaction, caller, organisation_id, Permission.PEOPLE_READ).path]


def _matches(search: str) -> ColumnElement[bool]:
    columns = (user.c.name, user.c.display_name, user.c.mail)
    return or_(*(func.lower(column).contains(search.lower(), autoescape=True) for column in columns))


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
_USERS = TypeAdapter(list[User])
_USER_FIELDS = tuple(user.c.keys())
_GRANT_FIELDS = (
    "grant_id",
    "role_id",
    "role_name",
    "role_key",
    "organisation_id",
    "organisation_name",
    "expires_at",
)
_MEMBERSHIPS_OF: Select[*tuple[Any, ...]] = (
    select(membership.c.user_id, organisation.c.id, organisation.c.name, organisation.c.path)
    .join(organisation, organisation.c.id == membership.c.organisation_id)
    .where(any_of(membership.c.user_id, "ids"))
    .order_by(organisation.c.path)
)
_GRANTS_OF: Select[*tuple[Any, ...]] = (
    select(
        role_grant.c.user_id,
        organisation.c.path,
        role_grant.c.id,
        role_grant.c.role_id,
        role.c.name,
        role.c.key,
        role_grant.c.organisation_id,
        organisation.c.name,
        role_grant.c.expires_at,
    )
    .join(role, role.c.id == role_grant.c.role_id)
    .join(organisation, organisation.c.id == role_grant.c.organisation_id)
    .where(any_of(role_grant.c.user_id, "ids"))
    .order_by(organisation.c.path, role.c.name)
)
