"""The audit log as a file, made page by page: nobody's transaction stays open while a browser downloads."""

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Literal

from sqlalchemy import Row

from corral.api.callers import Caller
from corral.audit.models import AuditEntry, entry_of
from corral.audit.record import Subject, record
from corral.audit.search import Filters, FindPath, search, searched_scopes
from corral.store.database import Database, Transaction

Format = Literal["csv", "jsonl"]

MEDIA_TYPES: dict[Format, str] = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
_COLUMNS = tuple(AuditEntry.model_fields)
_PAGE = 500
# A spreadsheet takes a cell that begins like this for a formula, and runs it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def record_export(
    transaction: Transaction, caller: Caller, filters: Filters, file_format: Format, find_path: FindPath
) -> str:
    """Records the export in every organisation whose log is read; returns the id of the first entry."""
    described = {
        "format": file_format,
        "actor": filters.actor_id,
        "action": list(filters.actions),
        "object": filters.object_id,
        "organisation": filters.organisation_id,
        "result": filters.result,
        "since": filters.since and filters.since.isoformat(),
        "until": filters.until and filters.until.isoformat(),
    }
    after = {key: value for key, value in described.items() if value}
    scopes = searched_scopes(transaction, caller, filters.organisation_id, find_path)
    return min(
        record(transaction, caller, "audit.export", Subject("audit_log", one, "", path), after=after)
        for one, path in scopes.items()
    )


async def export(
    database: Database,
    caller: Caller,
    filters: Filters,
    file_format: Format,
    find_path: FindPath,
    before: str,
) -> AsyncIterator[str]:
    """The file in pieces, of what is older than `before`; each page is a read of its own."""
    write: Callable[[Sequence[Row[Any]]], str] = _csv_lines if file_format == "csv" else _json_lines
    if file_format == "csv":
        yield _csv([_COLUMNS])
    while True:
        rows = await database.scan(search, caller, filters, find_path, before=before, limit=_PAGE)
        if rows:
            yield write(rows)
        if len(rows) < _PAGE:
            return
        before = rows[-1].id


def _json_lines(rows: Sequence[Row[Any]]) -> str:
    return "".join(f"{entry_of(row).model_dump_json()}\n" for row in rows)


def _csv_lines(rows: Sequence[Row[Any]]) -> str:
    entries = (entry_of(row).model_dump(mode="json") for row in rows)
    return _csv([[_cell(entry[column]) for column in _COLUMNS] for entry in entries])


def _csv(lines: Sequence[Sequence[str]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(lines)
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
