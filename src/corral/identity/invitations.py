"""Ways in: invitations by link, join codes with seats.

Both are roles given later, so "nobody gives what they lack" is asked twice: of who makes them, when they are
made; and of the same person again when they are used.
"""

from typing import Any

from sqlalchemy import Select, delete, insert, select, update

from corral.api.callers import IDENTITY, Caller, Origin, held_on, held_until
from corral.api.pages import Order, Page, page_of
from corral.audit.record import Subject, record
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import Conflict, NotFound
from corral.events.record import publish
from corral.identity.accounts import write_password
from corral.identity.credentials import hash_secret, new_join_code, new_secret, read_join_code
from corral.identity.directory import get_user
from corral.identity.ends import End, end_of_offer, end_of_role, outlasts
from corral.identity.grants import add_grant, add_membership, bump, user_changed
from corral.identity.login import SessionRules, SignedIn, open_session
from corral.identity.lookups import (
    Organisation,
    RoleFacts,
    authorities_of,
    check_grantable,
    find_node,
    find_role,
    in_subtrees,
    refuse_beyond,
    user_subject,
)
from corral.identity.models import (
    AcceptInvitation,
    CreatedInvitation,
    CreatedJoinCode,
    Invitation,
    InvitationPreview,
    Join,
    JoinCode,
    JoinPreview,
    NewAccount,
    NewInvitation,
    NewJoinCode,
    User,
)
from corral.identity.tables import invitation, join_code, organisation, role, user
from corral.identity.users import add_user
from corral.store.database import AnyRow, Transaction

GONE = "This invitation was used, withdrawn or is too old."
NO_CODE = "There is no such join code, or it is full or too old."
ASK_AGAIN = "Ask whoever gave it to you for a new one."


def list_invitations(
    transaction: Transaction, caller: Caller, organisation_id: str | None, cursor: str | None, limit: int
) -> Page[Invitation]:
    statement = _INVITATIONS.where(
        in_subtrees(_scopes(transaction, caller, organisation_id)), invitation.c.expires_at > transaction.now
    )
    order = Order("-created_at", (invitation.c.id,), descending=True)
    return page_of(
        Page[Invitation],
        transaction.rows,
        statement,
        order,
        cursor,
        limit,
        lambda rows: [_invitation(row) for row in rows],
    )


def create_invitation(
    transaction: Transaction, caller: Caller, new: NewInvitation, console: str
) -> CreatedInvitation:
    node, wanted = _offer(transaction, caller, new.organisation_id, new.role_id)
    given, works = end_of_role(caller, wanted, node), _works(transaction, caller, wanted, node, new)
    invitation_id, secret = new_id(Kind.INVITATION, transaction.now), new_secret()
    transaction.run(
        insert(invitation).values(
            id=invitation_id,
            organisation_id=node.id,
            role_id=wanted.id,
            invited_by=caller.user_id,
            mail=new.mail,
            secret_hash=hash_secret(secret),
            created_at=transaction.now,
            expires_at=works.at,
        )
    )
    told = {"organisation": node.name, "role": wanted.name, "mail": new.mail}
    record(transaction, caller, "invitation.create", _subject("invitation", invitation_id, node), after=told)
    _changed(transaction, "invitation", invitation_id, node)
    row = transaction.first(_INVITATIONS.where(invitation.c.id == invitation_id))
    assert row is not None
    url = f"{console}/join#invitation={secret}"
    return CreatedInvitation(
        invitation=_invitation(row),
        role_expires_at=given.at,
        notice=_notice(given, works),
        secret=secret,
        url=url,
    )


def mark_mailed(transaction: Transaction, invitation_id: str) -> Invitation | None:
    """The invitation, if it was not used or withdrawn while the mail was on its way."""
    transaction.run(
        update(invitation).where(invitation.c.id == invitation_id).values(mailed_at=transaction.now)
    )
    row = transaction.first(_INVITATIONS.where(invitation.c.id == invitation_id))
    return None if row is None else _invitation(row)


def withdraw_invitation(transaction: Transaction, caller: Caller, invitation_id: str) -> None:
    row = transaction.first(_INVITATIONS.where(invitation.c.id == invitation_id))
    if row is None or not caller.may(Permission.PEOPLE_READ, row.path):
        raise NotFound("There is no such invitation.", "List the invitations; it may have been used.")
    node = find_node(transaction, caller, row.organisation_id, Permission.PEOPLE_INVITE)
    transaction.run(delete(invitation).where(invitation.c.id == invitation_id))
    told = {"organisation": node.name, "role": row.role_name, "mail": row.mail}
    record(transaction, caller, "invitation.delete", _subject("invitation", invitation_id, node), before=told)
    _changed(transaction, "invitation", invitation_id, node)


