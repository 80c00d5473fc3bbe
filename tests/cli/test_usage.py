"""`corral usage`: what was used, in the units that people count in."""

import csv

from corral.identity.bootstrap import super_administrator
from corral.identity.lookups import root_of
from corral.store.database import Transaction
from corral.usage import ledger
from corral.usage.clock import read_clock
from tests.cli.running import Corral, Done
from tests.databases import in_database, sqlite_url
from tests.live import LiveCorral
from tests.usage.factories import create_grant

HOUR_US = 3600 * 1_000_000


def _two_gpu_hours(transaction: Transaction) -> str:
    """One GPU that the administrator held in the two hours before now."""
    reading = read_clock()
    user_id, _ = super_administrator(transaction)
    grant = create_grant(
        77,
        ("gpu_milli", "H100-80GB", 1000),
        ("memory_mib", "", 2048),
        user_id=user_id,
        organisation_id=root_of(transaction).id,
    )
    ledger.open(transaction, grant, reading)
    released = reading.mark._replace(boottime_us=reading.mark.boottime_us + 2 * HOUR_US)
    ledger.close(transaction, grant.allocation_id, released)
    return grant.workload_id


def test_usage_is_shown_in_hours_of_gpus_and_gibibytes(
    admin: Corral, done: Done, live_corral: LiveCorral
) -> None:
    assert admin("usage", "--until", "2020-01-01").err.startswith("Nothing was used")
    workload = in_database(sqlite_url(live_corral.home / "corral.db"), _two_gpu_hours)
    asked = ("usage", "--workload", workload, "--until", "2099-01-01", "--since", "1d")
    table = admin(*asked)
    assert table.code == 0, table.err
    lines = [line.split() for line in table.out.splitlines()]
    assert ["2.00", "GPU-hours", "H100-80GB", "used"] in lines
    assert ["4.00", "GiB-hours", "used"] in lines
    sums = done(*asked, "--per", "hour", "--by", "user")["items"]
    gpu = [one for one in sums if one["resource"] == "gpu_milli"]
    assert sum(one["amount_seconds"] for one in gpu) in range(7_199_990, 7_200_001)
    assert {one["owner_name"] for one in sums} == {"admin"}
    written = list(csv.DictReader(admin(*asked, "--csv").out.splitlines()))
    assert [one["amount_seconds"] for one in written if one["resource"] == "gpu_milli"] == ["7200000"]


def test_refused_question_says_which_option_and_what_to_do(admin: Corral) -> None:
    outcome = admin("usage", "--per", "minute")
    assert outcome.code == 1
    assert "per" in outcome.err
