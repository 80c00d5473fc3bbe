"""Tickets into apps: made for the console's session, good once, within a minute, for one app."""

from datetime import timedelta

from sqlalchemy import delete, select

from corral.api.callers import Caller
from corral.apps.admission import port_of, require_entry
from corral.apps.tables import app_ticket
from corral.audit.record import Subject, record
from corral.gateway.broker import NotAdmittedError
from corral.gateway.names import AppName
from corral.identity.credentials import hash_secret, new_secret
from corral.store.database import Transaction

LIFETIME = timedelta(seconds=60)


def issue(transaction: Transaction, caller: Caller, workload_id: str, port: int | None) -> str:
    """The secret of a new ticket; refuses whoever may not enter."""
    found = require_entry(transaction, caller, workload_id)
    subject = Subject("workload", found.row.id, found.row.name, found.path)
    record(transaction, caller, "workload.open", subject, after={"port": port_of(found, port)})
    secret = new_secret()
    transaction.run(
        app_ticket.insert().values(
            secret_hash=hash_secret(secret),
            workload_id=workload_id,
            port=port,
            user_id=caller.user_id,
            credential_id=caller.credential_id,
            expires_at=transaction.now + LIFETIME,
        )
    )
    return secret


def is_known(transaction: Transaction, secret: str) -> bool:
    """Anybody may try: what is wrong costs a look, not a turn at writing."""
    known = select(app_ticket.c.user_id).where(app_ticket.c.secret_hash == hash_secret(secret[:256]))
    return transaction.first(known) is not None


def redeem(transaction: Transaction, secret: str, name: AppName) -> tuple[str, str]:
    """Uses a ticket up: whose it is, and which credential it was made with."""
    columns = app_ticket.c
    secret_hash = hash_secret(secret[:256])
    row = transaction.first(
        select(columns.workload_id, columns.port, columns.user_id, columns.credential_id, columns.expires_at)
        .where(columns.secret_hash == secret_hash)
        .with_for_update()
    )
    if row is None or (row.workload_id, row.port) != (name.workload_id, name.port):
        raise NotAdmittedError("unknown")
    transaction.run(delete(app_ticket).where(columns.secret_hash == secret_hash))
    if row.expires_at <= transaction.now:
        raise NotAdmittedError("expired")
    return row.user_id, row.credential_id


def forget_expired(transaction: Transaction, most: int) -> int:
    """Chore: tickets that nobody used."""
    old = select(app_ticket.c.secret_hash).where(app_ticket.c.expires_at <= transaction.now).limit(most)
    return transaction.run(delete(app_ticket).where(app_ticket.c.secret_hash.in_(old)))
