"""The caller's own account: profile, password, open sessions, tokens, SSH keys."""

import base64
import hashlib
from datetime import datetime, timedelta

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_public_key
from sqlalchemy import delete, insert, select, update

from corral.api.callers import IDENTITY, Caller
from corral.api.problems import conflict
from corral.api.versions import Expected
from corral.audit.record import record
from corral.core.ids import Kind, new_id
from corral.core.refusals import Invalid, NotFound
from corral.events.record import publish
from corral.identity.credentials import hash_secret, new_secret, token_text
from corral.identity.lookups import user_subject
from corral.identity.models import (
    CreatedToken,
    NewSshKey,
    NewToken,
    OpenSession,
    OpenSessions,
    ProfileChange,
    Revoked,
    SshKey,
    SshKeys,
    Token,
    Tokens,
    User,
)
from corral.identity.tables import login_link, password, session, ssh_key, token, user
from corral.identity.users import apply_change
from corral.store.database import AnyRow, Transaction

TOKEN_DAYS = 90
SSH_KINDS = {
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "ssh-rsa",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
}
SSH_REMEDY = "Paste the line of a .pub file, e.g. of ~/.ssh/id_ed25519.pub."


def change_profile(
    transaction: Transaction, caller: Caller, change: ProfileChange, expected: Expected
) -> User:
    row = transaction.first(select(user).where(user.c.id == caller.user_id))
    assert row is not None
    expected.check(row.generation)
    wanted = change.given(may_be_empty={"mail", "language", "theme"})
    return apply_change(transaction, caller, row, wanted)


def stored_password(transaction: Transaction, user_id: str) -> AnyRow | None:
    return transaction.first(select(password).where(password.c.user_id == user_id))


def set_password(transaction: Transaction, caller: Caller, hashed: str) -> None:
    """Stores the new password; every other session ends, and so do unused login links."""
    write_password(transaction, caller.user_id, hashed, must_change=False)
    transaction.run(delete(login_link).where(login_link.c.user_id == caller.user_id))
    transaction.run(
        delete(session).where(session.c.user_id == caller.user_id, session.c.id != caller.credential_id)
    )
    record(transaction, caller, "password.change", user_subject(transaction, caller.user_id, caller.name))
    _changed(transaction, "session", caller)


def write_password(transaction: Transaction, user_id: str, hashed: str, *, must_change: bool) -> None:
    transaction.run(delete(password).where(password.c.user_id == user_id))
    transaction.run(
        insert(password).values(
            user_id=user_id, hash=hashed, must_change=must_change, changed_at=transaction.now
        )
    )


def require_new_password(transaction: Transaction, user_id: str) -> None:
    """Whoever got help from someone else chooses a password of their own next."""
    transaction.run(update(password).where(password.c.user_id == user_id).values(must_change=True))
    transaction.hint(IDENTITY)


def list_sessions(transaction: Transaction, caller: Caller, user_id: str) -> OpenSessions:
    rows = transaction.rows(
        select(session)
        .where(session.c.user_id == user_id, session.c.expires_at > transaction.now)
        .order_by(session.c.last_seen_at.desc(), session.c.id)
    )
    return OpenSessions(
        items=[
            OpenSession(
                id=row.id,
                current=row.id == caller.credential_id,
                address=row.address,
                user_agent=row.user_agent,
                provider=row.provider,
                created_at=row.created_at,
                last_seen_at=row.last_seen_at,
                expires_at=row.expires_at,
            )
            for row in rows
        ]
    )


def end_session(transaction: Transaction, caller: Caller, session_id: str) -> None:
    gone = transaction.run(
        delete(session).where(session.c.id == session_id, session.c.user_id == caller.user_id)
    )
    if not gone:
        raise NotFound("You have no such session.", "List your sessions; it may have ended.")
    subject = user_subject(transaction, caller.user_id, caller.name)
    record(transaction, caller, "session.revoke", subject, before={"session": session_id})
    _changed(transaction, "session", caller)


