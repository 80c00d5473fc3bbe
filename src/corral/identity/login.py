"""Signing in: by a provider, by a one-time link; what a session is and what it tells the console."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, insert, select

from corral.api.callers import IDENTITY, Authority, Caller, Origin, held_on, held_until
from corral.audit.record import Subject, record
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import Forbidden, LoginFailed, TooMany
from corral.core.scopes import ancestors
from corral.events.record import publish
from corral.identity.credentials import csrf_token, hash_secret, new_secret
from corral.identity.directory import get_user
from corral.identity.ends import lasts
from corral.identity.lane import Lane
from corral.identity.lookups import authorities_of, manages_wholly, places_of, root_of, user_subject
from corral.identity.models import LoginLink, PermissionsHere, Session
from corral.identity.providers import LoginProvider, Proven
from corral.identity.rules import controls
from corral.identity.tables import external_login, login_link, password, session, user
from corral.identity.throttle import (
    Bound,
    address_count,
    count_try,
    counted,
    device_bounds,
    failure_bounds,
    forgive,
    is_hot,
    login_bounds,
)
from corral.store.database import AnyRow, Database, Transaction

NOBODY = "User name or password is wrong."


@dataclass(frozen=True, slots=True)
class SessionRules:
    """How long sessions and links live."""

    lifetime: timedelta
    link_lifetime: timedelta
    given_link_lifetime: timedelta = timedelta(hours=72)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new session and the secret for its cookie."""

    secret: str
    session: Session


async def sign_in(
    database: Database,
    provider: LoginProvider,
    answer: Mapping[str, str],
    origin: Origin,
    rules: SessionRules,
    lane: Lane,
    known_devices: Mapping[str, str],
) -> SignedIn:
    name = answer.get("name", "")
    device = await database.read(_device_of, name, known_devices)
    # Outside of any transaction: it takes a tenth of a second of CPU, or a call to another server.
    if device is not None:
        bounds = device_bounds(device)
        left, told = await database.write(count_try, bounds), True
        proof = await provider.finish(answer)
    else:
        async with lane.place(origin.address):
            bounds, left, told = await database.write(_count_stranger, name, origin.address)
            proof = await provider.finish(answer)
    if isinstance(proof, Proven):
        try:
            signed_in = await database.write(_open_proven, provider.key, proof, origin, rules)
        except Forbidden as refusal:
            if told:
                await database.write(_record_failure, name, provider.key, origin, refusal.detail)
            raise
        if signed_in is not None:
            await database.write(forgive, bounds)
            return signed_in
    if told:
        await database.write(_record_failure, name, provider.key, origin, "wrong name or password")
    raise LoginFailed(NOBODY, "Check both; passwords are case-sensitive.", facts={"tries_left": left})


def _device_of(transaction: Transaction, name: str, known: Mapping[str, str]) -> str | None:
    """The device, if whoever is named signed in on it before."""
    typed = name.strip().lower()
    if not known or not typed.isascii() or "\x00" in typed:
        return None
    user_id = transaction.scalar(select(user.c.id).where(user.c.name == typed))
    return None if user_id is None else known.get(user_id)


def _count_stranger(transaction: Transaction, name: str, address: str) -> tuple[tuple[Bound, ...], int, bool]:
    """The limits of this try, how many are left, and whether a failure is audited."""
    hot = is_hot(transaction, address)
    bounds = login_bounds(name, address, hot=hot)
    left = count_try(transaction, bounds)
    return (*bounds, address_count(address)), left, not hot


async def sign_in_by_link(database: Database, secret: str, origin: Origin, rules: SessionRules) -> SignedIn:
    async with counted(database, origin):
        return await database.write(_use_link, secret, origin, rules)


def new_login_link(
    transaction: Transaction,
    user_id: str,
    made_by: str | None,
    lifetime: timedelta,
    console: str,
    at_most: datetime | None = None,
) -> LoginLink:
    """A link that opens the console once as this person; earlier unused ones stop working.

    `made_by` is the person who made it, or nobody where Corral itself did at its start.
    """
    link = make_login_link(transaction.now, lifetime, console, at_most)
    transaction.run(delete(login_link).where(login_link.c.user_id == user_id))
    transaction.run(insert(login_link).values(link_row(link, user_id, made_by, transaction.now)))
    return link


