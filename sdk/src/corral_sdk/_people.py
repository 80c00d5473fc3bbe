"""Organisations, people, roles, and the ways in."""

from builtins import list as items
from collections.abc import Iterator, Sequence
from datetime import datetime

from corral_sdk._resource import UNCHANGED, Page, Resource, given
from corral_sdk.models import (
    CreatedInvitation,
    CreatedJoinCode,
    CreatedUser,
    ImportResult,
    Invitation,
    JoinCode,
    LoginLink,
    OpenSession,
    Organisation,
    PermissionInfo,
    Role,
    User,
    UserSummary,
    UserWithRole,
)

__all__ = ["Grants", "Invitations", "JoinCodes", "Organisations", "Roles", "Users"]


class Organisations(Resource):
    """The tree of organisations, as far as the caller sees it."""

    def list(self) -> Iterator[Organisation]:
        return self._each(Organisation, "organisations")

    def get(self, organisation_id: str) -> Organisation:
        return self._get(Organisation, "organisations", organisation_id)

    def create(self, parent_id: str, name: str) -> Organisation:
        return self._create(Organisation, "organisations", body={"parent_id": parent_id, "name": name})

    def update(
        self,
        organisation_id: str,
        *,
        name: str = UNCHANGED,
        parent_id: str = UNCHANGED,
        generation: int | None = None,
    ) -> Organisation:
        """Renames or moves; with `generation`, only if nobody changed it since."""
        body = given(name=name, parent_id=parent_id)
        path = ("organisations", organisation_id)
        return self._change("PATCH", Organisation, *path, body=body, generation=generation)

    def delete(self, organisation_id: str, *, generation: int | None = None) -> None:
        self._delete("organisations", organisation_id, generation=generation)


class Users(Resource):
    """People."""

    def list(
        self,
        *,
        organisation: str | None = None,
        role: str | None = None,
        state: str | None = None,
        search: str | None = None,
        sort: str | None = None,
    ) -> Iterator[User]:
        """Everyone the caller may see; all filters narrow. `sort` takes a field, with "-" descending."""
        query = given(organisation=organisation, role=role, state=state, search=search, sort=sort)
        return self._each(User, "users", query=query)

    def page(
        self,
        *,
        cursor: str | None = None,
        limit: int = 50,
        organisation: str | None = None,
        role: str | None = None,
        state: str | None = None,
        search: str | None = None,
        sort: str | None = None,
    ) -> Page[User]:
        """One page of `list`."""
        query = given(organisation=organisation, role=role, state=state, search=search, sort=sort)
        return self._page(User, "users", query={**query, "cursor": cursor, "limit": limit})

    def get(self, user_id: str) -> User:
        return self._get(User, "users", user_id)

    def create(
        self,
        name: str,
        display_name: str,
        *,
        organisation_id: str,
        role_id: str,
        mail: str | None = None,
        priority: int = 1,
    ) -> CreatedUser:
        """A new person, with a one-time login link to hand over."""
        body = given(
            name=name,
            display_name=display_name,
            mail=mail,
            organisation_id=organisation_id,
            role_id=role_id,
            priority=priority,
        )
        return self._create(CreatedUser, "users", body=body)

    def update(
        self,
        user_id: str,
        *,
        display_name: str = UNCHANGED,
        mail: str | None = UNCHANGED,
        priority: int = UNCHANGED,
        state: str = UNCHANGED,
        generation: int | None = None,
    ) -> User:
        body = given(display_name=display_name, mail=mail, priority=priority, state=state)
        return self._change("PATCH", User, "users", user_id, body=body, generation=generation)

    def delete(self, user_id: str, *, generation: int | None = None) -> None:
        """Deletes an account whose work is over; usage and the audit log keep the name."""
        self._delete("users", user_id, generation=generation)

    def import_csv(self, csv: str, *, organisation_id: str, role_id: str, dry_run: bool) -> ImportResult:
        """People from CSV text with the columns name, display_name, mail. A dry run changes nothing."""
        body = given(csv=csv, organisation_id=organisation_id, role_id=role_id, dry_run=dry_run)
        return self._create(ImportResult, "users", "import", body=body)

    def login_link(self, user_id: str) -> LoginLink:
        """A fresh one-time login link for someone."""
        return self._create(LoginLink, "users", user_id, "login-link", body=None)

    def summary(self, organisation: str | None = None) -> UserSummary:
        """How many people there are, how many wait, how many ways in are open."""
        return self._get(UserSummary, "users", "summary", query={"organisation": organisation})

    def sessions(self, user_id: str) -> Iterator[OpenSession]:
        return self._each(OpenSession, "users", user_id, "sessions")

    def revoke_sessions(self, user_id: str) -> int:
        """Ends all login sessions of someone; how many there were."""
        return int(self._act("users", user_id, "sessions", "revoke")["revoked"])

    def add_membership(self, user_id: str, organisation_id: str) -> User:
        return self._put(User, "users", user_id, "memberships", organisation_id)

    def remove_membership(self, user_id: str, organisation_id: str) -> None:
        self._delete("users", user_id, "memberships", organisation_id)


