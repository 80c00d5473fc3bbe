"""What work reports through its socket is kept as its metrics."""

from collections.abc import Sequence

from corral.control.recording import split_run
from corral.engines.reports import Message, MessageKind
from corral.store.database import Transaction
from corral.usage.clock import moment_of
from corral.usage.metrics.rules import Report, RunKey
from corral.usage.metrics.service import record


def keep_reports(transaction: Transaction, said: Sequence[Message]) -> None:
    """Hearing the same again changes nothing."""
    record(
        transaction,
        [
            Report(RunKey(*parts), message.number, moment_of(message.at), message.body)
            for message in said
            if message.kind is MessageKind.REPORT and (parts := split_run(message.run)) is not None
        ],
    )
