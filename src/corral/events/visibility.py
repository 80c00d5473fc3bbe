"""Who may see which event."""

from corral.api.callers import Caller
from corral.core.permissions import OWN_WORK, AccountScope, Permission

# What someone needs on the event's organisation to hear of it. A kind that is not here (token, ssh_key,
# session, or one that somebody forgot) is told only to the person it is about.
NEEDED = {
    "organisation": Permission.ORGANISATIONS_READ,
    "user": Permission.PEOPLE_READ,
    "invitation": Permission.PEOPLE_READ,
    "join_code": Permission.PEOPLE_READ,
    "role": Permission.ROLES_READ,
    "setting": Permission.SETTINGS_READ,
    "audit": Permission.AUDIT_READ,
    "queue": Permission.QUEUES_READ,
    "node": Permission.ZONES_READ,
    "zone": Permission.ZONES_READ,
    "pool": Permission.ZONES_READ,
    "flavor": Permission.FLAVORS_READ,
    "workload": Permission.WORKLOADS_READ,
}
# Which scopes let a token hear of what is its owner's own.
_OWN: dict[str, tuple[str, ...]] = {"workload": OWN_WORK, "runtime": (Permission.WORKLOADS_RUN,)}
_ACCOUNT = (AccountScope.READ,)
# Things that are in no organisation: whoever may see them anywhere hears of them.
_EVERYWHERE = frozenset({"node", "zone", "pool", "flavor"})


def may_see(caller: Caller, kind: str, scope: str | None, user_id: str | None) -> bool:
    if user_id is not None and user_id == caller.user_id and caller.in_scope(*_OWN.get(kind, _ACCOUNT)):
        return True
    needed = NEEDED.get(kind)
    if needed is None:
        return False
    if kind in _EVERYWHERE:
        return bool(caller.scopes(needed))
    return scope is not None and caller.may(needed, scope)
