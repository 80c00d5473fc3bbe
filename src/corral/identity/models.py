"""What the API takes and gives about people."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from corral.api.models import (
    Change,
    GivenInstant,
    Id,
    Input,
    Instant,
    Mail,
    Name,
    Output,
    Search,
    Secret,
    Text,
    storable,
)
from corral.api.pages import MOST
from corral.core.permissions import EVERY_SCOPE, AccountScope, Permission
from corral.identity.rules import PASSWORD_LENGTH, RESERVED_NAMES, USER_NAME, USER_NAME_LENGTH


def _not_reserved(name: str) -> str:
    if name in RESERVED_NAMES:
        raise ValueError(f"the name {name} is reserved")
    return name


UserName = Annotated[
    str,
    StringConstraints(
        min_length=USER_NAME_LENGTH[0],
        max_length=USER_NAME_LENGTH[1],
        pattern=USER_NAME,
    ),
    AfterValidator(_not_reserved),
    Field(
        description="For signing in: lower-case letters, digits, single . _ - between them.", examples=["mei"]
    ),
]
NewPassword = Annotated[
    str,
    StringConstraints(min_length=1, max_length=PASSWORD_LENGTH[1]),
    Field(description="10 characters or more.", examples=["correct horse battery"]),
]
State = Literal["active", "disabled", "pending"]
Priority = Annotated[int, Field(ge=1, le=5, description="5 is the highest; 1 is the default.")]
Language = Literal["en", "zh-TW", "zh-CN"]
Theme = Literal["light", "dark", "system"]
Hours = Annotated[int, Field(ge=1, le=24 * 365)]


class OrganisationName(Output):
    id: str
    name: str


class Organisation(Output):
    id: str = Field(examples=["o01k9x3v7qzt8m2c4w6d0ef"])
    parent_id: str | None = Field(description="Null for the root, and where you may not see the parent.")
    name: str = Field(examples=["Vision Lab"])
    path: list[str] = Field(description="Ids from the outermost visible organisation down to this one.")
    people_count: int = Field(description="People who belong to it directly.")
    created_at: Instant
    generation: int


class Organisations(Output):
    items: list[Organisation] = Field(description="Parents before their children, siblings by name.")


class NewOrganisation(Input):
    parent_id: Id
    name: Name


class OrganisationChange(Change):
    name: Name | None = None
    parent_id: Id | None = Field(None, description="Moves it with everything below it.")


class RoleGrant(Output):
    grant_id: str
    role_id: str
    role_name: str
    role_key: str | None
    organisation_id: str
    organisation_name: str
    expires_at: Instant | None


class User(Output):
    id: str = Field(examples=["u01k9x3v7qzt8m2c4w6d0ef"])
    name: str = Field(examples=["mei"])
    display_name: str = Field(examples=["Mei-Ling Chen"])
    mail: str | None
    state: State
    priority: int = Field(description="1 to 5; 5 is the highest.")
    language: Language | None
    theme: Theme | None
    created_at: Instant
    last_seen_at: Instant | None
    generation: int
    organisations: list[OrganisationName] = Field(
        description="Their organisations, as far as you may see them."
    )
    roles: list[RoleGrant] = Field(description="Roles on organisations that you may see.")


RoleExpiry = Annotated[
    Instant | None,
    Field(description="When the role ends: no later than the authority of whoever gives it."),
]
Notice = Annotated[
    str | None, Field(description="Why it ends at a time that nobody asked for; null otherwise.")
]


class UserWithRole(User):
    """The person, with the role that was given."""

    expires_at: RoleExpiry
    notice: Notice


class NewUser(Input):
    name: UserName
    display_name: Name
    mail: Mail | None = None
    organisation_id: Id
    role_id: Id
    priority: Priority = 1


class LoginLink(Output):
    """Opens the console once, without a password. The secret goes behind `/login#once=`."""

    secret: str
    url: str = Field(examples=["http://127.0.0.1:8710/login#once=…"])
    expires_at: Instant


class CreatedUser(Output):
    user: User
    login_link: LoginLink = Field(description="Hand it to them; they choose a password when they use it.")
    notice: Notice = None


class UserChange(Change):
    display_name: Name | None = None
    mail: Mail | None = None
    priority: Priority | None = None
    state: Literal["active", "disabled"] | None = None


class PeopleQuery(Input):
    """All filters must match."""

    organisation: Id | None = Field(None, description="Only this organisation and those below it.")
    role: Id | None = Field(None, description="Only people with this role somewhere.")
    state: State | None = None
    search: Search | None = Field(None, description="Part of name, display name or mail.")
    sort: str = Field(
        "name",
        max_length=30,
        description="name, display_name, created_at or last_seen_at; with - for descending.",
    )
    cursor: str | None = Field(
        None, max_length=600, description="`next_cursor` of the previous page; leave it out for the first."
    )
    limit: int = Field(50, ge=1, le=MOST, description="How many items at most.")


class UserSummary(Output):
    people: int
    pending: int
    disabled: int
    with_more_than_user_role: int
    open_invitations: int
    open_join_codes: int


class Import(Input):
    organisation_id: Id
    role_id: Id
    csv: Annotated[str, StringConstraints(min_length=1, max_length=1_000_000)] = Field(
        description="With a header; columns name, display_name, mail, priority; only name is needed.",
        examples=["name,display_name,mail\nmei,Mei-Ling Chen,mei@example.org\n"],
    )
    dry_run: bool = Field(False, description="Only report what would happen.")


class ImportedRow(Output):
    line: int
    name: str
    display_name: str
    mail: str | None
    result: Literal["create", "add", "unchanged", "error"] = Field(
        description="create: a new account; add: the person exists and joins; unchanged: already there."
    )
    problems: list[str]
    login_link: LoginLink | None = None


class ImportResult(Output):
    dry_run: bool
    rows: list[ImportedRow]
    created: int
    added: int
    errors: int
    role_expires_at: RoleExpiry = None
    notice: Notice = None


class NewGrant(Input):
    role_id: Id
    organisation_id: Id
    expires_at: GivenInstant | None = Field(
        None, description="If left out, it ends when your own authority to give it does, or never."
    )


class PermissionInfo(Output):
    permission: Permission
    description: str


class Permissions(Output):
    items: list[PermissionInfo]


class Role(Output):
    id: str = Field(examples=["r01k9x3v7qzt8m2c4w6d0ef"])
    key: str | None = Field(description="Of a preset (`user`); null for custom roles.")
    organisation_id: str = Field(description="It can be given on this organisation and below.")
    organisation_name: str = Field(examples=["Vision Lab"])
    name: str = Field(examples=["Tutor"])
    description: str = Field(examples=["Sees people, helps them."])
    permissions: list[Permission]
    people_count: int
    created_at: Instant
    generation: int


class Roles(Output):
    items: list[Role]


class NewRole(Input):
    organisation_id: Id
    name: Name
    description: Text = ""
    permissions: Annotated[list[Permission], Field(min_length=1, max_length=len(Permission))]


class RoleChange(Change):
    name: Name | None = None
    description: Text | None = None
    permissions: Annotated[list[Permission], Field(min_length=1, max_length=len(Permission))] | None = None


class Invitation(Output):
    id: str = Field(examples=["i01k9x3v7qzt8m2c4w6d0ef"])
    organisation_id: str
    organisation_name: str
    role_id: str
    role_name: str
    mail: str | None
    invited_by: str
    created_at: Instant
    expires_at: Instant
    mailed_at: Instant | None = Field(
        description="When the mail server accepted it; null if no mail was sent."
    )


class NewInvitation(Input):
    organisation_id: Id
    role_id: Id
    mail: Mail | None = None
    expires_in_hours: Hours = Field(
        7 * 24, description="If left out, at most as long as your own authority to offer the role."
    )


class CreatedInvitation(Output):
    invitation: Invitation
    role_expires_at: RoleExpiry = None
    notice: Notice = None
    secret: str
    url: str = Field(description="Shown once; works without a mail server.")
    mail_problem: str | None = Field(None, description="Why no mail was sent, if one was wanted.")


class JoinCode(Output):
    id: str
    code: str | None = Field(
        description="Null unless you could give its role there: whoever has the code gets the role.",
        examples=["BCDFG-23456"],
    )
    organisation_id: str
    organisation_name: str
    role_id: str
    role_name: str
    seats: int
    seats_taken: int
    created_at: Instant
    expires_at: Instant


class CreatedJoinCode(JoinCode):
    role_expires_at: RoleExpiry
    notice: Notice


class NewJoinCode(Input):
    organisation_id: Id
    role_id: Id
    seats: Annotated[int, Field(ge=1, le=10_000)]
    expires_in_hours: Hours = Field(
        7 * 24, description="If left out, at most as long as your own authority to offer the role."
    )


class InvitationSecret(Input):
    secret: Secret


class InvitationPreview(Output):
    organisation_name: str
    role_name: str
    role_key: str | None = Field(description="Of a preset role; null for custom roles.")
    invited_by: str
    mail: str | None
    expires_at: Instant
    role_expires_at: RoleExpiry


class NewAccount(Input):
    name: UserName
    display_name: Name
    password: NewPassword


class AcceptInvitation(NewAccount):
    secret: Secret


JoinCodeText = Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[\x20-\x7e]+$")]


class JoinCodeInput(Input):
    code: JoinCodeText


class JoinPreview(Output):
    organisation_name: str
    role_name: str
    role_key: str | None = Field(description="Of a preset role; null for custom roles.")
    seats_left: int
    expires_at: Instant
    role_expires_at: RoleExpiry


class Join(NewAccount):
    code: JoinCodeText
    mail: Mail | None = None


class SignIn(Input):
    provider: Annotated[str, StringConstraints(pattern="^[a-z0-9-]{1,40}$")] = "local"
    name: Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(storable)] = Field(
        examples=["mei"]
    )
    password: Annotated[str, StringConstraints(min_length=1, max_length=PASSWORD_LENGTH[1])]


class UseLoginLink(Input):
    secret: Secret


class PermissionsHere(Output):
    organisation_id: str
    permissions: list[Permission]
    ends: dict[Permission, Instant] = Field(
        description="Ends of permissions that you hold for a limited time; roles that you give end then, too."
    )


class Session(Output):
    user: User
    via: Literal["session", "token", "local"] = Field(examples=["session"])
    csrf_token: str | None = Field(description="Send it as X-CSRF-Token with every change; null for tokens.")
    must_change_password: bool
    current_password_needed: bool = Field(
        description="Whether a new password needs the current one; not after a login link, for instance."
    )
    permissions: list[PermissionsHere] = Field(
        description="Your permissions by organisation; they hold below it, too."
    )
    expires_at: Instant | None


class ProfileChange(Change):
    display_name: Name | None = None
    mail: Mail | None = None
    language: Language | None = None
    theme: Theme | None = None


class PasswordChange(Input):
    current_password: Annotated[str, StringConstraints(max_length=PASSWORD_LENGTH[1])] | None = Field(
        None,
        description="Not needed for a first password, nor for the first one after a login link: "
        "`current_password_needed` of the session says so.",
    )
    new_password: NewPassword


class OpenSession(Output):
    id: str
    current: bool
    address: str
    user_agent: str
    provider: str
    created_at: Instant
    last_seen_at: Instant
    expires_at: Instant


class OpenSessions(Output):
    items: list[OpenSession]


class Revoked(Output):
    revoked: int


TokenScope = Permission | AccountScope | Literal["*"]
TokenScopes = Annotated[list[TokenScope], Field(min_length=1, max_length=len(EVERY_SCOPE))]


class Token(Output):
    id: str = Field(examples=["t01k9x3v7qzt8m2c4w6d0ef"])
    name: str = Field(examples=["laptop"])
    scopes: list[TokenScope]
    created_at: Instant
    expires_at: Instant | None
    last_used_at: Instant | None
    local: bool = Field(description="Created at start for the command on Corral's own machine.")


class Tokens(Output):
    items: list[Token]


class NewToken(Input):
    name: Name
    scopes: TokenScopes = Field(
        ["*"],
        description='Permissions, `account.read` to see your own account, or ["*"] for all you may do.',
    )
    expires_at: GivenInstant | None = Field(None, description="90 days from now if left out.")


class CreatedToken(Output):
    token: Token
    secret: str = Field(description="Shown once.", examples=["corral_t01…_…"])


class SshKey(Output):
    id: str
    title: str
    kind: str = Field(examples=["ssh-ed25519"])
    fingerprint: str = Field(examples=["SHA256:…"])
    created_at: Instant


class SshKeys(Output):
    items: list[SshKey]


class NewSshKey(Input):
    title: Name
    public_key: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000)] = (
        Field(examples=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA… mei@laptop"])
    )
