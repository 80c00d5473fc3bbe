"""Using an invitation: a new account, or one more organisation for somebody who has one.

An invitation gives what its maker could give at this moment, not what they could give when they made it.
"""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, select, update

from corral.api.callers import Caller, Origin
from corral.audit.record import record
from corral.core.permissions import Permission
from corral.core.refusals import Conflict
from corral.identity.accounts import write_password
from corral.identity.credentials import hash_secret, read_join_code
from corral.identity.directory import get_user
from corral.identity.ends import End, end_of_role
from corral.identity.grants import add_grant, add_membership, bump, user_changed
from corral.identity.invitations import CODE, LINK, OFFERS, Form, invitation_changed
from corral.identity.login import SessionRules, SignedIn, open_session
from corral.identity.lookups import Organisation, RoleFacts, authorities_of, find_role, user_subject
from corral.identity.models import (
    AcceptInvitation,
    InvitationPreview,
    Join,
    JoinPreview,
    NewAccount,
    User,
)
from corral.identity.tables import invitation, user
from corral.identity.users import add_user
from corral.store.database import AnyRow, Transaction


@dataclass(frozen=True, slots=True)
class Offer:
    """An open invitation and what it gives now."""

    form: Form
    row: AnyRow
    node: Organisation
    role: RoleFacts
    end: End

    def facts(self) -> dict[str, str]:
        """What the audit log keeps of its use."""
        facts = {"organisation": self.node.name, "role": self.role.name, self.form.kind: self.row.id}
        return facts if self.end.at is None else {**facts, "role_expires_at": self.end.at.isoformat()}


def preview_invitation(transaction: Transaction, secret: str) -> InvitationPreview:
    offer = _by_secret(transaction, secret)
    return InvitationPreview(
        organisation_name=offer.node.name,
        role_name=offer.role.name,
        role_key=offer.role.key,
        invited_by=offer.row.inviter,
        mail=offer.row.mail,
        expires_at=offer.row.expires_at,
        role_expires_at=offer.end.at,
    )


def preview_join(transaction: Transaction, code: str) -> JoinPreview:
    offer = _by_code(transaction, code)
    return JoinPreview(
        organisation_name=offer.node.name,
        role_name=offer.role.name,
        role_key=offer.role.key,
        seats_left=offer.row.seats - offer.row.seats_taken,
        expires_at=offer.row.expires_at,
        role_expires_at=offer.end.at,
    )


def accept_invitation(
    transaction: Transaction, accepted: AcceptInvitation, hashed: str, origin: Origin, rules: SessionRules
) -> SignedIn:
    """A new account by link."""
    offer = _by_secret(transaction, accepted.secret)
    return _open_account(transaction, offer, accepted, offer.row.mail, hashed, origin, rules)


def join_with_code(
    transaction: Transaction, join: Join, hashed: str, origin: Origin, rules: SessionRules
) -> SignedIn:
    """A new account by join code."""
    return _open_account(
        transaction, _by_code(transaction, join.code), join, join.mail, hashed, origin, rules
    )


def join_as_member(transaction: Transaction, caller: Caller, code: str) -> User:
    """Someone who has an account joins one more organisation."""
    offer = _by_code(transaction, code)
    joined = add_membership(transaction, caller.user_id, offer.node)
    granted = add_grant(transaction, caller.user_id, offer.role, offer.node, offer.end.at)
    if not (joined or granted):
        raise Conflict(f"You already belong to {offer.node.name}.", "You need no seat; nothing was changed.")
    _take_seat(transaction, offer)
    subject = user_subject(transaction, caller.user_id, caller.name)
    record(transaction, caller, "membership.create", subject, after=offer.facts())
    user_changed(transaction, caller.user_id, bump(transaction, caller.user_id))
    return get_user(transaction, caller, caller.user_id)


def _open_account(
    transaction: Transaction,
    offer: Offer,
    new: NewAccount,
    mail: str | None,
    hashed: str,
    origin: Origin,
    rules: SessionRules,
) -> SignedIn:
    user_id = add_user(transaction, name=new.name, display_name=new.display_name, mail=mail)
    write_password(transaction, user_id, hashed, must_change=False)
    add_membership(transaction, user_id, offer.node)
    add_grant(transaction, user_id, offer.role, offer.node, offer.end.at)
    _take_seat(transaction, offer)
    caller = _as(transaction, user_id, new.name, origin)
    subject = user_subject(transaction, user_id, new.name)
    record(transaction, caller, "user.create", subject, after=offer.facts())
    user_changed(transaction, user_id, 1)
    person = transaction.first(select(user).where(user.c.id == user_id))
    assert person is not None
    return open_session(transaction, person, "local", origin, rules)


def _take_seat(transaction: Transaction, offer: Offer) -> None:
    # Guarded by itself and by the table's check, whatever the isolation: never more people than seats.
    free = (invitation.c.id == offer.row.id, invitation.c.seats_taken < invitation.c.seats)
    if offer.form is LINK:
        taken = transaction.run(delete(invitation).where(*free))
    else:
        taken = transaction.run(
            update(invitation).where(*free).values(seats_taken=invitation.c.seats_taken + 1)
        )
    if not taken:
        raise offer.form.gone()
    invitation_changed(transaction, offer.form, offer.row.id, offer.node.path)


def _by_secret(transaction: Transaction, secret: str) -> Offer:
    return _offer(transaction, LINK, invitation.c.secret_hash == hash_secret(secret))


def _by_code(transaction: Transaction, code: str) -> Offer:
    return _offer(transaction, CODE, invitation.c.code == read_join_code(code))


def _offer(transaction: Transaction, form: Form, found: ColumnElement[bool]) -> Offer:
    """What is offered and until when, if whoever offered it could still offer it now."""
    row = transaction.first(
        OFFERS.where(
            found,
            invitation.c.expires_at > transaction.now,
            invitation.c.seats_taken < invitation.c.seats,
        )
    )
    if row is None:
        raise form.gone()
    maker = transaction.first(select(user.c.name, user.c.state).where(user.c.id == row.invited_by))
    if maker is None or maker.state != "active":
        raise form.gone()
    caller = _as(transaction, row.invited_by, maker.name, Origin("", ""))
    if not caller.may(Permission.PEOPLE_INVITE, row.path):
        raise form.gone()
    node = Organisation(
        row.organisation_id, row.parent_id, row.organisation_name, row.path, row.node_generation
    )
    wanted = find_role(transaction, caller, row.role_id)
    if wanted.permissions - caller.permissions_on(row.path):
        raise form.gone()
    return Offer(form, row, node, wanted, end_of_role(caller, wanted, node))


def _as(transaction: Transaction, user_id: str, name: str, origin: Origin) -> Caller:
    return Caller(user_id, name, "session", "", origin, authorities_of(transaction, user_id))