def preview_invitation(transaction: Transaction, secret: str) -> InvitationPreview:
    row = _by_secret(transaction, secret)
    _, offered, end = _still_offered(transaction, row, row.invited_by, GONE)
    return InvitationPreview(
        organisation_name=row.organisation_name,
        role_name=offered.name,
        role_key=offered.key,
        invited_by=row.inviter,
        mail=row.mail,
        expires_at=row.expires_at,
        role_expires_at=end.at,
    )


def accept_invitation(
    transaction: Transaction, accepted: AcceptInvitation, hashed: str, origin: Origin, rules: SessionRules
) -> SignedIn:
    row = _by_secret(transaction, accepted.secret)
    node, wanted, end = _still_offered(transaction, row, row.invited_by, GONE)
    transaction.run(delete(invitation).where(invitation.c.id == row.id))
    user_id = _new_person(transaction, accepted, row.mail, hashed, node, wanted, end)
    caller = _as(transaction, user_id, accepted.name, origin)
    told = {**_given(node, wanted, end), "invitation": row.id}
    record(transaction, caller, "user.create", user_subject(transaction, user_id, accepted.name), after=told)
    _changed(transaction, "invitation", row.id, node)
    user_changed(transaction, user_id, 1)
    return _sign_in(transaction, user_id, origin, rules)


def list_join_codes(
    transaction: Transaction, caller: Caller, organisation_id: str | None, cursor: str | None, limit: int
) -> Page[JoinCode]:
    statement = _JOIN_CODES.where(
        in_subtrees(_scopes(transaction, caller, organisation_id)), join_code.c.expires_at > transaction.now
    )
    order = Order("-created_at", (join_code.c.id,), descending=True)
    return page_of(
        Page[JoinCode],
        transaction.rows,
        statement,
        order,
        cursor,
        limit,
        lambda rows: [_join_code(transaction, caller, row) for row in rows],
    )


def create_join_code(transaction: Transaction, caller: Caller, new: NewJoinCode) -> CreatedJoinCode:
    node, wanted = _offer(transaction, caller, new.organisation_id, new.role_id)
    given, works = end_of_role(caller, wanted, node), _works(transaction, caller, wanted, node, new)
    code_id = new_id(Kind.JOIN_CODE, transaction.now)
    transaction.run(
        insert(join_code).values(
            id=code_id,
            organisation_id=node.id,
            role_id=wanted.id,
            made_by=caller.user_id,
            code=new_join_code(),
            seats=new.seats,
            seats_taken=0,
            created_at=transaction.now,
            expires_at=works.at,
        )
    )
    told = {"organisation": node.name, "role": wanted.name, "seats": new.seats}
    record(transaction, caller, "join_code.create", _subject("join_code", code_id, node), after=told)
    _changed(transaction, "join_code", code_id, node)
    row = transaction.first(_JOIN_CODES.where(join_code.c.id == code_id))
    assert row is not None
    made = _join_code(transaction, caller, row)
    return CreatedJoinCode(**dict(made), role_expires_at=given.at, notice=_notice(given, works))


def withdraw_join_code(transaction: Transaction, caller: Caller, code_id: str) -> None:
    row = transaction.first(_JOIN_CODES.where(join_code.c.id == code_id))
    if row is None or not caller.may(Permission.PEOPLE_READ, row.path):
        raise NotFound("There is no such join code.", "List the join codes to find its id.")
    node = find_node(transaction, caller, row.organisation_id, Permission.PEOPLE_INVITE)
    transaction.run(delete(join_code).where(join_code.c.id == code_id))
    told = {"organisation": node.name, "seats": row.seats, "seats_taken": row.seats_taken}
    record(transaction, caller, "join_code.delete", _subject("join_code", code_id, node), before=told)
    _changed(transaction, "join_code", code_id, node)


def preview_join(transaction: Transaction, code: str) -> JoinPreview:
    row = _by_code(transaction, code)
    _, offered, end = _still_offered(transaction, row, row.made_by, NO_CODE)
    return JoinPreview(
        organisation_name=row.organisation_name,
        role_name=offered.name,
        role_key=offered.key,
        seats_left=row.seats - row.seats_taken,
        expires_at=row.expires_at,
        role_expires_at=end.at,
    )


