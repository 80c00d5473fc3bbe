"""Identity over HTTP."""

from corral.identity.routes import account, invitations, organisations, roles, sessions, users

routers = tuple(part.router for part in (sessions, account, organisations, users, roles, invitations))

__all__ = ["routers"]
