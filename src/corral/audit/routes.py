"""HTTP: search, one entry, the known actions, export."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from corral.api.callers import Caller, Requires, lacking
from corral.api.once import Db
from corral.api.parts import part_of
from corral.api.streams import WatchedStream
from corral.audit import export as exports
from corral.audit.actions import ACTIONS
from corral.audit.context import AuditContext
from corral.audit.models import (
    AuditAction,
    AuditActions,
    AuditEntry,
    AuditPage,
    AuditQuery,
    EntryId,
    ExportQuery,
    entry_of,
    page_json,
)
from corral.audit.search import FindPath, find_entry, search
from corral.core.permissions import Permission

router = APIRouter(prefix="/audit", tags=["audit"])

Reader = Annotated[Caller, Requires(Permission.AUDIT_READ)]


def _find_path(request: Request) -> FindPath:
    return part_of(request, AuditContext).find_organisation_path


@router.get("", summary="Search the audit log", response_model=AuditPage)
async def search_audit(
    request: Request, database: Db, caller: Reader, query: Annotated[AuditQuery, Query()]
) -> Response:
    """Newest first, in the organisations whose audit log you may read."""
    # One range of an index, however it is filtered.
    rows = await database.read(
        search, caller, query.filters(), _find_path(request), before=query.cursor, limit=query.limit + 1
    )
    return Response(page_json(rows, query.limit), media_type="application/json")


@router.get("/actions", summary="List the known actions")
async def list_actions(caller: Reader) -> AuditActions:  # noqa: ARG001 - says who may
    """Every value of `action`."""
    return AuditActions(items=[AuditAction(key=key, description=text) for key, text in ACTIONS.items()])


@router.get(
    "/export",
    summary="Export the audit log",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "A file, newest entries first.",
            "content": {
                "text/csv": {"schema": {"type": "string"}},
                "application/jsonl": {"schema": {"type": "string"}},
            },
        }
    },
)
async def export_audit(
    request: Request, database: Db, caller: Reader, query: Annotated[ExportQuery, Query()]
) -> StreamingResponse:
    """All matching entries as a file. The export itself is audited."""
    find_path = _find_path(request)
    filters = query.filters()
    # What happens from here on is left out, else the export of a busy log would never end.
    before = await database.write(exports.record_export, caller, filters, query.format, find_path)

    async def check(now: Caller) -> None:
        if now.scopes(Permission.AUDIT_READ) != caller.scopes(Permission.AUDIT_READ):
            raise lacking(Permission.AUDIT_READ, "all that this export began with")

    stem = f"corral-audit-{database.now():%Y%m%dT%H%M%SZ}"
    return WatchedStream(
        exports.export(database, caller, filters, query.format, find_path, before),
        request,
        check,
        media_type=exports.MEDIA_TYPES[query.format],
        headers={
            "Content-Disposition": f'attachment; filename="{stem}.{query.format}"',
            "X-Content-Type-Options": "nosniff",
        },
    )


@router.get("/{id}", summary="Read one audit entry")
async def read_entry(
    request: Request,
    database: Db,
    caller: Reader,
    entry_id: Annotated[EntryId, Path(alias="id", examples=["a01k9x3v7qzt8m2c4w6d0eh"])],
) -> AuditEntry:
    """With the values before and after."""
    return entry_of(await database.read(find_entry, caller, entry_id, _find_path(request)))