def end_other_sessions(transaction: Transaction, caller: Caller, user_id: str, name: str) -> Revoked:
    """Ends all sessions of the person but the one that asks."""
    revoked = transaction.run(
        delete(session).where(session.c.user_id == user_id, session.c.id != caller.credential_id)
    )
    if revoked:
        subject = user_subject(transaction, user_id, name)
        record(transaction, caller, "session.revoke", subject, before={"sessions": revoked})
        publish(transaction, "session", user_id, 1, user_id=user_id)
        transaction.hint(IDENTITY)
    return Revoked(revoked=revoked)


def list_tokens(transaction: Transaction, caller: Caller) -> Tokens:
    rows = transaction.rows(
        select(token).where(token.c.user_id == caller.user_id).order_by(token.c.id.desc())
    )
    return Tokens(items=[_token(row) for row in rows])


def create_token(transaction: Transaction, caller: Caller, new: NewToken, max_days: int) -> CreatedToken:
    longest = transaction.now + timedelta(days=max_days)
    expires_at = new.expires_at or min(transaction.now + timedelta(days=TOKEN_DAYS), longest)
    if not transaction.now < expires_at <= longest:
        raise Invalid.field(
            "body.expires_at",
            f"A token can be valid for at most {max_days} days.",
            f"Choose a time until {longest:%Y-%m-%d}, or leave it out.",
        )
    owned = transaction.rows(select(token.c.name).where(token.c.user_id == caller.user_id))
    if any(row.name == new.name for row in owned):
        raise conflict("body.name", f"You already have a token called {new.name}.", "Choose another name.")
    if len(owned) >= (most := transaction.bounds.tokens):
        raise conflict("body.name", f"You already have {most} tokens.", "Revoke some first.")
    scopes: list[str] = ["*"] if "*" in new.scopes else sorted(str(one) for one in {*new.scopes})
    token_id, text = add_token(transaction, caller.user_id, new.name, scopes, expires_at)
    subject = user_subject(transaction, caller.user_id, caller.name)
    told = {"token": token_id, "name": new.name, "scopes": scopes, "expires_at": expires_at.isoformat()}
    record(transaction, caller, "token.create", subject, after=told)
    _changed(transaction, "token", caller)
    row = transaction.first(select(token).where(token.c.id == token_id))
    assert row is not None
    return CreatedToken(token=_token(row), secret=text)


def add_token(
    transaction: Transaction,
    user_id: str,
    name: str,
    scopes: list[str],
    expires_at: datetime | None,
    *,
    local_host: str | None = None,
) -> tuple[str, str]:
    """Inserts the token; returns its id and the text that is shown once.

    `local_host` is the host on which a token for the command of that machine is kept.
    """
    token_id, secret = new_id(Kind.TOKEN, transaction.now), new_secret()
    transaction.run(
        insert(token).values(
            id=token_id,
            user_id=user_id,
            name=name,
            secret_hash=hash_secret(secret),
            scopes=scopes,
            local=local_host is not None,
            host_id=local_host,
            created_at=transaction.now,
            expires_at=expires_at,
        )
    )
    return token_id, token_text(token_id, secret)


def revoke_token(transaction: Transaction, caller: Caller, token_id: str) -> None:
    row = transaction.first(select(token).where(token.c.id == token_id, token.c.user_id == caller.user_id))
    if row is None:
        raise NotFound("You have no such token.", "List your tokens to find its id.")
    transaction.run(delete(token).where(token.c.id == token_id))
    subject = user_subject(transaction, caller.user_id, caller.name)
    record(transaction, caller, "token.revoke", subject, before={"token": token_id, "name": row.name})
    _changed(transaction, "token", caller)


def list_ssh_keys(transaction: Transaction, caller: Caller) -> SshKeys:
    rows = transaction.rows(select(ssh_key).where(ssh_key.c.user_id == caller.user_id).order_by(ssh_key.c.id))
    return SshKeys(items=[_ssh_key(row) for row in rows])


