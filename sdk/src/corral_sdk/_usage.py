"""What was used, by whom: sums of the usage ledger; samples and metrics over time."""

from collections.abc import Sequence
from datetime import datetime
from typing import BinaryIO

from corral_sdk._resource import Resource, given
from corral_sdk._transport import API
from corral_sdk.models import ReportedMetrics, SampleAnswer, UsageRecords, UsageSums

__all__ = ["Metrics", "Samples", "Usage"]

_PIECE = 65536


class Usage(Resource):
    """Your own, and that of organisations whose usage you may read."""

    def sums(
        self,
        *,
        user: str | None = None,
        organisation: str | None = None,
        queue: str | None = None,
        workload: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        per: str = "total",
        by: str = "all",
    ) -> UsageSums:
        """`per` is total, day or hour.

        `by` is all, user, organisation, queue, workload, zone, pool, flavor, kind, model, mode or
        preemptible.
        """
        query = given(
            user=user,
            organisation=organisation,
            queue=queue,
            workload=workload,
            since=since,
            until=until,
            per=per,
            by=by,
        )
        return self._get(UsageSums, "usage", query=query)

    def export(
        self,
        to: BinaryIO,
        *,
        user: str | None = None,
        organisation: str | None = None,
        queue: str | None = None,
        workload: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        per: str = "total",
        by: str = "all",
    ) -> int:
        """Writes the same sums as CSV; returns the bytes written."""
        query = given(
            user=user,
            organisation=organisation,
            queue=queue,
            workload=workload,
            since=since,
            until=until,
            per=per,
            by=by,
        )
        written = 0
        with self._transport.stream(f"{API}/usage/export", query=query) as response:
            while piece := response.read(_PIECE):
                to.write(piece)
                written += len(piece)
        return written

    def records(
        self,
        after: int = 0,
        *,
        limit: int = 1000,
        user: str | None = None,
        organisation: str | None = None,
        queue: str | None = None,
        workload: str | None = None,
    ) -> UsageRecords:
        """Records in the order in which they were posted; keep `next_after` for the next call."""
        query = given(
            after=after, limit=limit, user=user, organisation=organisation, queue=queue, workload=workload
        )
        return self._get(UsageRecords, "usage", "records", query=query)


class Samples(Resource):
    """What nodes, devices and workloads did over time."""

    def query(
        self,
        subject: str,
        metric: str | Sequence[str],
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        points: int = 300,
    ) -> SampleAnswer:
        """Of `node:<id>`, `device:<node id>/<device>`, `workload:<id>` or `replica:<run>`; the last hour."""
        query = given(subject=subject, metric=metric, since=since, until=until, points=points)
        return self._get(SampleAnswer, "samples", query=query)


class Metrics(Resource):
    """What workloads reported about themselves."""

    def read(
        self, workload_id: str, *, name: str | Sequence[str] | None = None, points: int = 300
    ) -> ReportedMetrics:
        """All of it or some names, each series drawn together to at most `points` points."""
        query = given(name=name, points=points)
        return self._get(ReportedMetrics, "workloads", workload_id, "metrics", query=query)
