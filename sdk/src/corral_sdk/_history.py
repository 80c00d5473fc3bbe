"""What happened: shares of queues, changes of the cluster, arrivals and run times."""

from datetime import datetime

from corral_sdk._resource import Resource, given
from corral_sdk.models import Arrivals, ClusterHistory, QueueHistory

__all__ = ["History"]


class History(Resource):
    """As far as you may see it. Keep `next_after` and come back for what is new."""

    def queues(
        self,
        after: int = 0,
        *,
        limit: int = 1000,
        queue: str | None = None,
        pool: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> QueueHistory:
        """Guarantee, fair share, allocated, wanted, lent and borrowed; a row holds until the next one."""
        query = given(after=after, limit=limit, queue=queue, pool=pool, since=since, until=until)
        return self._get(QueueHistory, "history", "queues", query=query)

    def cluster(
        self,
        after: int = 0,
        *,
        limit: int = 1000,
        kind: str | None = None,
        object: str | None = None,  # noqa: A002
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> ClusterHistory:
        """Changes of nodes, pools and quotas; `kind` is node, pool or queue."""
        query = given(after=after, limit=limit, kind=kind, object=object, since=since, until=until)
        return self._get(ClusterHistory, "history", "cluster", query=query)

    def arrivals(
        self,
        after: str | None = None,
        *,
        limit: int = 1000,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Arrivals:
        """Every workload: submitted, started, ended, and what it asked for."""
        query = given(after=after, limit=limit, since=since, until=until)
        return self._get(Arrivals, "history", "arrivals", query=query)
