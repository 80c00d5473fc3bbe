"""Deleting an account: the ways in and everything it may do are gone, its name stays for the records.

The row stays with `deleted_at`, because the usage ledger, the audit log and past work name the person. The
sign-in name is never given to anybody else: in the records a name is one person.
"""

from collections.abc import Sequence

from sqlalchemy import Table, delete, update

from corral.api.callers import Caller
from corral.api.versions import Expected
from corral.audit.record import record
from corral.core.refusals import Conflict
from corral.identity.grants import refuse_last_super_administrator, user_changed
from corral.identity.lookups import find_steered, user_subject
from corral.identity.tables import (
    external_login,
    invitation,
    login_link,
    membership,
    password,
    role_grant,
    session,
    ssh_key,
    token,
    user,
)
from corral.identity.user_hooks import UserHook
from corral.store.database import Transaction

# What lets the person in, and what the person may do.
_OWNED: tuple[Table, ...] = (
    session,
    token,
    ssh_key,
    login_link,
    password,
    external_login,
    role_grant,
    membership,
)


def delete_user(
    transaction: Transaction, caller: Caller, user_id: str, expected: Expected, hooks: Sequence[UserHook] = ()
) -> None:
    row = find_steered(transaction, caller, user_id)
    expected.check(row.generation)
    if user_id == caller.user_id:
        raise Conflict("You cannot delete your own account.", "Ask another administrator.")
    if row.state == "active":
        refuse_last_super_administrator(transaction, user_id)
    left: dict[str, int] = {}
    for hook in hooks:
        left.update(hook.in_the_way(transaction, user_id))
    if left:
        listed = ", ".join(f"{count} {what}" for what, count in left.items())
        raise Conflict(f"{row.display_name} still has {listed}.", "Stop their work first.")
    subject = user_subject(transaction, user_id, row.name)
    # While it still has its organisations: those who may see them hear of it.
    user_changed(transaction, user_id, row.generation + 1)
    for hook in hooks:
        hook.delete(transaction, user_id)
    for table in _OWNED:
        transaction.run(delete(table).where(table.c.user_id == user_id))
    # What the person handed out lets nobody in any more.
    transaction.run(delete(login_link).where(login_link.c.made_by == user_id))
    transaction.run(delete(invitation).where(invitation.c.invited_by == user_id))
    gone = {
        "state": "disabled",
        "deleted_at": transaction.now,
        "mail": None,
        "generation": row.generation + 1,
    }
    transaction.run(update(user).where(user.c.id == user_id).values(**gone))
    told = {"name": row.name, "display_name": row.display_name, "mail": row.mail}
    record(transaction, caller, "user.delete", subject, before=told)
