"""Finding things by id as far as the caller may see them, and refusing in the same words everywhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, and_, bindparam, exists, false, func, or_, select

from corral.api.callers import Authority, Caller, Need, held_on, lacking
from corral.audit.record import Subject
from corral.core.permissions import AccountScope, Permission
from corral.core.refusals import Conflict, Forbidden, NotFound
from corral.core.scopes import contains, is_root, subtree_end
from corral.identity.rules import effective, require_control
from corral.identity.tables import membership, organisation, role, role_grant, user
from corral.store.database import AnyRow, Transaction
from corral.store.schema import Instant

NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Organisation:
    """An organisation, as decisions need it."""

    id: str
    parent_id: str | None
    name: str
    path: str
    generation: int

    @property
    def subject(self) -> Subject:
        return Subject("organisation", self.id, self.name, self.path)


@dataclass(frozen=True, slots=True)
class RoleFacts:
    id: str
    key: str | None
    name: str
    description: str
    permissions: frozenset[Permission]
    organisation_id: str
    organisation_path: str
    generation: int

    @property
    def subject(self) -> Subject:
        return Subject("role", self.id, self.name, self.organisation_path)


def in_subtrees(paths: Iterable[str]) -> ColumnElement[bool]:
    """Rows of `organisation` at or below one of the paths, as index ranges."""
    column = organisation.c.path
    return or_(false(), *(and_(column >= path, column < subtree_end(path)) for path in paths))


def held_at(at: Any) -> ColumnElement[bool]:
    """Rows of `role_grant` that have not ended at `at`."""
    return or_(role_grant.c.expires_at.is_(None), role_grant.c.expires_at > at)


def root_of(transaction: Transaction) -> Organisation:
    row = transaction.first(_NODES.where(organisation.c.parent_id.is_(None)))
    assert row is not None, "the root organisation is made at the first start"
    return Organisation(*row)


def node_by_id(transaction: Transaction, node_id: str) -> Organisation:
    """An organisation that is known to exist, whoever asks."""
    row = transaction.first(_NODES.where(organisation.c.id == node_id))
    assert row is not None, "foreign keys keep organisations that something belongs to"
    return Organisation(*row)


def find_node(transaction: Transaction, caller: Caller, node_id: str, permission: Permission) -> Organisation:
    """The organisation, if the caller has `permission` on it; one they cannot see is not found."""
    row = transaction.first(_NODES.where(organisation.c.id == node_id))
    if row is None or not any(contains(one.path, row.path) for one in caller.authorities):
        raise NotFound(
            f"There is no organisation {node_id} that you may see.",
            "List the organisations to find its id.",
        )
    node = Organisation(*row)
    caller.require(permission, node.path, node.name)
    return node


def find_role(transaction: Transaction, caller: Caller, role_id: str) -> RoleFacts:
    """A role of an organisation above or below one where the caller has authority."""
    row = transaction.first(_ROLES.where(role.c.id == role_id))
    if row is None or not sees_role(caller, row.path):
        raise NotFound(f"There is no role {role_id} that you may see.", "List the roles to find its id.")
    return _role_facts(row)


def role_by_key(transaction: Transaction, key: str) -> RoleFacts:
    row = transaction.first(_ROLES.where(role.c.key == key))
    assert row is not None, "presets are made at every start"
    return _role_facts(row)


def sees_role(caller: Caller, role_path: str) -> bool:
    return any(contains(one.path, role_path) or contains(role_path, one.path) for one in caller.authorities)


def check_grantable(caller: Caller, wanted: RoleFacts, node: Organisation) -> None:
    """Whether the caller may give (or take) this role on this organisation."""
    if not contains(wanted.organisation_path, node.path):
        raise Forbidden(
            f"The role {wanted.name} cannot be given on {node.name}.",
            "A role can be given on its organisation and below.",
        )
    caller.require_all(wanted.permissions, node.path, f"give or take the role {wanted.name} on {node.name}")


def authorities_of(transaction: Transaction, user_id: str) -> tuple[Authority, ...]:
    """What a person holds now: one authority per organisation and end, expired grants left out."""
    held: dict[tuple[str, datetime | None], frozenset[Permission]] = {}
    for path, until, permissions in transaction.rows(
        AUTHORITIES, {"user_id": user_id, "now": transaction.now}
    ):
        held[path, until] = held.get((path, until), frozenset()) | effective(permissions)
    order = sorted(held, key=lambda one: (one[0], one[1] or NEVER))
    return tuple(Authority(path, held[path, until], until) for path, until in order)


def user_subject(transaction: Transaction, user_id: str, name: str) -> Subject:
    """A person in the audit log belongs to the outermost organisation they are a member of."""
    path = transaction.scalar(
        select(organisation.c.path)
        .join(membership, membership.c.organisation_id == organisation.c.id)
        .where(membership.c.user_id == user_id)
        .order_by(organisation.c.path)
        .limit(1)
    )
    return Subject("user", user_id, name, path or root_of(transaction).path)


def find_user(transaction: Transaction, caller: Caller, user_id: str) -> AnyRow:
    """The person's row, if it is the caller or belongs to an organisation whose people the caller may see."""
    row = transaction.first(select(user).where(user.c.id == user_id, user.c.deleted_at.is_(None)))
    own = user_id == caller.user_id and caller.in_scope(AccountScope.READ)
    if row is None or not (own or sees_user(transaction, caller, user_id)):
        raise NotFound(f"There is no person {user_id} that you may see.", "List the people to find the id.")
    return row


