"""Every permission there is. Roles are sets of these; a name that is not here can be granted to nobody.

A token's scopes are permissions too, and `AccountScope` for what everyone may do without a role.
"""

from enum import StrEnum
from typing import Self


class Permission(StrEnum):
    description: str

    def __new__(cls, value: str, description: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.description = description
        return member

    ORGANISATIONS_READ = "organisations.read", "See the organisation and what is below it"
    ORGANISATIONS_MANAGE = "organisations.manage", "Create, rename, move and delete organisations"
    PEOPLE_READ = "people.read", "See people, their roles, invitations and join codes"
    PEOPLE_INVITE = "people.invite", "Invite people, create join codes"
    PEOPLE_MANAGE = "people.manage", "Create, import, change, enable and disable people"
    ROLES_READ = "roles.read", "See roles and what they allow"
    ROLES_MANAGE = "roles.manage", "Create, change and delete custom roles"
    ROLES_GRANT = "roles.grant", "Grant and revoke roles"
    AUDIT_READ = "audit.read", "Search and export the audit log"
    USAGE_READ = "usage.read", "See and export usage of the organisation and those below it"
    SETTINGS_READ = "settings.read", "See the installation's settings"
    SETTINGS_MANAGE = "settings.manage", "Change the installation's settings"
    SYSTEM_READ = "system.read", "See the machine, the versions and the metrics"
    ZONES_READ = "zones.read", "See zones, pools, nodes and devices"
    ZONES_MANAGE = "zones.manage", "Manage zones and pools, cordon nodes"
    QUEUES_READ = "queues.read", "See queues and their quotas"
    QUEUES_MANAGE = "queues.manage", "Change quotas of the queues below an organisation"
    FLAVORS_READ = "flavors.read", "See the flavors that work can choose from"
    FLAVORS_MANAGE = "flavors.manage", "Create, change and delete flavors"
    WORKLOADS_RUN = "workloads.run", "Run work, and stop, suspend and resume your own"
    WORKLOADS_READ = "workloads.read", "See everyone's work, its output and what it uses"
    WORKLOADS_MANAGE = "workloads.manage", "Stop, suspend, resume and delete everyone's work"


class AccountScope(StrEnum):
    """What a token may do with its owner's own account. Changing the account takes a token of scope `*`."""

    READ = "account.read"


# Any of these lets a token see its owner's own work: who may run it or end it sees it.
OWN_WORK = (Permission.WORKLOADS_READ, Permission.WORKLOADS_RUN, Permission.WORKLOADS_MANAGE)
EVERY_SCOPE: tuple[Permission | AccountScope, ...] = (*Permission, *AccountScope)
