"""Roles: sets of permissions that belong to an organisation and are given on it or below it."""

from typing import Any

from sqlalchemy import Select, delete, func, insert, select, update

from corral.api.callers import IDENTITY, Caller
from corral.api.problems import conflict
from corral.api.versions import Expected
from corral.audit.record import record
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import Conflict, Invalid
from corral.core.text import name_key
from corral.events.record import publish
from corral.identity.ends import in_words, outlasts
from corral.identity.lookups import RoleFacts, find_node, find_role, held_at, sees_role
from corral.identity.models import NewRole, Role, RoleChange, Roles
from corral.identity.rules import effective
from corral.identity.tables import invitation, organisation, role, role_grant
from corral.store.database import AnyRow, Transaction

MAKE_ANOTHER = "Create a role with these permissions and give that: it ends when your authority does."


def list_roles(transaction: Transaction, caller: Caller) -> Roles:
    """Presets first, then custom roles by name."""
    rows = [row for row in transaction.rows(_selection()) if sees_role(caller, row.path)]
    rows.sort(key=lambda row: (-len(row.permissions) if row.key else 0, row.name_key, row.id))
    return Roles(items=[_role(row) for row in rows])


def get_role(transaction: Transaction, caller: Caller, role_id: str) -> Role:
    find_role(transaction, caller, role_id)
    row = transaction.first(_selection().where(role.c.id == role_id))
    assert row is not None
    return _role(row)


def create_role(transaction: Transaction, caller: Caller, new: NewRole) -> Role:
    node = find_node(transaction, caller, new.organisation_id, Permission.ROLES_MANAGE)
    caller.require_all(new.permissions, node.path, f"make a role with these permissions on {node.name}")
    _refuse_double_name(transaction, node.id, new.name)
    role_id = new_id(Kind.ROLE, transaction.now)
    permissions = sorted(set(new.permissions))
    transaction.run(
        insert(role).values(
            id=role_id,
            key=None,
            organisation_id=node.id,
            name=new.name,
            name_key=name_key(new.name),
            description=new.description,
            permissions=permissions,
            created_at=transaction.now,
            generation=1,
        )
    )
    facts = find_role(transaction, caller, role_id)
    record(transaction, caller, "role.create", facts.subject, after=_told(facts))
    _changed(transaction, facts)
    return get_role(transaction, caller, role_id)


def change_role(
    transaction: Transaction, caller: Caller, role_id: str, change: RoleChange, expected: Expected
) -> Role:
    facts = _own_role(transaction, caller, role_id, "change")
    expected.check(facts.generation)
    wanted = change.given()
    name, description = wanted.get("name", facts.name), wanted.get("description", facts.description)
    permissions = frozenset(wanted.get("permissions", facts.permissions))
    # Both what it allowed and what it will allow: taking authority from others needs as much as giving it.
    touched = facts.permissions | permissions
    caller.require_all(touched, facts.organisation_path, f"change the role {facts.name}")
    _refuse_longer(transaction, caller, facts, permissions - facts.permissions)
    if (name, description, permissions) == (facts.name, facts.description, facts.permissions):
        return get_role(transaction, caller, role_id)
    if name != facts.name:
        _refuse_double_name(transaction, facts.organisation_id, name, but=role_id)
    transaction.run(
        update(role)
        .where(role.c.id == role_id)
        .values(
            name=name,
            name_key=name_key(name),
            description=description,
            permissions=sorted(permissions),
            generation=facts.generation + 1,
        )
    )
    changed = find_role(transaction, caller, role_id)
    record(transaction, caller, "role.change", changed.subject, before=_told(facts), after=_told(changed))
    _changed(transaction, changed)
    return get_role(transaction, caller, role_id)


def delete_role(transaction: Transaction, caller: Caller, role_id: str, expected: Expected) -> None:
    facts = _own_role(transaction, caller, role_id, "delete")
    expected.check(facts.generation)
    caller.require_all(facts.permissions, facts.organisation_path, f"delete the role {facts.name}")
    uses = {"people have it": role_grant, "invitations and join codes give it": invitation}
    for what, table in uses.items():
        count = transaction.scalar(select(func.count()).select_from(table).where(table.c.role_id == role_id))
        if count:
            raise Conflict(f"{count} {what}.", "Take the role from them, or withdraw the invitations, first.")
    transaction.run(delete(role).where(role.c.id == role_id))
    record(transaction, caller, "role.delete", facts.subject, before=_told(facts))
    _changed(transaction, facts)


def _own_role(transaction: Transaction, caller: Caller, role_id: str, verb: str) -> RoleFacts:
    facts = find_role(transaction, caller, role_id)
    if facts.key is not None:
        raise Conflict(
            f"{facts.name} is a preset; nobody can {verb} it.", "Create a custom role with what you need."
        )
    find_node(transaction, caller, facts.organisation_id, Permission.ROLES_MANAGE)
    return facts


def _refuse_longer(
    transaction: Transaction, caller: Caller, facts: RoleFacts, added: frozenset[Permission]
) -> None:
    """Whoever has the role gets what is added to it, for as long as they have it."""
    own = caller.until(added, facts.organisation_path)
    given = transaction.rows(
        select(role_grant.c.expires_at).where(role_grant.c.role_id == facts.id, held_at(transaction.now))
    )
    if own is not None and any(outlasts(until, own) for (until,) in given):
        raise Invalid.field(
            "body.permissions",
            f"People have the role {facts.name} beyond {in_words(own)}, when you lose "
            f"{', '.join(sorted(added))}.",
            MAKE_ANOTHER,
        )
    # What is offered was offered by somebody who may hold the same for good: who takes it would, too.
    if own is not None and _is_offered(transaction, facts.id):
        raise Invalid.field(
            "body.permissions",
            f"Open invitations or join codes give the role {facts.name}, and you hold "
            f"{', '.join(sorted(added))} until {in_words(own)}.",
            MAKE_ANOTHER,
        )


def _is_offered(transaction: Transaction, role_id: str) -> bool:
    offers = select(invitation.c.id).where(
        invitation.c.role_id == role_id, invitation.c.expires_at > transaction.now
    )
    return transaction.first(offers.limit(1)) is not None


def _refuse_double_name(transaction: Transaction, organisation_id: str, name: str, but: str = "") -> None:
    found = transaction.scalar(
        select(role.c.id).where(
            role.c.organisation_id == organisation_id, role.c.name_key == name_key(name), role.c.id != but
        )
    )
    if found is not None:
        raise conflict("body.name", f"There is already a role called {name} here.", "Choose another name.")


def _selection() -> Select[*tuple[Any, ...]]:
    people = select(func.count(func.distinct(role_grant.c.user_id))).where(role_grant.c.role_id == role.c.id)
    return select(
        role,
        organisation.c.name.label("organisation_name"),
        organisation.c.path,
        people.scalar_subquery().label("people"),
    ).join(organisation, organisation.c.id == role.c.organisation_id)


def _role(row: AnyRow) -> Role:
    return Role(
        id=row.id,
        key=row.key,
        organisation_id=row.organisation_id,
        organisation_name=row.organisation_name,
        name=row.name,
        description=row.description,
        permissions=sorted(effective(row.permissions)),
        people_count=row.people,
        created_at=row.created_at,
        generation=row.generation,
    )


def _told(facts: RoleFacts) -> dict[str, Any]:
    return {"name": facts.name, "description": facts.description, "permissions": sorted(facts.permissions)}


def _changed(transaction: Transaction, facts: RoleFacts) -> None:
    publish(transaction, "role", facts.id, facts.generation, scope=facts.organisation_path)
    transaction.hint(IDENTITY)
