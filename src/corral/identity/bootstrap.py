"""What must exist before anyone can log in: root, presets, first administrator, local token."""

from dataclasses import dataclass

from sqlalchemy import delete, func, insert, or_, select, update

from corral.api.callers import IDENTITY, SYSTEM
from corral.audit.record import Subject, record
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.scopes import child_path
from corral.core.text import name_key
from corral.identity.accounts import add_token, write_password
from corral.identity.grants import add_grant, add_membership
from corral.identity.lookups import held_at, role_by_key, root_of, user_subject
from corral.identity.tables import organisation, password, role, role_grant, token, user
from corral.identity.users import add_user
from corral.store.database import Transaction

ADMINISTRATOR = "admin"
ROOT_NAME = "Corral"
LOCAL_TOKEN = "this machine"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Preset:
    key: str
    name: str
    description: str
    permissions: tuple[Permission, ...]


PRESETS = (
    Preset("super_administrator", "Super administrator", "Everything, everywhere.", tuple(Permission)),
    Preset(
        "organisation_administrator",
        "Organisation administrator",
        "People, roles, queues, usage and the audit log of an organisation and all below it.",
        (
            Permission.ORGANISATIONS_READ,
            Permission.ORGANISATIONS_MANAGE,
            Permission.PEOPLE_READ,
            Permission.PEOPLE_INVITE,
            Permission.PEOPLE_MANAGE,
            Permission.ROLES_READ,
            Permission.ROLES_MANAGE,
            Permission.ROLES_GRANT,
            Permission.AUDIT_READ,
            Permission.USAGE_READ,
            Permission.ZONES_READ,
            Permission.QUEUES_READ,
            Permission.QUEUES_MANAGE,
            Permission.FLAVORS_READ,
            Permission.WORKLOADS_RUN,
            Permission.WORKLOADS_READ,
            Permission.WORKLOADS_MANAGE,
        ),
    ),
    Preset(
        "user",
        "User",
        "Uses what the organisation offers.",
        (
            Permission.ORGANISATIONS_READ,
            Permission.ZONES_READ,
            Permission.QUEUES_READ,
            Permission.FLAVORS_READ,
            Permission.WORKLOADS_RUN,
        ),
    ),
)


def is_new(transaction: Transaction) -> bool:
    return bool(transaction.scalar(select(func.count()).select_from(organisation)) == 0)


def found_installation(transaction: Transaction, hashed_password: str) -> bool:
    """The first start: root organisation, presets, administrator. Whether this call did it."""
    if not is_new(transaction):
        return False
    root_id = new_id(Kind.ORGANISATION, transaction.now)
    transaction.run(
        insert(organisation).values(
            id=root_id,
            parent_id=None,
            name=ROOT_NAME,
            name_key=name_key(ROOT_NAME),
            path=child_path("/", root_id),
            created_at=transaction.now,
            generation=1,
        )
    )
    renew_presets(transaction)
    user_id = add_user(transaction, name=ADMINISTRATOR, display_name="Administrator", mail=None)
    write_password(transaction, user_id, hashed_password, must_change=True)
    root = root_of(transaction)
    add_membership(transaction, user_id, root)
    add_grant(transaction, user_id, role_by_key(transaction, "super_administrator"), root, None)
    record(
        transaction,
        SYSTEM,
        "user.create",
        user_subject(transaction, user_id, ADMINISTRATOR),
        after={"role": "Super administrator", "by": "first start"},
    )
    return True


def renew_presets(transaction: Transaction) -> None:
    """Presets are data of this version: made if missing, brought up to date if not."""
    root = root_of(transaction)
    stored = {row.key: row for row in transaction.rows(select(role).where(role.c.key.is_not(None)))}
    for preset in PRESETS:
        values = {
            "name": preset.name,
            "name_key": name_key(preset.name),
            "description": preset.description,
            "permissions": sorted(preset.permissions),
        }
        row = stored.get(preset.key)
        _make_way(transaction, root.id, preset.name)
        if row is None:
            transaction.run(
                insert(role).values(
                    id=new_id(Kind.ROLE, transaction.now),
                    key=preset.key,
                    organisation_id=root.id,
                    created_at=transaction.now,
                    generation=1,
                    **values,
                )
            )
        elif any(getattr(row, name) != value for name, value in values.items()):
            transaction.run(
                update(role).where(role.c.id == row.id).values(**values, generation=row.generation + 1)
            )
            transaction.hint(IDENTITY)


def _make_way(transaction: Transaction, root_id: str, name: str) -> None:
    """Renames a custom role of the root whose name a preset needs; people who hold it keep it."""
    row = transaction.first(
        select(role).where(
            role.c.organisation_id == root_id, role.c.name_key == name_key(name), role.c.key.is_(None)
        )
    )
    if row is None:
        return
    own = f"{row.name[:90]} (own {row.id[-4:]})"
    transaction.run(
        update(role)
        .where(role.c.id == row.id)
        .values(name=own, name_key=name_key(own), generation=row.generation + 1)
    )
    subject = Subject("role", row.id, own, root_of(transaction).path)
    record(transaction, SYSTEM, "role.change", subject, before={"name": row.name}, after={"name": own})


def super_administrator(transaction: Transaction) -> tuple[str, str]:
    """Id and name of the longest-standing active super administrator of the root."""
    row = transaction.first(
        select(user.c.id, user.c.name)
        .join(role_grant, role_grant.c.user_id == user.c.id)
        .where(
            role_grant.c.role_id == role_by_key(transaction, "super_administrator").id,
            role_grant.c.organisation_id == root_of(transaction).id,
            held_at(transaction.now),
            user.c.state == "active",
        )
        .order_by(role_grant.c.id)
        .limit(1)
    )
    assert row is not None, "the last super administrator can be neither disabled nor stripped of the role"
    return row.id, row.name


def renew_local_token(transaction: Transaction, host_id: str) -> str:
    """The token for the command on this host; the one of its start before stops working.

    One of an older version, which had one host, says nothing of it.
    """
    user_id, _ = super_administrator(transaction)
    ours = or_(token.c.host_id == host_id, token.c.host_id.is_(None))
    transaction.run(delete(token).where(token.c.local, ours))
    transaction.hint(IDENTITY)
    _, text = add_token(transaction, user_id, LOCAL_TOKEN, ["*"], None, local_host=host_id)
    return text


def first_password_pending(transaction: Transaction, user_id: str) -> bool:
    """Whether the administrator still has the password that was made at the first start."""
    return bool(transaction.scalar(select(password.c.must_change).where(password.c.user_id == user_id)))
