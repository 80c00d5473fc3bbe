"""`corral metrics`: what a workload reported, for people and for programs."""

from datetime import UTC, datetime

from corral_sdk import Client

from corral.core.runs import RunId
from corral.usage.metrics.rules import Report
from corral.usage.metrics.service import record
from tests.cli.running import Corral, Done
from tests.databases import in_database, sqlite_url
from tests.live import LiveCorral

UNKNOWN = "w01k9x3v7qzt8m2c4w6d0zz"


def test_metrics_of_a_workload_that_nobody_knows_are_not_shown(
    admin: Corral, live_corral: LiveCorral
) -> None:
    """Though there are some: who may see them is decided by the workload."""
    report = Report(RunId(UNKNOWN, 1, 0), 1, datetime(2026, 11, 15, tzinfo=UTC), {"loss": 0.5})
    url = sqlite_url(live_corral.home / "corral.db")
    in_database(url, lambda transaction: record(transaction, [report]))
    outcome = admin("metrics", UNKNOWN)
    assert outcome.code == 1
    assert UNKNOWN in outcome.err


def test_last_values_are_shown_with_lowest_and_highest(
    admin: Corral, done: Done, live_corral: LiveCorral
) -> None:
    transport = Client(live_corral.url, live_corral.local_token)._transport
    document = {
        "name": "reporter",
        "command": ["true"],
        "resources": {"cpu_milli": 100, "memory_mib": 64},
    }
    workload = transport.request("POST", "/api/v1/training", body=document, create=True).json()["id"]
    assert "Nothing was reported" in admin("metrics", workload).err
    reports = [
        Report(RunId(workload, 1, 0), number, datetime(2026, 11, 15, 9, tzinfo=UTC), {"step": number, **body})
        for number, body in enumerate([{"loss": 2.0}, {"loss": 0.25}, {"loss": 0.5, "note": "late"}])
    ]
    url = sqlite_url(live_corral.home / "corral.db")
    in_database(url, lambda transaction: record(transaction, reports))
    told = admin("metrics", workload)
    shown = told.out
    assert ["loss", "1", "0", "2", "0.5", "0.25", "2", "2026-11-15", "09:00:00"] in [
        line.split() for line in shown.splitlines()
    ]
    assert "1 values were dropped" in told.err
    (loss,) = done("metrics", workload, "--name", "loss")["items"]
    assert [point["mean"] for point in loss["points"]] == [2.0, 0.25, 0.5]
