"""Rows of queues and quotas as typed values; their fields are the tables' columns in order."""

from datetime import datetime
from typing import NamedTuple


class QueueRow(NamedTuple):
    id: str
    organisation_id: str
    user_id: str | None
    priority: int
    policy: str
    reclaim_min_runtime_seconds: int | None
    preempt_min_runtime_seconds: int | None
    custom_numbers: bool | None
    colour: int
    created_at: datetime
    generation: int


class QuotaRow(NamedTuple):
    queue_id: str
    pool_id: str
    resource: str
    guarantee: int
    limit: int
    weight: int
