"""The caller's own account: profile, sessions, tokens, SSH keys."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from corral_sdk._decode import decode
from corral_sdk._resource import UNCHANGED, Resource, given
from corral_sdk.models import CreatedToken, OpenSession, Session, SshKey, Token, User

__all__ = ["Me", "SessionResource", "SshKeys", "Tokens"]


class SessionResource(Resource):
    """Who is calling."""

    def get(self) -> Session:
        return self._get(Session, "session")


class Me(Resource):
    """The caller's own account."""

    def get(self) -> User:
        return self._get(User, "me")

    def update(
        self,
        *,
        display_name: str = UNCHANGED,
        mail: str | None = UNCHANGED,
        language: str | None = UNCHANGED,
        theme: str | None = UNCHANGED,
        generation: int | None = None,
    ) -> User:
        """Changes what is given; with `generation`, only if nobody changed it since."""
        body = given(display_name=display_name, mail=mail, language=language, theme=theme)
        return self._change("PATCH", User, "me", body=body, generation=generation)

    def change_password(self, new_password: str, current_password: str | None = None) -> None:
        """Every other session ends. The session's `current_password_needed` says whether the old one is."""
        body: dict[str, Any] = {"new_password": new_password}
        if current_password is not None:
            body["current_password"] = current_password
        self._act("me", "password", body=body)

    def sessions(self) -> Iterator[OpenSession]:
        return self._each(OpenSession, "me", "sessions")

    def revoke_session(self, session_id: str) -> None:
        self._delete("me", "sessions", session_id)

    def revoke_other_sessions(self) -> int:
        """Ends all sessions but this one; how many there were."""
        return int(self._act("me", "sessions", "revoke-others")["revoked"])

    def join(self, code: str) -> User:
        """Takes a seat of a join code with this account."""
        return decode(User, self._act("me", "join", body={"code": code}))


class Tokens(Resource):
    """The caller's personal access tokens."""

    def list(self) -> Iterator[Token]:
        return self._each(Token, "me", "tokens")

    def create(
        self, name: str, scopes: Sequence[str] = ("*",), expires_at: datetime | None = None
    ) -> CreatedToken:
        """A new token. `scopes` are permissions, `account.read`, or "*" for all that the owner has. It ends
        in 90 days unless `expires_at` says otherwise."""
        body = given(name=name, scopes=list(scopes), expires_at=expires_at)
        return self._create(CreatedToken, "me", "tokens", body=body)

    def revoke(self, token_id: str) -> None:
        self._delete("me", "tokens", token_id)


class SshKeys(Resource):
    """The caller's SSH public keys."""

    def list(self) -> Iterator[SshKey]:
        return self._each(SshKey, "me", "ssh-keys")

    def add(self, title: str, public_key: str) -> SshKey:
        return self._create(SshKey, "me", "ssh-keys", body={"title": title, "public_key": public_key})

    def remove(self, key_id: str) -> None:
        self._delete("me", "ssh-keys", key_id)
