"""People as others see them: list, count, look at, as far as the caller may."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Select, bindparam, exists, func, or_, select, type_coerce

from corral.api.callers import Caller
from corral.api.pages import choose_order, page_of
from corral.core.permissions import AccountScope, Permission
from corral.core.scopes import contains, is_root
from corral.core.text import clean_name
from corral.identity.lookups import find_node, find_user, held_at, in_subtrees, people_condition, role_by_key
from corral.identity.models import PeopleQuery, User, UserSummary
from corral.identity.tables import invitation, membership, organisation, role, role_grant, user
from corral.store.database import AnyRow, Transaction
from corral.store.schema import Instant, JsonObject, any_of

SORTS: dict[str, tuple[ColumnElement[Any], ...]] = {
    "name": (user.c.name,),
    "display_name": (user.c.display_name, user.c.id),
    "created_at": (user.c.id,),
    "last_seen_at": (func.coalesce(type_coerce(user.c.last_seen_at, BigInteger), 0), user.c.id),
}


def is_one_range(caller: Caller, query: PeopleQuery) -> bool:
    """Whether a page is the next rows of one index: nobody is left out, and the order is that of an index."""
    filtered = any((query.organisation, query.role, query.state, query.search))
    ordered = query.sort.removeprefix("-") in {"name", "created_at"}
    return ordered and not filtered and any(map(is_root, caller.scopes(Permission.PEOPLE_READ)))


def list_users(transaction: Transaction, caller: Caller, query: PeopleQuery) -> JsonObject:
    """A `Page[User]` as plain values: for fifty people, models would cost more than all the queries."""
    scopes = _scopes(transaction, caller, query.organisation)
    statement = select(user).where(people_condition(scopes))
    if query.role is not None:
        visible = _grants_in(transaction, caller.scopes(Permission.PEOPLE_READ))
        has_role = visible.where(role_grant.c.user_id == user.c.id, role_grant.c.role_id == query.role)
        statement = statement.where(exists(has_role))
    if query.state is not None:
        statement = statement.where(user.c.state == query.state)
    if query.search is not None:
        statement = statement.where(_matches(query.search))
    return page_of(
        dict,
        transaction.rows,
        statement,
        choose_order(query.sort, SORTS),
        query.cursor,
        query.limit,
        lambda rows: describe_users(transaction, caller, rows),
    )


def summarise_users(transaction: Transaction, caller: Caller, organisation_id: str | None) -> UserSummary:
    scopes = _scopes(transaction, caller, organisation_id)
    condition = people_condition(scopes)
    by_state = select(user.c.state, func.count().label("people")).where(condition).group_by(user.c.state)
    states: dict[str, int] = {row.state: row.people for row in transaction.rows(by_state)}
    more = (
        _grants_in(transaction, scopes)
        .with_only_columns(func.count(func.distinct(role_grant.c.user_id)))
        .where(role_grant.c.role_id != role_by_key(transaction, "user").id)
    )

    def open_count(form: ColumnElement[bool]) -> int:
        statement = (
            select(func.count())
            .select_from(invitation)
            .join(organisation, organisation.c.id == invitation.c.organisation_id)
            .where(in_subtrees(scopes), invitation.c.expires_at > transaction.now, form)
        )
        return int(transaction.scalar(statement))

    return UserSummary(
        people=sum(states.values()),
        pending=states.get("pending", 0),
        disabled=states.get("disabled", 0),
        with_more_than_user_role=transaction.scalar(more),
        open_invitations=open_count(invitation.c.code.is_(None)),
        open_join_codes=open_count(invitation.c.code.is_not(None)),
    )


def get_user(transaction: Transaction, caller: Caller, user_id: str) -> User:
    row = find_user(transaction, caller, user_id)
    return User.model_validate(describe_users(transaction, caller, [row])[0])


def describe_users(transaction: Transaction, caller: Caller, rows: Sequence[AnyRow]) -> list[JsonObject]:
    """The rows as values of `User`, with the organisations and roles that the caller may see."""
    ids = {"ids": json.dumps([row.id for row in rows])}
    scopes = caller.scopes(Permission.PEOPLE_READ)
    sees_all = any(is_root(scope) for scope in scopes)
    own = caller.user_id if caller.in_scope(AccountScope.READ) else None

    def seen(user_id: str, path: str) -> bool:
        return sees_all or user_id == own or any(contains(scope, path) for scope in scopes)

    people = {row.id: dict(zip(_USER_FIELDS, row, strict=False)) for row in rows}
    for person in people.values():
        person["organisations"], person["roles"] = [], []
    for user_id, path, node_id, name in transaction.rows(_MEMBERSHIPS_OF, ids):
        if seen(user_id, path):
            people[user_id]["organisations"].append({"id": node_id, "name": name})
    for user_id, path, *facts in transaction.rows(_GRANTS_OF, ids | {"now": transaction.now}):
        if seen(user_id, path):
            people[user_id]["roles"].append(dict(zip(_GRANT_FIELDS, facts, strict=True)))
    return list(people.values())


def _scopes(transaction: Transaction, caller: Caller, organisation_id: str | None) -> list[str]:
    if organisation_id is None:
        return caller.scopes(Permission.PEOPLE_READ)
    return [find_node(transaction, caller, organisation_id, Permission.PEOPLE_READ).path]


def _grants_in(transaction: Transaction, scopes: Sequence[str]) -> Select[*tuple[Any, ...]]:
    """Roles that are held now, on organisations at or below `scopes`: others say nothing to the caller."""
    return (
        select(role_grant.c.id)
        .join(organisation, organisation.c.id == role_grant.c.organisation_id)
        .where(in_subtrees(scopes), held_at(transaction.now))
    )


def _matches(search: str) -> ColumnElement[bool]:
    """Part of a name in any case; databases agree on folding ASCII only, the rest is tried in each form."""
    text = clean_name(search)
    forms = sorted({_fold_ascii(form) for form in (text, text.lower(), text.upper(), text.title())})
    columns = (user.c.name, user.c.display_name, user.c.mail)
    return or_(*(func.lower(column).contains(form, autoescape=True) for column in columns for form in forms))


def _fold_ascii(text: str) -> str:
    return "".join(character.lower() if character.isascii() else character for character in text)


# Plain strings: the keys are of a subclass, which is written a hundred times slower.
_USER_FIELDS = tuple("".join(column.name) for column in user.c if column is not user.c.deleted_at)
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
    select(membership.c.user_id, organisation.c.path, organisation.c.id, organisation.c.name)
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
    .where(any_of(role_grant.c.user_id, "ids"), held_at(bindparam("now", type_=Instant)))
    .order_by(organisation.c.path, role.c.name)
)
