"""The organisation tree: list, create, rename, move, delete."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Text, and_, cast, delete, func, insert, literal, select, update

from corral.api.callers import IDENTITY, Caller
from corral.api.problems import conflict
from corral.api.versions import Expected
from corral.audit.record import record
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import Conflict, Forbidden, Invalid
from corral.core.scopes import ancestors, child_path, contains
from corral.core.text import name_key
from corral.events.record import publish
from corral.identity import models
from corral.identity.ends import in_words, outlasts
from corral.identity.lookups import Organisation, find_node, held_at, in_subtrees
from corral.identity.models import (
    NewOrganisation,
    OrganisationChange,
    Organisations,
)
from corral.identity.organisation_hooks import OrganisationHooks
from corral.identity.rules import effective
from corral.identity.tables import invitation, membership, organisation, role, role_grant
from corral.store.database import AnyRow, Transaction

MOST_LEVELS = 20

Hooks = Sequence[OrganisationHooks]


def list_organisations(transaction: Transaction, caller: Caller) -> Organisations:
    """Every organisation the caller may see: parents first, siblings by name."""
    scopes = caller.scopes(Permission.ORGANISATIONS_READ)
    if not scopes:
        return Organisations(items=[])
    counts = (
        select(membership.c.organisation_id, func.count().label("people"))
        .group_by(membership.c.organisation_id)
        .subquery()
    )
    rows = transaction.rows(
        select(organisation, func.coalesce(counts.c.people, 0).label("people"))
        .outerjoin(counts, counts.c.organisation_id == organisation.c.id)
        .where(in_subtrees(scopes))
    )
    names = {row.id: row.name_key for row in rows}
    visible = [_organisation(row, names) for row in rows]
    return Organisations(items=sorted(visible, key=lambda one: [(names[i], i) for i in one.path]))


def get_organisation(transaction: Transaction, caller: Caller, node_id: str) -> models.Organisation:
    find_node(transaction, caller, node_id, Permission.ORGANISATIONS_READ)
    found = [one for one in list_organisations(transaction, caller).items if one.id == node_id]
    return found[0]


def create_organisation(
    transaction: Transaction, caller: Caller, new: NewOrganisation, hooks: Hooks = ()
) -> models.Organisation:
    parent = find_node(transaction, caller, new.parent_id, Permission.ORGANISATIONS_MANAGE)
    if len(ancestors(parent.path)) >= MOST_LEVELS:
        raise Invalid.field(
            "body.parent_id", f"The tree has at most {MOST_LEVELS} levels.", "Choose a parent further up."
        )
    node_id = new_id(Kind.ORGANISATION, transaction.now)
    node = Organisation(node_id, parent.id, new.name, child_path(parent.path, node_id), 1)
    _refuse_double_name(transaction, parent.id, new.name)
    transaction.run(
        insert(organisation).values(
            id=node.id,
            parent_id=parent.id,
            name=node.name,
            name_key=name_key(node.name),
            path=node.path,
            created_at=transaction.now,
            generation=1,
        )
    )
    record(transaction, caller, "organisation.create", node.subject, after={"name": new.name})
    _changed(transaction, node, 1)
    for hook in hooks:
        hook.created(transaction, node)
    return get_organisation(transaction, caller, node.id)


def change_organisation(
    transaction: Transaction,
    caller: Caller,
    node_id: str,
    change: OrganisationChange,
    expected: Expected,
    hooks: Hooks = (),
) -> models.Organisation:
    node = find_node(transaction, caller, node_id, Permission.ORGANISATIONS_MANAGE)
    expected.check(node.generation)
    wanted = change.given()
    name = wanted.get("name", node.name)
    parent_id, path = node.parent_id, node.path
    if wanted.get("parent_id", parent_id) != parent_id:
        parent = _new_parent(transaction, caller, node, wanted["parent_id"])
        parent_id, path = parent.id, child_path(parent.path, node.id)
    if (name, parent_id) == (node.name, node.parent_id):
        return get_organisation(transaction, caller, node.id)
    if parent_id is not None and (name != node.name or parent_id != node.parent_id):
        _refuse_double_name(transaction, parent_id, name, but=node.id)
    transaction.run(
        update(organisation)
        .where(organisation.c.id == node.id)
        .values(name=name, name_key=name_key(name), parent_id=parent_id, generation=node.generation + 1)
    )
    if path != node.path:
        _move(transaction, node.path, path)
    moved = Organisation(node.id, parent_id, name, path, node.generation + 1)
    record(
        transaction,
        caller,
        "organisation.change",
        moved.subject,
        before={"name": node.name, "parent_id": node.parent_id},
        after={"name": name, "parent_id": parent_id},
    )
    _changed(transaction, moved, moved.generation)
    if path != node.path:
        _changed(transaction, node, moved.generation)  # those it left see that it is gone
        for hook in hooks:
            hook.moved(transaction, moved)
    return get_organisation(transaction, caller, node.id)


def delete_organisation(
    transaction: Transaction, caller: Caller, node_id: str, expected: Expected, hooks: Hooks = ()
) -> None:
    """Deletes an empty organisation; what is in it must be moved or deleted first."""
    node = find_node(transaction, caller, node_id, Permission.ORGANISATIONS_MANAGE)
    expected.check(node.generation)
    if node.parent_id is None:
        raise Conflict("The root organisation cannot be deleted.", "Rename it instead.")
    invited = invitation.c.organisation_id == node.id
    contents: dict[str, ColumnElement[bool]] = {
        "organisations below it": organisation.c.parent_id == node.id,
        "members": membership.c.organisation_id == node.id,
        "custom roles": role.c.organisation_id == node.id,
        "open invitations": and_(invited, invitation.c.code.is_(None)),
        "join codes": and_(invited, invitation.c.code.is_not(None)),
        "roles given on it": role_grant.c.organisation_id == node.id,
    }
    left = {
        what: count
        for what, inside in contents.items()
        if (count := transaction.scalar(select(func.count()).where(inside)))
    }
    for hook in hooks:
        left.update(hook.contents(transaction, node))
    if left:
        listed = ", ".join(f"{count} {what}" for what, count in left.items())
        raise Conflict(f"{node.name} still has {listed}.", "Move or delete them first.")
    for hook in hooks:
        hook.deleted(transaction, node)
    transaction.run(delete(organisation).where(organisation.c.id == node.id))
    record(transaction, caller, "organisation.delete", node.subject, before={"name": node.name})
    _changed(transaction, node, node.generation + 1)


def _organisation(row: AnyRow, names: dict[str, str]) -> models.Organisation:
    return models.Organisation(
        id=row.id,
        parent_id=row.parent_id if row.parent_id in names else None,
        name=row.name,
        path=[one for one in ancestors(row.path) if one in names],
        people_count=row.people,
        created_at=row.created_at,
        generation=row.generation,
    )


def _new_parent(transaction: Transaction, caller: Caller, node: Organisation, parent_id: str) -> Organisation:
    if node.parent_id is None:
        raise Conflict("The root organisation cannot be moved.", "Move the ones below it.")
    parent = find_node(transaction, caller, parent_id, Permission.ORGANISATIONS_MANAGE)
    # Otherwise those who manage a part could take it out of reach of those above it.
    above = node.path.removesuffix(f"{node.id}/")
    caller.require(Permission.ORGANISATIONS_MANAGE, above, f"the organisation above {node.name}")
    if contains(node.path, parent.path):
        raise Invalid.field("body.parent_id", "It would be inside itself.", "Choose a parent outside it.")
    deepest = max(
        len(ancestors(path))
        for (path,) in transaction.rows(select(organisation.c.path).where(in_subtrees([node.path])))
    )
    if len(ancestors(parent.path)) + deepest - len(ancestors(node.path)) + 1 > MOST_LEVELS:
        raise Invalid.field(
            "body.parent_id", f"The tree has at most {MOST_LEVELS} levels.", "Choose a parent further up."
        )
    _refuse_gain_by_move(transaction, caller, node, parent)
    _refuse_foreign_roles(transaction, node, parent)
    return parent


def _refuse_gain_by_move(
    transaction: Transaction, caller: Caller, node: Organisation, parent: Organisation
) -> None:
    """A move gives everyone with a role on the new parents authority below: so the mover must hold it all."""
    gained_from = [one for one in ancestors(parent.path) if one not in ancestors(node.path)]
    gained = transaction.rows(
        select(role.c.permissions, role_grant.c.expires_at)
        .join(role_grant, role_grant.c.role_id == role.c.id)
        .where(role_grant.c.organisation_id.in_(gained_from), held_at(transaction.now))
    )
    permissions = effective(name for row in gained for name in row.permissions)
    caller.require_all(permissions, node.path, f"move {node.name} to {parent.name}")
    for row in gained:
        own = caller.until(effective(row.permissions), node.path)
        if own is not None and outlasts(row.expires_at, own):
            raise Forbidden(
                f"People of {parent.name} would hold permissions on {node.name} for longer than you do: "
                f"yours end {in_words(own)}.",
                "Ask someone who holds them for at least as long.",
            )


def _refuse_foreign_roles(transaction: Transaction, node: Organisation, parent: Organisation) -> None:
    """Roles of the old parents must not go along: their owners would still steer what they allow."""
    stays = {*ancestors(node.path)[:-1]} - {*ancestors(parent.path)}
    for table in (role_grant, invitation):
        name = transaction.scalar(
            select(role.c.name)
            .join(table, table.c.role_id == role.c.id)
            .join(organisation, organisation.c.id == table.c.organisation_id)
            .where(role.c.organisation_id.in_(stays), in_subtrees([node.path]))
            .limit(1)
        )
        if name is not None:
            raise Conflict(
                f"The role {name} is given inside {node.name}, but belongs to an organisation "
                "that it would leave.",
                "Take that role back, or withdraw the invitation or join code with it, then move.",
            )


def _move(transaction: Transaction, old: str, new: str) -> None:
    rest = func.substr(organisation.c.path, len(old) + 1)
    transaction.run(
        update(organisation).where(in_subtrees([old])).values(path=cast(literal(new), Text).concat(rest))
    )


def _refuse_double_name(transaction: Transaction, parent_id: str, name: str, but: str = "") -> None:
    found = transaction.scalar(
        select(organisation.c.id).where(
            organisation.c.parent_id == parent_id,
            organisation.c.name_key == name_key(name),
            organisation.c.id != but,
        )
    )
    if found is not None:
        raise conflict(
            "body.name", f"There is already an organisation called {name} here.", "Choose another name."
        )


def _changed(transaction: Transaction, node: Organisation, generation: int) -> None:
    publish(transaction, "organisation", node.id, generation, scope=node.path)
    transaction.hint(IDENTITY)