def sees_user(
    transaction: Transaction, caller: Caller, user_id: str, permission: Permission = Permission.PEOPLE_READ
) -> bool:
    condition = people_condition(caller.scopes(permission))
    return transaction.scalar(select(user.c.id).where(user.c.id == user_id, condition)) is not None


def find_steered(transaction: Transaction, caller: Caller, user_id: str) -> AnyRow:
    """The person, if the caller may act on the account as a whole: disable it, sign it out, make a link.

    Who opens an account has its work, files and secrets too, in every organisation that it belongs to. So
    it takes people.manage on all of them, and whatever authority the person holds. A token with limited
    scopes does not act on its owner's: the link that it made would open a session without limits.
    """
    row = find_user(transaction, caller, user_id)
    if user_id == caller.user_id:
        Need("signed-in").check_scope(caller)
    require_people(transaction, caller, user_id, Permission.PEOPLE_MANAGE, row.display_name)
    require_control(caller, authorities_of(transaction, user_id), row.display_name)
    if user_id != caller.user_id and not manages_wholly(transaction, caller.authorities, user_id):
        raise Forbidden(
            f"{row.display_name} also belongs to organisations whose people you do not manage.",
            "Ask someone who manages people in all of them, or remove the person from yours.",
        )
    return row


def manages_wholly(transaction: Transaction, held: Sequence[Authority], user_id: str) -> bool:
    """Whether `held` has people.manage wherever the person belongs: at the root, if that is nowhere."""
    paths = places_of(transaction, user_id) or [root_of(transaction).path]
    return all(Permission.PEOPLE_MANAGE in held_on(held, path) for path in paths)


def places_of(transaction: Transaction, user_id: str) -> list[str]:
    """The paths of the organisations that the person belongs to."""
    paths = transaction.rows(
        select(organisation.c.path)
        .join(membership, membership.c.organisation_id == organisation.c.id)
        .where(membership.c.user_id == user_id)
    )
    return [path for (path,) in paths]


def people_condition(scopes: Sequence[str]) -> ColumnElement[bool]:
    """People who belong somewhere at or below `scopes`; all people where the root is among them. Of deleted
    ones there is no membership."""
    if not scopes:
        return user.c.id.is_(None)
    if any(is_root(scope) for scope in scopes):
        return user.c.deleted_at.is_(None)
    return exists(
        select(membership.c.user_id)
        .join(organisation, organisation.c.id == membership.c.organisation_id)
        .where(membership.c.user_id == user.c.id, in_subtrees(scopes))
    )


def require_people(
    transaction: Transaction, caller: Caller, user_id: str, permission: Permission, place: str
) -> None:
    """That the caller has `permission` on an organisation the person belongs to."""
    if not sees_user(transaction, caller, user_id, permission):
        raise lacking(permission, place)


def refuse_beyond(transaction: Transaction, maker: Column[Any], caller: Caller, most: int) -> None:
    """Refuses one more row of the column's table where the caller made `most` already."""
    made = select(func.count()).select_from(maker.table).where(maker == caller.user_id)
    if transaction.scalar(made) >= most:
        raise Conflict(
            f"You already have {most} open invitations and join codes.",
            "Withdraw some; a join code has many seats, and a CSV creates many accounts at once.",
        )


def _role_facts(row: AnyRow) -> RoleFacts:
    return RoleFacts(
        row.id,
        row.key,
        row.name,
        row.description,
        effective(row.permissions),
        row.organisation_id,
        row.path,
        row.generation,
    )


_NODES = select(
    organisation.c.id,
    organisation.c.parent_id,
    organisation.c.name,
    organisation.c.path,
    organisation.c.generation,
)
_ROLES = select(role, organisation.c.path).join(organisation, organisation.c.id == role.c.organisation_id)
AUTHORITIES = (
    select(organisation.c.path, role_grant.c.expires_at, role.c.permissions)
    .select_from(role_grant)
    .join(role, role.c.id == role_grant.c.role_id)
    .join(organisation, organisation.c.id == role_grant.c.organisation_id)
    .where(role_grant.c.user_id == bindparam("user_id"), held_at(bindparam("now", type_=Instant)))
)
