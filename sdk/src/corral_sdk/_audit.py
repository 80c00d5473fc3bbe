"""The audit log: search, page by page, and export."""

from builtins import list as items
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import BinaryIO

from corral_sdk._resource import Page, Resource, given
from corral_sdk._transport import API
from corral_sdk.models import AuditAction, AuditEntry

__all__ = ["Audit"]

_PIECE = 65536


class Audit(Resource):
    """Who did what, on what, when. Newest first."""

    def list(
        self,
        *,
        actor: str | None = None,
        action: str | Sequence[str] | None = None,
        object: str | None = None,  # noqa: A002 - the API's word
        organisation: str | None = None,
        result: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Iterator[AuditEntry]:
        """All entries that match, page after page as they are used up."""
        query = given(
            actor=actor,
            action=action,
            object=object,
            organisation=organisation,
            result=result,
            since=since,
            until=until,
        )
        return self._each(AuditEntry, "audit", query=query)

    def page(
        self,
        *,
        cursor: str | None = None,
        limit: int = 50,
        actor: str | None = None,
        action: str | Sequence[str] | None = None,
        object: str | None = None,  # noqa: A002
        organisation: str | None = None,
        result: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Page[AuditEntry]:
        """One page of `list`."""
        query = given(
            cursor=cursor,
            limit=limit,
            actor=actor,
            action=action,
            object=object,
            organisation=organisation,
            result=result,
            since=since,
            until=until,
        )
        return self._page(AuditEntry, "audit", query=query)

    def get(self, entry_id: str) -> AuditEntry:
        return self._get(AuditEntry, "audit", entry_id)

    def actions(self) -> items[AuditAction]:
        """Every action that can be in the log."""
        return items(self._each(AuditAction, "audit", "actions"))

    def export(
        self,
        to: BinaryIO,
        *,
        format: str = "jsonl",  # noqa: A002 - the API's word
        actor: str | None = None,
        action: str | Sequence[str] | None = None,
        object: str | None = None,  # noqa: A002
        organisation: str | None = None,
        result: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> int:
        """Writes all matching entries as csv or jsonl, piece by piece; returns the bytes written."""
        query = given(
            format=format,
            actor=actor,
            action=action,
            object=object,
            organisation=organisation,
            result=result,
            since=since,
            until=until,
        )
        written = 0
        with self._transport.stream(f"{API}/audit/export", query=query) as response:
            while piece := response.read(_PIECE):
                to.write(piece)
                written += len(piece)
        return written
