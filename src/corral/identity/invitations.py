"""Invitations: a role that somebody offers, and whoever uses the invitation gets.

An invitation is a link for one person, or a join code with seats that many people type; the rules are the
same. "Nobody gives what they lack" is asked twice: of whoever makes the invitation, and of the same person
again when it is used (`joining`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Select, delete, insert, select, update

from corral.api.callers import IDENTITY, Caller, held_on, held_until
from corral.api.pages import Order, Page, page_of
from corral.audit.record import Subject, record
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import NotFound
from corral.events.record import publish
from corral.identity.credentials import hash_secret, new_join_code, new_secret
from corral.identity.ends import End, end_of_offer, end_of_role, outlasts
from corral.identity.lookups import (
    authorities_of,
    check_grantable,
    find_node,
    find_role,
    in_subtrees,
    refuse_beyond,
)
from corral.identity.models import (
    CreatedInvitation,
    CreatedJoinCode,
    Invitation,
    JoinCode,
    NewInvitation,
    NewJoinCode,
)
from corral.identity.tables import invitation, organisation, role, user
from corral.store.database import AnyRow, Transaction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form:
    """How people use an invitation; `kind` is its name in events, the audit log has the actions."""

    kind: str
    created: str
    deleted: str
    expired: str
    id_kind: Kind
    gone_detail: str
    missing: tuple[str, str]  # detail and remedy for whoever manages invitations

    def gone(self) -> NotFound:
        """For whoever wants to use it; does not say which of the reasons it is."""
        return NotFound(self.gone_detail, "Ask whoever gave it to you for a new one.")


LINK = Form(
    "invitation",
    "invitation.create",
    "invitation.delete",
    "invitation.expire",
    Kind.INVITATION,
    "This invitation was used, withdrawn or has expired.",
    ("There is no such invitation.", "List the invitations; it may have been used."),
)
CODE = Form(
    "join_code",
    "join_code.create",
    "join_code.delete",
    "join_code.expire",
    Kind.JOIN_CODE,
    "There is no such join code, or it is full or has expired.",
    ("There is no such join code.", "List the join codes to find its id."),
)


def list_invitations(
    transaction: Transaction, caller: Caller, organisation_id: str | None, cursor: str | None, limit: int
) -> Page[Invitation]:
    """Open links, newest first."""
    links = OFFERS.where(invitation.c.code.is_(None))
    return _page(Page[Invitation], links, _invitation, transaction, caller, organisation_id, cursor, limit)


def list_join_codes(
    transaction: Transaction, caller: Caller, organisation_id: str | None, cursor: str | None, limit: int
) -> Page[JoinCode]:
    """Join codes that have not expired, newest first."""

    def shown(row: AnyRow) -> JoinCode:
        return _join_code(transaction, caller, row)

    codes = OFFERS.where(invitation.c.code.is_not(None))
    return _page(Page[JoinCode], codes, shown, transaction, caller, organisation_id, cursor, limit)


def create_invitation(
    transaction: Transaction, caller: Caller, new: NewInvitation, console: str
) -> CreatedInvitation:
    secret = new_secret()
    row, given, notice = _create(
        transaction, caller, LINK, new, seats=1, mail=new.mail, secret_hash=hash_secret(secret)
    )
    return CreatedInvitation(
        invitation=_invitation(row),
        role_expires_at=given.at,
        notice=notice,
        secret=secret,
        url=f"{console}/join#invitation={secret}",
    )


def create_join_code(transaction: Transaction, caller: Caller, new: NewJoinCode) -> CreatedJoinCode:
    row, given, notice = _create(transaction, caller, CODE, new, seats=new.seats, code=new_join_code())
    made = _join_code(transaction, caller, row)
    return CreatedJoinCode(**dict(made), role_expires_at=given.at, notice=notice)


def mark_mailed(transaction: Transaction, invitation_id: str) -> Invitation | None:
    """The invitation, unless it was used or withdrawn while the mail was on its way."""
    transaction.run(
        update(invitation).where(invitation.c.id == invitation_id).values(mailed_at=transaction.now)
    )
    row = transaction.first(OFFERS.where(invitation.c.id == invitation_id))
    return None if row is None else _invitation(row)


def withdraw(transaction: Transaction, caller: Caller, form: Form, invitation_id: str) -> None:
    """Nobody can use it any more; whoever did stays."""
    row = transaction.first(OFFERS.where(invitation.c.id == invitation_id))
    if row is None or form_of(row) is not form or not caller.may(Permission.PEOPLE_READ, row.path):
        raise NotFound(*form.missing)
    node = find_node(transaction, caller, row.organisation_id, Permission.PEOPLE_INVITE)
    transaction.run(delete(invitation).where(invitation.c.id == invitation_id))
    subject = Subject(form.kind, invitation_id, node.name, node.path)
    record(transaction, caller, form.deleted, subject, before=_facts(row))
    invitation_changed(transaction, form, invitation_id, node.path)


def form_of(row: AnyRow) -> Form:
    return LINK if row.code is None else CODE


def invitation_changed(transaction: Transaction, form: Form, invitation_id: str, path: str) -> None:
    publish(transaction, form.kind, invitation_id, 1, scope=path)
    transaction.hint(IDENTITY)


def _create(
    transaction: Transaction,
    caller: Caller,
    form: Form,
    new: NewInvitation | NewJoinCode,
    *,
    seats: int,
    **columns: str | None,
) -> tuple[AnyRow, End, str | None]:
    """The new row, when the role ends that it gives, and why anything ends sooner than was asked for."""
    node = find_node(transaction, caller, new.organisation_id, Permission.PEOPLE_INVITE)
    wanted = find_role(transaction, caller, new.role_id)
    check_grantable(caller, wanted, node)
    refuse_beyond(transaction, invitation.c.invited_by, caller, transaction.bounds.open_invitations)
    asked = "expires_in_hours" in new.model_fields_set
    given = end_of_role(caller, wanted, node)
    works = end_of_offer(caller, wanted, node, transaction.now, new.expires_in_hours, asked=asked)
    invitation_id = new_id(form.id_kind, transaction.now)
    transaction.run(
        insert(invitation).values(
            id=invitation_id,
            organisation_id=node.id,
            role_id=wanted.id,
            invited_by=caller.user_id,
            seats=seats,
            seats_taken=0,
            created_at=transaction.now,
            expires_at=works.at,
            **columns,
        )
    )
    row = transaction.first(OFFERS.where(invitation.c.id == invitation_id))
    assert row is not None
    subject = Subject(form.kind, invitation_id, node.name, node.path)
    record(transaction, caller, form.created, subject, after=_facts(row))
    invitation_changed(transaction, form, invitation_id, node.path)
    notices = [end.notice for end in (given, works) if end.notice is not None]
    return row, given, " ".join(notices) or None


def _page(
    kind: type[Page[T]],
    offers: Select[*tuple[Any, ...]],
    shown: Callable[[AnyRow], T],
    transaction: Transaction,
    caller: Caller,
    organisation_id: str | None,
    cursor: str | None,
    limit: int,
) -> Page[T]:
    if organisation_id is None:
        scopes: Sequence[str] = caller.scopes(Permission.PEOPLE_READ)
    else:
        scopes = [find_node(transaction, caller, organisation_id, Permission.PEOPLE_READ).path]
    statement = offers.where(in_subtrees(scopes), invitation.c.expires_at > transaction.now)
    order = Order("-created_at", (invitation.c.id,), descending=True)
    return page_of(
        kind, transaction.rows, statement, order, cursor, limit, lambda rows: [shown(row) for row in rows]
    )


def _facts(row: AnyRow) -> dict[str, Any]:
    """What the audit log keeps of an invitation."""
    place = {"organisation": row.organisation_name, "role": row.role_name}
    if form_of(row) is LINK:
        return {**place, "mail": row.mail}
    return {**place, "seats": row.seats, "seats_taken": row.seats_taken}


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
    """Whoever has the code has the role: it is shown to those who could give that role there, for as long."""
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
    if own is None or row.invited_by == caller.user_id:
        return True
    makers = authorities_of(transaction, row.invited_by)
    return wanted <= held_on(makers, row.path) and not outlasts(held_until(makers, wanted, row.path), own)


OFFERS: Select[*tuple[Any, ...]] = (
    select(
        invitation,
        organisation.c.name.label("organisation_name"),
        organisation.c.path,
        organisation.c.parent_id,
        organisation.c.generation.label("node_generation"),
        role.c.name.label("role_name"),
        user.c.display_name.label("inviter"),
    )
    .join(organisation, organisation.c.id == invitation.c.organisation_id)
    .join(role, role.c.id == invitation.c.role_id)
    .join(user, user.c.id == invitation.c.invited_by)
)