def add_ssh_key(transaction: Transaction, caller: Caller, new: NewSshKey) -> SshKey:
    kind, blob, fingerprint = read_ssh_key(new.public_key)
    owned = transaction.rows(select(ssh_key.c.fingerprint).where(ssh_key.c.user_id == caller.user_id))
    if len(owned) >= (most := transaction.bounds.ssh_keys):
        raise conflict("body.title", f"You already have {most} SSH keys.", "Remove some first.")
    if any(row.fingerprint == fingerprint for row in owned):
        raise conflict(
            "body.public_key", "You already have this key.", "It works already; there is nothing to do."
        )
    key_id = new_id(Kind.SSH_KEY, transaction.now)
    transaction.run(
        insert(ssh_key).values(
            id=key_id,
            user_id=caller.user_id,
            title=new.title,
            kind=kind,
            public_key=f"{kind} {blob}",
            fingerprint=fingerprint,
            created_at=transaction.now,
        )
    )
    subject = user_subject(transaction, caller.user_id, caller.name)
    told = {"title": new.title, "fingerprint": fingerprint}
    record(transaction, caller, "ssh_key.create", subject, after=told)
    _changed(transaction, "ssh_key", caller)
    row = transaction.first(select(ssh_key).where(ssh_key.c.id == key_id))
    assert row is not None
    return _ssh_key(row)


def remove_ssh_key(transaction: Transaction, caller: Caller, key_id: str) -> None:
    row = transaction.first(
        select(ssh_key).where(ssh_key.c.id == key_id, ssh_key.c.user_id == caller.user_id)
    )
    if row is None:
        raise NotFound("You have no such SSH key.", "List your SSH keys to find its id.")
    transaction.run(delete(ssh_key).where(ssh_key.c.id == key_id))
    subject = user_subject(transaction, caller.user_id, caller.name)
    told = {"title": row.title, "fingerprint": row.fingerprint}
    record(transaction, caller, "ssh_key.delete", subject, before=told)
    _changed(transaction, "ssh_key", caller)


def read_ssh_key(text: str) -> tuple[str, str, str]:
    """Kind, base64 blob and fingerprint of a public key line; options and comment are dropped."""

    def refuse(message: str) -> Invalid:
        return Invalid.field("body.public_key", message, SSH_REMEDY)

    if "PRIVATE KEY" in text:
        raise Invalid.field(
            "body.public_key",
            "This is a private key; it was not stored.",
            "Never show it to anyone. " + SSH_REMEDY,
        )
    parts = text.split()
    at = next((index for index, part in enumerate(parts) if part in SSH_KINDS), len(parts))
    if "\n" in text or len(parts) < at + 2:
        raise refuse("This is not a single public key of a supported kind (ed25519, ECDSA, RSA).")
    kind, blob = parts[at : at + 2]
    try:
        raw = base64.b64decode(blob, validate=True)
        named = raw[4 : 4 + int.from_bytes(raw[:4], "big")].decode()
        key = None if kind.startswith("sk-") else load_ssh_public_key(f"{kind} {blob}".encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise refuse("The key cannot be read; it may be truncated.") from error
    if named != kind:
        raise refuse(f"It says {kind} but holds another kind of key.")
    if isinstance(key, RSAPublicKey) and key.key_size < 2048:
        raise refuse(f"An RSA key of {key.key_size} bits is too short; 2048 are needed.")
    digest = base64.b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")
    return kind, blob, f"SHA256:{digest}"


def touch(
    transaction: Transaction,
    sessions: dict[str, datetime],
    tokens: dict[str, datetime],
    users: dict[str, datetime],
) -> None:
    """Stores when credentials and people were last seen; collected, so that reads stay reads."""
    for table, column, seen in (
        (session, session.c.last_seen_at, sessions),
        (token, token.c.last_used_at, tokens),
        (user, user.c.last_seen_at, users),
    ):
        for one, at in seen.items():
            transaction.run(update(table).where(table.c.id == one).values({column: at}))


def _token(row: AnyRow) -> Token:
    return Token(
        id=row.id,
        name=row.name,
        scopes=row.scopes,
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        local=row.local,
    )


def _ssh_key(row: AnyRow) -> SshKey:
    return SshKey(
        id=row.id, title=row.title, kind=row.kind, fingerprint=row.fingerprint, created_at=row.created_at
    )


def _changed(transaction: Transaction, kind: str, caller: Caller) -> None:
    publish(transaction, kind, caller.user_id, 1, user_id=caller.user_id)
    transaction.hint(IDENTITY)
