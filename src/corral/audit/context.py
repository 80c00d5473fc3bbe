"""What the routes of the audit log need beside the database, made once at start."""

from dataclasses import dataclass

from corral.audit.search import FindPath


@dataclass(frozen=True, slots=True)
class AuditContext:
    find_organisation_path: FindPath
