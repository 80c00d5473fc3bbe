"""Usage records in the order in which they were posted; allocations say what was granted.

Of records that were there before nobody wrote down when they were posted: they get the earliest instant at
which they can have been. What is filled in for allocations that were there before is what the tables still
say: the name of the zone, the model of the devices, the pool that the node is in now, and of work that was
not purged its kind, flavor, mode and whether it was preemptible. The rest stays null: not known.
"""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_AT_ONCE = 2000


def identifier() -> sa.String:
    return ordered_string(23)


def ordered_string(length: int) -> sa.String:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def upgrade() -> None:
    for column in (
        sa.Column("kind", sa.String(20), comment="of the workload"),
        sa.Column("zone_name", sa.String(120)),
        sa.Column("pool_id", identifier()),
        sa.Column("pool_name", sa.String(120)),
        sa.Column("flavor", sa.String(120), comment="its name; empty for numbers"),
        sa.Column("device_model", sa.String(250), comment="of all its devices; empty without any"),
        sa.Column("mode", sa.String(10), comment="of its devices; empty without any"),
        sa.Column("preemptible", sa.Boolean()),
    ):
        op.add_column("usage_allocation", column)
    op.execute(
        "UPDATE usage_allocation SET "
        "zone_name = (SELECT name FROM zone WHERE zone.id = usage_allocation.zone_id), "
        "pool_id = (SELECT pool_id FROM node WHERE node.zone_id = usage_allocation.zone_id "
        "AND node.name = usage_allocation.node)"
    )
    op.execute(
        "UPDATE usage_allocation SET "
        "pool_name = (SELECT name FROM pool WHERE pool.id = usage_allocation.pool_id)"
    )
    _fill_from_work()
    _post_again()


def _fill_from_work() -> None:
    connection = op.get_bind()
    modes = {row[0]: row[1] for row in connection.execute(sa.text("SELECT name, mode FROM flavor"))}
    after = ""
    while True:
        rows = connection.execute(
            sa.text(
                "SELECT a.id, a.workload_id, a.resources, w.kind, w.spec FROM usage_allocation a "
                "LEFT JOIN workload w ON w.id = a.workload_id WHERE a.id > :after ORDER BY a.id LIMIT :most"
            ),
            {"after": after, "most": _AT_ONCE},
        ).all()
        if not rows:
            return
        after = rows[-1].id
        connection.execute(
            sa.text(
                "UPDATE usage_allocation SET kind = :kind, flavor = :flavor, device_model = :model, "
                "mode = :mode, preemptible = :preemptible WHERE id = :id"
            ),
            [{"id": row.id, **_known(row, modes)} for row in rows],
        )


def _known(row: Any, modes: dict[str, str | None]) -> dict[str, Any]:
    resources = _read(row.resources) or []
    models = sorted({model for _, model, _ in resources if model})
    spec = _read(row.spec)
    found: dict[str, Any] = {
        "kind": row.kind,
        "model": ", ".join(models)[:250],
        "flavor": None,
        "mode": None if models else "",
        "preemptible": None,
    }
    if isinstance(spec, dict):
        flavor = spec.get("flavor") or ""
        found |= {"flavor": flavor[:120], "preemptible": bool(spec.get("preemptible", True))}
        if models:
            found["mode"] = modes.get(flavor) or _mode(spec)
    return found


def _mode(spec: dict[str, Any]) -> str:
    gpu = (spec.get("resources") or {}).get("gpu") or {}
    if gpu.get("profile") is not None:
        return "mig"
    sliced = gpu.get("memory_mib") is not None or gpu.get("fraction_milli") is not None
    return "vgpu" if sliced else "whole"


def _read(value: Any) -> Any:
    """PostgreSQL's driver may have read it already; SQLite keeps any text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None


def _post_again() -> None:
    copied = "allocation_id, number, resource, model, amount, outcome, started_at, ended_at, duration_us"
    op.execute(
        f"CREATE TABLE usage_record_before AS SELECT {copied}, "
        "MAX(ended_at) OVER (PARTITION BY allocation_id ORDER BY number) AS posted_at FROM usage_record"
    )
    op.drop_table("usage_record")
    _create_records()
    op.execute(
        f"INSERT INTO usage_record (posted_at, {copied}) SELECT posted_at, {copied} "
        "FROM usage_record_before ORDER BY posted_at, allocation_id, number"
    )
    op.drop_table("usage_record_before")
    _make_append_only()


def _create_records() -> None:
    op.create_table(
        "usage_record",
        sa.Column(
            "sequence",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("posted_at", sa.BigInteger(), nullable=False),
        sa.Column("allocation_id", ordered_string(60), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False, comment="among those of the allocation"),
        sa.Column("resource", sa.String(40), nullable=False),
        sa.Column("model", sa.String(120), nullable=False, comment="of the device; empty for what has none"),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.String(10), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.Column("duration_us", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("amount > 0", name=op.f("ck_usage_record_amount")),
        sa.CheckConstraint("outcome IN ('used', 'lost')", name=op.f("ck_usage_record_outcome")),
        sa.CheckConstraint(
            "started_at < ended_at AND abs(duration_us) = ended_at - started_at",
            name=op.f("ck_usage_record_duration"),
        ),
        sa.CheckConstraint(
            "started_at / 3600000000 = (ended_at - 1) / 3600000000", name=op.f("ck_usage_record_hour")
        ),
        sa.ForeignKeyConstraint(
            ["allocation_id"], ["usage_allocation.id"], name=op.f("fk_usage_record_allocation_id")
        ),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_usage_record")),
        sa.UniqueConstraint("allocation_id", "number", name=op.f("uq_usage_record_allocation_id_number")),
        sqlite_autoincrement=True,
    )


def _make_append_only() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER usage_record_no_{verb.lower()} BEFORE {verb} ON usage_record "
                "BEGIN SELECT RAISE(ABORT, 'the usage ledger is append-only'); END"
            )
        return
    op.execute(
        "CREATE TRIGGER usage_record_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON usage_record "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_usage_change()"
    )
