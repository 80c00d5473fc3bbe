"""Identity over HTTP."""

from fastapi import APIRouter

from corral.identity.routes import account, invitations, organisations, roles, sessions, users

router = APIRouter()
for part in (sessions, account, organisations, users, roles, invitations):
    router.include_router(part.router)

__all__ = ["router"]