def end_of_link(transaction: Transaction, caller: Caller, user_id: str) -> datetime | None:
    """How long the caller may make links for this person; it is asked again when one is used."""
    if user_id == caller.user_id:
        return None
    ends = [
        caller.until([Permission.PEOPLE_MANAGE], path)
        for path in places_of(transaction, user_id) or [root_of(transaction).path]
    ]
    return min((end for end in ends if end is not None), default=None)


def make_login_link(
    now: datetime, lifetime: timedelta, console: str, at_most: datetime | None = None
) -> LoginLink:
    """The link alone; it works once its row is stored."""
    secret = new_secret()
    # In the fragment: browsers do not send it, so it is in no log and no referrer.
    expires_at = now + lifetime if at_most is None else min(now + lifetime, at_most)
    return LoginLink(secret=secret, url=f"{console}/login#once={secret}", expires_at=expires_at)


def link_row(link: LoginLink, user_id: str, made_by: str | None, now: datetime) -> dict[str, Any]:
    return {
        "id": new_id(Kind.LOGIN_LINK, now),
        "user_id": user_id,
        "made_by": made_by,
        "secret_hash": hash_secret(link.secret),
        "created_at": now,
        "expires_at": link.expires_at,
    }


def open_session(
    transaction: Transaction, person: AnyRow, provider: str, origin: Origin, rules: SessionRules
) -> SignedIn:
    """A session for someone who has proven who they are."""
    if person.state != "active":
        waits = person.state == "pending"
        raise Forbidden(
            "This account is waiting for approval." if waits else "This account is disabled.",
            "An administrator of your organisation can enable it.",
        )
    _end_beyond(transaction, person.id)
    secret = new_secret()
    session_id = new_id(Kind.SESSION, transaction.now)
    expires_at = transaction.now + rules.lifetime
    transaction.run(
        insert(session).values(
            id=session_id,
            user_id=person.id,
            secret_hash=hash_secret(secret),
            created_at=transaction.now,
            last_seen_at=transaction.now,
            expires_at=expires_at,
            address=origin.address,
            user_agent=origin.user_agent[:300],
            provider=provider,
        )
    )
    caller = Caller(
        person.id,
        person.name,
        "session",
        session_id,
        origin,
        authorities_of(transaction, person.id),
        provider=provider,
    )
    subject = user_subject(transaction, person.id, person.name)
    record(transaction, caller, "session.create", subject, after={"provider": provider})
    publish(transaction, "session", person.id, 1, user_id=person.id)
    transaction.hint(IDENTITY)
    return SignedIn(secret, describe_session(transaction, caller, secret, expires_at))


def _end_beyond(transaction: Transaction, user_id: str) -> None:
    """Makes room for one more session: those that were not used for the longest time end."""
    mine = select(session.c.id).where(session.c.user_id == user_id)
    newest_first = mine.order_by(session.c.last_seen_at.desc(), session.c.id.desc())
    oldest = newest_first.offset(transaction.bounds.sessions - 1)
    ended = [row.id for row in transaction.rows(oldest)]
    if ended:
        transaction.run(delete(session).where(session.c.id.in_(ended)))


def describe_session(
    transaction: Transaction, caller: Caller, secret: str | None, expires_at: datetime | None
) -> Session:
    assert caller.via != "system"
    must_change = must_change_password(transaction, caller)
    return Session(
        user=get_user(transaction, caller, caller.user_id),
        via=caller.via,
        csrf_token=None if secret is None else csrf_token(secret),
        must_change_password=must_change,
        current_password_needed=not (must_change or _link_is_proof(transaction, caller)),
        permissions=_permissions_here(caller),
        expires_at=expires_at,
    )


def _permissions_here(caller: Caller) -> list[PermissionsHere]:
    """What is held on each organisation itself, and how long if there is an end."""
    by_path: dict[str, list[Authority]] = {}
    for one in caller.authorities:
        by_path.setdefault(one.path, []).append(one)
    found = []
    for path, held in by_path.items():
        permissions = sorted(held_on(held, path))
        ends = {each: end for each in permissions if (end := held_until(held, [each], path)) is not None}
        here = PermissionsHere(organisation_id=ancestors(path)[-1], permissions=permissions, ends=ends)
        found.append(here)
    return found


