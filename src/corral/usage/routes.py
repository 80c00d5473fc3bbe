"""HTTP: sums of usage, and the same as a file."""

import csv
import io
from typing import Annotated

from fastapi import APIRouter, Query, Response

from corral.api.callers import Caller, SignedIn
from corral.api.once import Db
from corral.core.permissions import Permission
from corral.usage.models import UsageQuery, UsageSum, UsageSums, shown
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