class Grants(Resource):
    """Roles that people hold; `User.roles` lists them."""

    def create(
        self, user_id: str, *, role_id: str, organisation_id: str, expires_at: datetime | None = None
    ) -> UserWithRole:
        """Gives a role on an organisation and all below it; the person as they are then.

        It ends no later than the authority of whoever gives it; `notice` says so where no end was given.
        """
        body = given(role_id=role_id, organisation_id=organisation_id, expires_at=expires_at)
        return self._create(UserWithRole, "users", user_id, "grants", body=body)

    def revoke(self, user_id: str, grant_id: str) -> None:
        self._delete("users", user_id, "grants", grant_id)


class Roles(Resource):
    """Roles: names for sets of permissions."""

    def permissions(self) -> items[PermissionInfo]:
        """Every permission there is."""
        return items(self._each(PermissionInfo, "permissions"))

    def list(self) -> Iterator[Role]:
        return self._each(Role, "roles")

    def get(self, role_id: str) -> Role:
        return self._get(Role, "roles", role_id)

    def create(
        self, organisation_id: str, name: str, permissions: Sequence[str], description: str = ""
    ) -> Role:
        body = given(
            organisation_id=organisation_id,
            name=name,
            description=description,
            permissions=items(permissions),
        )
        return self._create(Role, "roles", body=body)

    def update(
        self,
        role_id: str,
        *,
        name: str = UNCHANGED,
        description: str = UNCHANGED,
        permissions: Sequence[str] = UNCHANGED,
        generation: int | None = None,
    ) -> Role:
        body = given(name=name, description=description, permissions=permissions)
        return self._change("PATCH", Role, "roles", role_id, body=body, generation=generation)

    def delete(self, role_id: str, *, generation: int | None = None) -> None:
        self._delete("roles", role_id, generation=generation)


class Invitations(Resource):
    """Links that let one person join."""

    def list(self, *, organisation: str | None = None) -> Iterator[Invitation]:
        return self._each(Invitation, "invitations", query={"organisation": organisation})

    def create(
        self,
        *,
        organisation_id: str,
        role_id: str,
        mail: str | None = None,
        expires_in_hours: int = UNCHANGED,
    ) -> CreatedInvitation:
        body = given(
            organisation_id=organisation_id, role_id=role_id, mail=mail, expires_in_hours=expires_in_hours
        )
        return self._create(CreatedInvitation, "invitations", body=body)

    def revoke(self, invitation_id: str) -> None:
        self._delete("invitations", invitation_id)


class JoinCodes(Resource):
    """Codes for the blackboard: so many seats, for so long."""

    def list(self, *, organisation: str | None = None) -> Iterator[JoinCode]:
        return self._each(JoinCode, "join-codes", query={"organisation": organisation})

    def create(
        self, *, organisation_id: str, role_id: str, seats: int, expires_in_hours: int = UNCHANGED
    ) -> CreatedJoinCode:
        body = given(
            organisation_id=organisation_id, role_id=role_id, seats=seats, expires_in_hours=expires_in_hours
        )
        return self._create(CreatedJoinCode, "join-codes", body=body)

    def revoke(self, join_code_id: str) -> None:
        self._delete("join-codes", join_code_id)
