"""HTTP: sums of usage, the same as a file, and the records they are made of."""

import csv
import io
from typing import Annotated

from fastapi import APIRouter, Query, Response

from corral.api.callers import Caller, SignedIn
from corral.api.once import Db
from corral.core.permissions import Permission
from corral.usage.models import (
    RecordsQuery,
    UsageQuery,
    UsageRecords,
    UsageSum,
    UsageSums,
    shown,
    shown_records,
)
from corral.usage.records import read_records
from corral.usage.sums import sum_usage

router = APIRouter(prefix="/usage", tags=["usage"])

UsageReader = Annotated[Caller, SignedIn(Permission.USAGE_READ)]


@router.get("", summary="Sum up usage")
async def read_usage(database: Db, caller: UsageReader, query: Annotated[UsageQuery, Query()]) -> UsageSums:
    """Your own always; that of others in organisations on which you have `usage.read`."""
    question = query.question(database.now())
    sums = await database.scan(sum_usage, caller, question)
    return UsageSums(since=question.since, until=question.until, items=[shown(one) for one in sums])


@router.get(
    "/export",
    summary="Export usage",
    response_class=Response,
    responses={
        200: {
            "description": "A file for spreadsheets.",
            "content": {"text/csv": {"schema": {"type": "string"}}},
        }
    },
)
async def export_usage(database: Db, caller: UsageReader, query: Annotated[UsageQuery, Query()]) -> Response:
    """The same sums as CSV, one line each."""
    now = database.now()
    sums = await database.scan(sum_usage, caller, query.question(now))
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(UsageSum.model_fields)
    for one in sums:
        writer.writerow(shown(one).model_dump(mode="json").values())
    return Response(
        text.getvalue(),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="corral-usage-{now:%Y%m%dT%H%M%SZ}.csv"'},
    )


@router.get("/records", summary="Read usage records")
async def read_usage_records(
    database: Db, caller: UsageReader, query: Annotated[RecordsQuery, Query()]
) -> UsageRecords:
    """The ledger in the order in which it was posted; keep `next_after` and come back for what is new.

    Records are never changed: a correction is a new one, with a negative duration. Work in simulated zones
    is left out unless a workload is named.
    """
    page = await database.scan(read_records, caller, query.whose(), query.after, query.limit)
    return shown_records(page)
