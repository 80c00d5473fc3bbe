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
from corral.identity.lookups import user_subject
from corral.identity.tables import (
    invitation,
    join_code,
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
    """Removes invitations nobody took; the audit log tells of each."""
    return _end_offers(transaction, invitation, _INVITATIONS, "invitation.expire", most)


def end_join_codes(transaction: Transaction, most: int) -> int:
    return _end_offers(transaction, join_code, _JOIN_CODES, "join_code.expire", most)


def end_grants(transaction: Transaction, most: int) -> int:
    """Takes roles that were given until a time that has come."""
    ended = transaction.rows(_GRANTS.where(role_grant.c.expires_at <= transaction.now).limit(most))
    transaction.run(delete(role_grant).where(role_grant.c.id.in_([row.id for row in ended])))
    for row in ended:
        subject = user_subject(transaction, row.user_id, row.user_name)
        record(transaction, SYSTEM, "grant.expire", subject, before=_told(row))
        user_changed(transaction, row.user_id, bump(transaction, row.user_id), also=row.path)
    return len(ended)


def _end_offers(transaction: Transaction, table: Table, offers: Select[Any], action: str, most: int) -> int:
    kind = table.name
    ended = transaction.rows(offers.where(table.c.expires_at <= transaction.now).limit(most))
    transaction.run(delete(table).where(table.c.id.in_([row.id for row in ended])))
    for row in ended:
        subject = Subject(kind, row.id, row.organisation, row.path)
        record(transaction, SYSTEM, action, subject, before=_told(row))
        publish(transaction, kind, row.id, 1, scope=row.path)
    if ended:
        transaction.hint(IDENTITY)
    return len(ended)


def _remove_of_people(transaction: Transaction, table: Table, over: ColumnElement[bool], most: int) -> int:
    """Removes rows of `table` and tells each person once."""
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


def _told(row: AnyRow) -> dict[str, Any]:
    told = {name: getattr(row, name, None) for name in ("organisation", "role", "mail", "seats_taken")}
    expires_at: datetime = row.expires_at
    return {name: value for name, value in told.items() if value is not None} | {
        "expires_at": expires_at.isoformat()
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


_INVITATIONS = _with_place(invitation, [invitation.c.mail])
_JOIN_CODES = _with_place(join_code, [join_code.c.seats_taken])
_GRANTS = _with_place(role_grant, [role_grant.c.user_id, user.c.name.label("user_name")]).join(
    user, user.c.id == role_grant.c.user_id
)
