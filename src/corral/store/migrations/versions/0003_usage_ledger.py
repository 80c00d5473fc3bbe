"""The usage ledger."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

OPEN = sa.text("ended_us IS NULL")


def identifier() -> sa.String:
    return ordered_string(23)


def ordered_string(length: int) -> sa.String:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def json_value() -> sa.JSON:
    return sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "usage_boot",
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("boot_id", sa.String(64), nullable=False),
        sa.Column(
            "offset_us",
            sa.BigInteger(),
            nullable=False,
            comment="boot time + this = microseconds of the calendar",
        ),
        sa.Column("first_seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("zone_id", "boot_id", name=op.f("pk_usage_boot")),
    )
    op.create_table(
        "usage_allocation",
        sa.Column("id", ordered_string(60), nullable=False),
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("replica", sa.Integer(), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("organisation_id", identifier(), nullable=False),
        sa.Column(
            "organisation_path",
            sa.Text().with_variant(sa.Text(collation="C"), "postgresql"),
            nullable=False,
            comment="where that was when it was granted",
        ),
        sa.Column("queue_id", identifier(), nullable=False),
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("node", sa.String(253), nullable=False),
        sa.Column("resources", json_value(), nullable=False, comment="[[resource, model, amount], …]"),
        sa.Column("boot_id", sa.String(64), nullable=False),
        sa.Column("offset_us", sa.BigInteger(), nullable=False, comment="of the boot when it was granted"),
        sa.Column("opened_us", sa.BigInteger(), nullable=False),
        sa.Column("beat_us", sa.BigInteger(), nullable=False, comment="when it was last seen"),
        sa.Column("recorded_us", sa.BigInteger(), nullable=False, comment="what is before it is in records"),
        sa.Column(
            "next_cut_us", sa.BigInteger(), nullable=False, comment="end of the first hour that is not"
        ),
        sa.Column("ended_us", sa.BigInteger(), nullable=True),
        sa.Column(
            "lost_us", sa.BigInteger(), nullable=False, comment="how much of it was lost by an eviction"
        ),
        sa.Column("records", sa.Integer(), nullable=False, comment="how many there are"),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("ended_us >= opened_us", name=op.f("ck_usage_allocation_order")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_usage_allocation")),
    )
    with op.batch_alter_table("usage_allocation", schema=None) as batch_op:
        batch_op.create_index("ix_usage_allocation_workload_id", ["workload_id"], unique=False)
        batch_op.create_index("ix_usage_allocation_organisation_path", ["organisation_path"], unique=False)
        batch_op.create_index("ix_usage_allocation_user", ["user_id", "ended_at"], unique=False)
        batch_op.create_index(
            "ix_usage_allocation_organisation", ["organisation_id", "ended_at"], unique=False
        )
        batch_op.create_index("ix_usage_allocation_queue", ["queue_id", "ended_at"], unique=False)
        batch_op.create_index(
            "ix_usage_allocation_open",
            ["zone_id", "boot_id"],
            unique=False,
            sqlite_where=OPEN,
            postgresql_where=OPEN,
        )
    op.create_table(
        "usage_record",
        sa.Column("allocation_id", ordered_string(60), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
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
        sa.PrimaryKeyConstraint("allocation_id", "number", name=op.f("pk_usage_record")),
        sqlite_with_rowid=False,
    )
    make_append_only("usage_record")


def make_append_only(table: str) -> None:
    """The database itself refuses to change or delete what the ledger holds."""
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                "BEGIN SELECT RAISE(ABORT, 'the usage ledger is append-only'); END"
            )
        return
    op.execute(
        "CREATE OR REPLACE FUNCTION refuse_usage_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the usage ledger is append-only'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_usage_change()"
    )
