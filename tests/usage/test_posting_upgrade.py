"""A ledger of the time before posting order is numbered, and what is still known is filled in."""

import json
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from corral.store.migrate import MIGRATIONS, upgrade, with_connection

HOUR = 3600 * 1_000_000
BEFORE = "0019"


def _upgrade_to(connection: Connection, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _insert(connection: Connection, table: str, **values: Any) -> None:
    names = ", ".join(f'"{name}"' for name in values)
    places = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({places})"), values)


def _fill(connection: Connection) -> None:
    _upgrade_to(connection, BEFORE)
    for number, (workload, gpus) in enumerate((("w1", 1000), ("w2", 500), ("w3", 0))):
        resources = [["gpu_milli", "H100", gpus]] if gpus else [["cpu_milli", "", 1000]]
        _insert(
            connection,
            "usage_allocation",
            id=f"{workload}-1-0",
            workload_id=workload,
            attempt=1,
            replica=0,
            user_id="u1",
            organisation_id="o1",
            organisation_path="/o1/",
            queue_id="q1",
            zone_id="z1",
            node="box",
            resources=json.dumps(resources),
            boot_id="b",
            offset_us=0,
            opened_us=0,
            beat_us=2 * HOUR,
            recorded_us=2 * HOUR,
            next_cut_us=3 * HOUR,
            lost_us=0,
            records=3 - number,
            opened_at=0,
        )
    # The second of w1 was posted before that of w2; its third takes the first back.
    for allocation, record, hour, sign in (
        ("w1", 0, 0, 1),
        ("w1", 1, 1, 1),
        ("w1", 2, 0, -1),
        ("w2", 0, 0, 1),
    ):
        _insert(
            connection,
            "usage_record",
            allocation_id=f"{allocation}-1-0",
            number=record,
            resource="gpu_milli",
            model="H100",
            amount=1000,
            outcome="used",
            started_at=hour * HOUR,
            ended_at=(hour + 1) * HOUR,
            duration_us=sign * HOUR,
        )


def _read(connection: Connection) -> tuple[list[Any], list[Any]]:
    records = connection.execute(
        text("SELECT sequence, posted_at, allocation_id, number FROM usage_record ORDER BY sequence")
    ).all()
    allocations = connection.execute(
        text("SELECT id, device_model, mode, kind, flavor, pool_id FROM usage_allocation ORDER BY id")
    ).all()
    return [tuple(row) for row in records], [tuple(row) for row in allocations]


def test_old_records_are_numbered_in_an_order_in_which_they_can_have_been_posted(
    empty_database_url: str,
) -> None:
    with_connection(empty_database_url, _fill)
    assert upgrade(empty_database_url) == BEFORE
    records, allocations = with_connection(empty_database_url, _read)
    assert records == [
        (1, HOUR, "w1-1-0", 0),
        (2, HOUR, "w2-1-0", 0),
        (3, 2 * HOUR, "w1-1-0", 1),
        (4, 2 * HOUR, "w1-1-0", 2),
    ]
    assert allocations == [
        ("w1-1-0", "H100", None, None, None, None),
        ("w2-1-0", "H100", None, None, None, None),
        ("w3-1-0", "", "", None, None, None),
    ]
