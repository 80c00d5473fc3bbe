"""What workloads report about themselves."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def identifier() -> sa.String:
    return ordered_string(23)


def ordered_string(length: int) -> sa.String:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def number() -> sa.BigInteger:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "metric_run",
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("replica", sa.Integer(), nullable=False),
        sa.Column("last_number", sa.BigInteger(), nullable=False),
        sa.Column(
            "dropped",
            sa.BigInteger(),
            nullable=False,
            comment="values that were not taken: too many names, no number",
        ),
        sa.PrimaryKeyConstraint("workload_id", "attempt", "replica", name=op.f("pk_metric_run")),
    )
    op.create_table(
        "metric_series",
        sa.Column("id", number(), autoincrement=True, nullable=False),
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("replica", sa.Integer(), nullable=False),
        sa.Column("name", ordered_string(120), nullable=False),
        sa.Column("reports", sa.BigInteger(), nullable=False, comment="how many there were"),
        sa.Column("every", sa.BigInteger(), nullable=False, comment="of so many, one is kept as a point"),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("last_value", sa.Float(53), nullable=True, comment="none where it was no number"),
        sa.Column("lowest", sa.Float(53), nullable=True),
        sa.Column("highest", sa.Float(53), nullable=True),
        sa.CheckConstraint("every > 0", name=op.f("ck_metric_series_every")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric_series")),
        sa.UniqueConstraint(
            "workload_id",
            "attempt",
            "replica",
            "name",
            name=op.f("uq_metric_series_workload_id_attempt_replica_name"),
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "metric_point",
        sa.Column("series_id", number(), nullable=False),
        sa.Column("ordinal", sa.BigInteger(), nullable=False, comment="which report, from 0"),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Float(53), nullable=True),
        sa.ForeignKeyConstraint(
            ["series_id"], ["metric_series.id"], name=op.f("fk_metric_point_series_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("series_id", "ordinal", name=op.f("pk_metric_point")),
        sqlite_with_rowid=False,
    )