def must_change_password(transaction: Transaction, caller: Caller) -> bool:
    """People with local accounts need a password that only they know."""
    if caller.via != "session":
        return False
    stored = transaction.first(select(password.c.must_change).where(password.c.user_id == caller.user_id))
    return bool(stored.must_change) if stored is not None else caller.provider in {"local", "link"}


def current_password_needed(transaction: Transaction, caller: Caller) -> bool:
    """Whether setting a new password takes the current one."""
    return not (must_change_password(transaction, caller) or _link_is_proof(transaction, caller))


def _link_is_proof(transaction: Transaction, caller: Caller) -> bool:
    """Someone who came by a login link may have forgotten the password, but knows one set since then."""
    if caller.provider != "link":
        return False
    opened = transaction.scalar(select(session.c.created_at).where(session.c.id == caller.credential_id))
    changed = transaction.scalar(select(password.c.changed_at).where(password.c.user_id == caller.user_id))
    return changed is None or (opened is not None and changed <= opened)


def sign_out(transaction: Transaction, caller: Caller) -> None:
    transaction.run(delete(session).where(session.c.id == caller.credential_id))
    subject = user_subject(transaction, caller.user_id, caller.name)
    record(transaction, caller, "session.end", subject)
    publish(transaction, "session", caller.user_id, 1, user_id=caller.user_id)
    transaction.hint(IDENTITY)


def _open_proven(
    transaction: Transaction, provider: str, proof: Proven, origin: Origin, rules: SessionRules
) -> SignedIn | None:
    if provider == "local":
        found = user.c.id == proof.subject
        person = transaction.first(select(user).where(found))
    else:
        person = transaction.first(
            select(user)
            .join(external_login, external_login.c.user_id == user.c.id)
            .where(external_login.c.provider == provider, external_login.c.subject == proof.subject)
        )
    return None if person is None else open_session(transaction, person, provider, origin, rules)


def _use_link(transaction: Transaction, secret: str, origin: Origin, rules: SessionRules) -> SignedIn:
    t = login_link.c
    link = transaction.first(
        select(t.id, t.user_id, t.made_by).where(
            t.secret_hash == hash_secret(secret), t.expires_at > transaction.now
        )
    )
    if link is None or not _maker_still_may(transaction, link):
        raise LoginFailed(
            "This login link was used, has expired, or its maker may no longer create one.",
            "Run `corral login --link` on Corral's machine, or ask an administrator for a new one.",
        )
    transaction.run(delete(login_link).where(t.id == link.id))
    person = transaction.first(select(user).where(user.c.id == link.user_id))
    assert person is not None
    return open_session(transaction, person, "link", origin, rules)


def _maker_still_may(transaction: Transaction, link: AnyRow) -> bool:
    """A link opens what its maker could open: not an account that was given more, or joined more, since."""
    if link.made_by is None or link.made_by == link.user_id:
        return True
    if transaction.scalar(select(user.c.state).where(user.c.id == link.made_by)) != "active":
        return False
    held, opened = authorities_of(transaction, link.made_by), authorities_of(transaction, link.user_id)
    return manages_wholly(transaction, held, link.user_id) and controls(held, opened) and lasts(held, opened)


def _record_failure(transaction: Transaction, name: str, provider: str, origin: Origin, reason: str) -> None:
    """Audited under the person it was tried for; names that nobody has are not stored."""
    try:
        count_try(transaction, failure_bounds())
    except TooMany:
        return  # the count that stands there tells enough
    typed = name.strip().lower()[:40].replace("\x00", "")
    person = transaction.first(select(user.c.id, user.c.name).where(user.c.name == typed))
    caller = Caller(person.id if person else "", person.name if person else "", "system", "", origin, ())
    subject = (
        user_subject(transaction, person.id, person.name)
        if person
        else Subject("user", "", "", root_of(transaction).path)
    )
    record(
        transaction,
        caller,
        "session.create",
        subject,
        after={"provider": provider},
        result="refused",
        reason=reason,
    )
