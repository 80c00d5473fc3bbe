"""The installation's own questions: how to log in, who may sign up, what is left to do on the first day."""

from sqlalchemy import func, select

from corral.api.callers import Caller, Origin
from corral.audit.record import record
from corral.core.permissions import Permission
from corral.core.refusals import Forbidden
from corral.identity.accounts import write_password
from corral.identity.bootstrap import ROOT_NAME, first_password_pending
from corral.identity.grants import add_grant, add_membership, user_changed
from corral.identity.lookups import Organisation, held_at, role_by_key, root_of, user_subject
from corral.identity.tables import invitation, organisation, role_grant, user
from corral.identity.users import add_user
from corral.platform.models import Checklist, ChecklistItem, SignedUp, SignUp
from corral.platform.settings import read_mail, read_registration
from corral.store.database import Transaction


def require_sign_up(transaction: Transaction) -> None:
    if not read_registration(transaction).sign_up:
        raise Forbidden("Sign-up is off.", "Ask an administrator for an invitation or a join code.")


def require_system_reader(transaction: Transaction, caller: Caller) -> None:
    """The machine belongs to the whole installation: the permission must be held on its root."""
    root = root_of(transaction)
    caller.require(Permission.SYSTEM_READ, root.path, root.name)


def sign_up(transaction: Transaction, wanted: SignUp, hashed: str, origin: Origin) -> SignedUp:
    """A pending account: its owner can log in once an administrator has approved it."""
    require_sign_up(transaction)
    settings = read_registration(transaction)
    row = transaction.first(select(organisation).where(organisation.c.id == settings.organisation_id))
    assert row is not None, "sign-up is off where its organisation is gone"
    node = Organisation(row.id, row.parent_id, row.name, row.path, row.generation)
    user_id = add_user(
        transaction, name=wanted.name, display_name=wanted.display_name, mail=wanted.mail, state="pending"
    )
    write_password(transaction, user_id, hashed, must_change=False)
    add_membership(transaction, user_id, node)
    add_grant(transaction, user_id, role_by_key(transaction, "user"), node, None)
    caller = Caller(user_id, wanted.name, "system", "", origin, ())
    told = {"name": wanted.name, "mail": wanted.mail, "organisation": node.name, "by": "sign-up"}
    record(transaction, caller, "user.create", user_subject(transaction, user_id, wanted.name), after=told)
    user_changed(transaction, user_id, 1)
    return SignedUp()


def first_day(transaction: Transaction, caller: Caller) -> Checklist:
    """Which steps of setting up an installation are done, read from what exists."""
    root = root_of(transaction)
    caller.require(Permission.SETTINGS_READ, root.path, root.name)
    people = transaction.scalar(select(func.count()).select_from(user))
    open_ways = transaction.scalar(
        select(func.count()).select_from(invitation).where(invitation.c.expires_at > transaction.now)
    )
    administrators = transaction.scalar(
        select(func.count(func.distinct(role_grant.c.user_id)))
        .join(user, user.c.id == role_grant.c.user_id)
        .where(
            role_grant.c.role_id == role_by_key(transaction, "super_administrator").id,
            role_grant.c.organisation_id == root.id,
            held_at(transaction.now),
            user.c.state == "active",
        )
    )
    mail = read_mail(transaction)
    items = [
        ChecklistItem(key="password", done=not first_password_pending(transaction, caller.user_id)),
        ChecklistItem(key="organisation", done=root.name != ROOT_NAME),
        ChecklistItem(key="people", done=people > 1 or open_ways > 0, count=people),
        ChecklistItem(key="second_administrator", done=administrators > 1, count=administrators),
        ChecklistItem(key="mail", done=mail.host is not None and mail.tested_at is not None),
    ]
    return Checklist(items=items, done=sum(item.done for item in items), total=len(items))