def join_with_code(
    transaction: Transaction, join: Join, hashed: str, origin: Origin, rules: SessionRules
) -> SignedIn:
    """A new account by join code."""
    row = _by_code(transaction, join.code)
    node, wanted, end = _still_offered(transaction, row, row.made_by, NO_CODE)
    user_id = _new_person(transaction, join, join.mail, hashed, node, wanted, end)
    _take_seat(transaction, row, node)
    caller = _as(transaction, user_id, join.name, origin)
    told = {**_given(node, wanted, end), "join_code": row.id}
    record(transaction, caller, "user.create", user_subject(transaction, user_id, join.name), after=told)
    user_changed(transaction, user_id, 1)
    return _sign_in(transaction, user_id, origin, rules)


def join_as_member(transaction: Transaction, caller: Caller, code: str) -> User:
    """Someone who has an account joins one more organisation."""
    row = _by_code(transaction, code)
    node, wanted, end = _still_offered(transaction, row, row.made_by, NO_CODE)
    joined = add_membership(transaction, caller.user_id, node)
    granted = add_grant(transaction, caller.user_id, wanted, node, end.at)
    if not (joined or granted):
        raise Conflict(f"You already belong to {node.name}.", "No seat was taken; nothing is left to do.")
    _take_seat(transaction, row, node)
    told = {**_given(node, wanted, end), "join_code": row.id}
    subject = user_subject(transaction, caller.user_id, caller.name)
    record(transaction, caller, "membership.create", subject, after=told)
    user_changed(transaction, caller.user_id, bump(transaction, caller.user_id))
    return get_user(transaction, caller, caller.user_id)


def _offer(
    transaction: Transaction, caller: Caller, node_id: str, role_id: str
) -> tuple[Organisation, RoleFacts]:
    node = find_node(transaction, caller, node_id, Permission.PEOPLE_INVITE)
    wanted = find_role(transaction, caller, role_id)
    check_grantable(caller, wanted, node)
    most = transaction.bounds.open_invitations
    refuse_beyond(transaction, invitation.c.invited_by, caller, most)
    refuse_beyond(transaction, join_code.c.made_by, caller, most)
    return node, wanted


def _works(
    transaction: Transaction,
    caller: Caller,
    wanted: RoleFacts,
    node: Organisation,
    new: NewInvitation | NewJoinCode,
) -> End:
    asked = "expires_in_hours" in new.model_fields_set
    return end_of_offer(caller, wanted, node, transaction.now, new.expires_in_hours, asked=asked)


def _notice(given: End, works: End) -> str | None:
    return " ".join(one.notice for one in (given, works) if one.notice is not None) or None


def _given(node: Organisation, wanted: RoleFacts, end: End) -> dict[str, str]:
    told = {"organisation": node.name, "role": wanted.name}
    return told if end.at is None else {**told, "role_expires_at": end.at.isoformat()}


def _still_offered(
    transaction: Transaction, row: AnyRow, maker_id: str, gone: str
) -> tuple[Organisation, RoleFacts, End]:
    """What was offered and until when, if whoever offered it could still offer it now."""
    maker = transaction.first(select(user.c.name, user.c.state).where(user.c.id == maker_id))
    if maker is None or maker.state != "active":
        raise NotFound(gone, ASK_AGAIN)
    caller = _as(transaction, maker_id, maker.name, Origin("", ""))
    if not caller.may(Permission.PEOPLE_INVITE, row.path):
        raise NotFound(gone, ASK_AGAIN)
    node = Organisation(
        row.organisation_id, row.parent_id, row.organisation_name, row.path, row.node_generation
    )
    wanted = find_role(transaction, caller, row.role_id)
    if wanted.permissions - caller.permissions_on(row.path):
        raise NotFound(gone, ASK_AGAIN)
    return node, wanted, end_of_role(caller, wanted, node)


def _as(transaction: Transaction, user_id: str, name: str, origin: Origin) -> Caller:
    return Caller(user_id, name, "session", "", origin, authorities_of(transaction, user_id))


def _new_person(
    transaction: Transaction,
    new: NewAccount,
    mail: str | None,
    hashed: str,
    node: Organisation,
    wanted: RoleFacts,
    end: End,
) -> str:
    user_id = add_user(transaction, name=new.name, display_name=new.display_name, mail=mail)
    write_password(transaction, user_id, hashed, must_change=False)
    add_membership(transaction, user_id, node)
    add_grant(transaction, user_id, wanted, node, end.at)
    return user_id


