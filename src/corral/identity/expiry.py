"""What ends by itself: each function removes what is past its time, a bounded number at once.

Nothing here decides who may do what: an expired credential is refused from the moment it expires, whether or
not it has been removed yet. Removing it tells the people concerned and keeps the tables small.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, delete, or_, select

from corral.api.callers import IDENTITY, SYSTEM
from corral.audit.record import Subject, record
from corral.events.record import publish
from corral.identity.grants import bump, user_changed
from corral.identity.invitations import CODE, form_of
from corral.identity.lookups import user_subject
from corral.identity.tables import (
    invitation,
    login_link,
    login_throttle,
    organisation,
    role,
    role_grant,
    session,
    token,
    user,
)
from corral.store.database import AnyRow, Transaction

# An expired token stays in its owner's list for so long, so that who wonders why a script fails sees why.
TOKEN_KEPT = timedelta(days=30)


def end_sessions(transaction: Transaction, idle: timedelta, most: int) -> int:
    """Removes sessions past their end, or unused for longer than `idle`."""
    now = transaction.now
    over = or_(session.c.expires_at <= now, session.c.last_seen_at <= now - idle)
    return _remove_of_people(transaction, session, over, most)


def forget_tokens(transaction: Transaction, most: int) -> int:
    """Removes tokens that expired 30 days ago."""
    return _remove_of_people(transaction, token, token.c.expires_at <= transaction.now - TOKEN_KEPT, most)


def forget_login_links(transaction: Transaction, most: int) -> int:
    return len(_remove(transaction, login_link, login_link.c.expires_at <= transaction.now, most))


def forget_login_tries(transaction: Transaction, most: int) -> int:
    """Removes counters of failed tries whose time window is over."""
    over = login_throttle.c.window_ends_at <= transaction.now
    keys = select(login_throttle.c.key).where(over).limit(most)
    return transaction.run(delete(login_throttle).where(login_throttle.c.key.in_(keys)))


def end_invitations(transaction: Transaction, most: int) -> int:
    """Removes expired links and join codes; the audit log has an entry for each."""
    ended = transaction.rows(_INVITATIONS.where(invitation.c.expires_at <= transaction.now).limit(most))
    transaction.run(delete(invitation).where(invitation.c.id.in_([row.id for row in ended])))
    for row in ended:
        form = form_of(row)
        kind, seats_taken = form.kind, row.seats_taken if form is CODE else None
        facts = _audited(row, mail=row.mail, seats_taken=seats_taken)
        subject = Subject(kind, row.id, row.organisation, row.path)
        record(transaction, SYSTEM, form.expired, subject, before=facts)
        publish(transaction, kind, row.id, 1, scope=row.path)
    if ended:
        transaction.hint(IDENTITY)
    return len(ended)


def end_grants(transaction: Transaction, most: int) -> int:
    """Takes back roles whose time is over."""
    ended = transaction.rows(_GRANTS.where(role_grant.c.expires_at <= transaction.now).limit(most))
    transaction.run(delete(role_grant).where(role_grant.c.id.in_([row.id for row in ended])))
    for row in ended:
        subject = user_subject(transaction, row.user_id, row.user_name)
        record(transaction, SYSTEM, "grant.expire", subject, before=_audited(row))
        user_changed(transaction, row.user_id, bump(transaction, row.user_id), also=row.path)
    return len(ended)


def _remove_of_people(transaction: Transaction, table: Table, over: ColumnElement[bool], most: int) -> int:
    """Removes rows of `table` and publishes one event per person."""
    removed = _remove(transaction, table, over, most)
    for user_id in sorted({row.user_id for row in removed}):
        publish(transaction, table.name, user_id, 1, user_id=user_id)
    if removed:
        transaction.hint(IDENTITY)
    return len(removed)


def _remove(transaction: Transaction, table: Table, over: ColumnElement[bool], most: int) -> Sequence[AnyRow]:
    ended = transaction.rows(select(table.c.id, table.c.user_id).where(over).limit(most))
    transaction.run(delete(table).where(table.c.id.in_([row.id for row in ended])))
    return ended


def _audited(row: AnyRow, **more: Any) -> dict[str, Any]:
    expires_at: datetime = row.expires_at
    return {
        "organisation": row.organisation,
        "role": row.role,
        **{name: value for name, value in more.items() if value is not None},
        "expires_at": expires_at.isoformat(),
    }


def _with_place(table: Table, columns: Iterable[ColumnElement[Any]]) -> Select[Any]:
    return (
        select(
            table.c.id,
            table.c.expires_at,
            organisation.c.name.label("organisation"),
            organisation.c.path,
            role.c.name.label("role"),
            *columns,
        )
        .join_from(table, organisation, organisation.c.id == table.c.organisation_id)
        .join(role, role.c.id == table.c.role_id)
        .order_by(table.c.id)
    )


_INVITATIONS = _with_place(invitation, [invitation.c.mail, invitation.c.code, invitation.c.seats_taken])
_GRANTS = _with_place(role_grant, [role_grant.c.user_id, user.c.name.label("user_name")]).join(
    user, user.c.id == role_grant.c.user_id
)
