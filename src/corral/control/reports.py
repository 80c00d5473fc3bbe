"""What work reports through its socket is kept as its metrics."""

from collections.abc import Mapping, Sequence

from corral.core.runs import RunId
from corral.engines.reports import Message, MessageKind
from corral.store.database import Transaction
from corral.usage.clock import moment_of
from corral.usage.metrics.rules import Report
from corral.usage.metrics.service import record


def keep_reports(transaction: Transaction, messages: Sequence[Message]) -> Mapping[str, str | None]:
    """Hearing the same again changes nothing. Why not all was kept, for each workload that reported."""
    reports = [
        Report(run, message.number, moment_of(message.at), message.body)
        for message in messages
        if message.kind is MessageKind.REPORT and (run := RunId.parse(message.run)) is not None
    ]
    if not reports:
        return {}
    refused = record(transaction, reports).refused
    return {report.run.workload_id: refused.get(report.run.workload_id) for report in reports}