def _sign_in(transaction: Transaction, user_id: str, origin: Origin, rules: SessionRules) -> SignedIn:
    person = transaction.first(select(user).where(user.c.id == user_id))
    assert person is not None
    return open_session(transaction, person, "local", origin, rules)


def _take_seat(transaction: Transaction, row: AnyRow, node: Organisation) -> None:
    # Guarded by itself and by the table's check, whatever the isolation: never more people than seats.
    taken = transaction.run(
        update(join_code)
        .where(join_code.c.id == row.id, join_code.c.seats_taken < join_code.c.seats)
        .values(seats_taken=join_code.c.seats_taken + 1)
    )
    if not taken:
        raise NotFound(NO_CODE, ASK_AGAIN)
    _changed(transaction, "join_code", row.id, node)


def _by_secret(transaction: Transaction, secret: str) -> AnyRow:
    row = transaction.first(
        _INVITATIONS.where(
            invitation.c.secret_hash == hash_secret(secret), invitation.c.expires_at > transaction.now
        )
    )
    if row is None:
        raise NotFound(GONE, ASK_AGAIN)
    return row


def _by_code(transaction: Transaction, code: str) -> AnyRow:
    row = transaction.first(
        _JOIN_CODES.where(
            join_code.c.code == read_join_code(code),
            join_code.c.expires_at > transaction.now,
            join_code.c.seats_taken < join_code.c.seats,
        )
    )
    if row is None:
        raise NotFound(NO_CODE, ASK_AGAIN)
    return row


def _scopes(transaction: Transaction, caller: Caller, organisation_id: str | None) -> list[str]:
    if organisation_id is None:
        return caller.scopes(Permission.PEOPLE_READ)
    return [find_node(transaction, caller, organisation_id, Permission.PEOPLE_READ).path]


def _subject(kind: str, identifier: str, node: Organisation) -> Subject:
    return Subject(kind, identifier, node.name, node.path)


def _changed(transaction: Transaction, kind: str, identifier: str, node: Organisation) -> None:
    publish(transaction, kind, identifier, 1, scope=node.path)
    transaction.hint(IDENTITY)


def _invitation(row: AnyRow) -> Invitation:
    return Invitation(
        id=row.id,
        organisation_id=row.organisation_id,
        organisation_name=row.organisation_name,
        role_id=row.role_id,
        role_name=row.role_name,
        mail=row.mail,
        invited_by=row.inviter,
        created_at=row.created_at,
        expires_at=row.expires_at,
        mailed_at=row.mailed_at,
    )


def _join_code(transaction: Transaction, caller: Caller, row: AnyRow) -> JoinCode:
    """The code itself is the role: only who could give that role there, for as long, is shown it."""
    wanted = find_role(transaction, caller, row.role_id).permissions
    could_give = caller.may(Permission.PEOPLE_INVITE, row.path) and wanted <= caller.permissions_on(row.path)
    return JoinCode(
        id=row.id,
        code=row.code if could_give and _for_as_long(transaction, caller, row, wanted) else None,
        organisation_id=row.organisation_id,
        organisation_name=row.organisation_name,
        role_id=row.role_id,
        role_name=row.role_name,
        seats=row.seats,
        seats_taken=row.seats_taken,
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def _for_as_long(
    transaction: Transaction, caller: Caller, row: AnyRow, wanted: frozenset[Permission]
) -> bool:
    """Whether the caller holds what a code gives at least as long as whoever made it."""
    own = caller.until(wanted, row.path)
    if own is None or row.made_by == caller.user_id:
        return True
    makers = authorities_of(transaction, row.made_by)
    return wanted <= held_on(makers, row.path) and not outlasts(held_until(makers, wanted, row.path), own)


_PLACE = (
    organisation.c.name.label("organisation_name"),
    organisation.c.path,
    organisation.c.parent_id,
    organisation.c.generation.label("node_generation"),
    role.c.name.label("role_name"),
    user.c.display_name.label("inviter"),
)
_INVITATIONS: Select[*tuple[Any, ...]] = (
    select(invitation, *_PLACE)
    .join(organisation, organisation.c.id == invitation.c.organisation_id)
    .join(role, role.c.id == invitation.c.role_id)
    .join(user, user.c.id == invitation.c.invited_by)
)
_JOIN_CODES: Select[*tuple[Any, ...]] = (
    select(join_code, *_PLACE)
    .join(organisation, organisation.c.id == join_code.c.organisation_id)
    .join(role, role.c.id == join_code.c.role_id)
    .join(user, user.c.id == join_code.c.made_by)
)
