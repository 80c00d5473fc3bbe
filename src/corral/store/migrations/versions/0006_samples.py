"""Samples. On SQLite they are in a file of their own, which is made when it is opened."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        return
    op.create_table(
        "sample_series",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("subject", sa.String(160, collation="C"), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("metric", sa.String(40), nullable=False),
        sa.Column(
            "last_at",
            sa.BigInteger(),
            nullable=False,
            comment="seconds since 1970; raised when points are rolled up",
        ),
        sa.CheckConstraint(
            "kind IN ('node', 'device', 'workload', 'replica')", name=op.f("ck_sample_series_kind")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sample_series")),
        sa.UniqueConstraint("subject", "kind", "metric", name=op.f("uq_sample_series_subject_kind_metric")),
    )
    op.create_table(
        "sample_point",
        sa.Column("at", sa.BigInteger(), nullable=False, comment="seconds since 1970"),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("at", "series_id", name=op.f("pk_sample_point")),
    )
    op.create_table(
        "sample_due",
        sa.Column("width_seconds", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("width_seconds", "at", name=op.f("pk_sample_due")),
    )
    for level in ("minute", "hour", "day"):
        op.create_table(
            f"sample_{level}",
            sa.Column("series_id", sa.Integer(), nullable=False),
            sa.Column("at", sa.BigInteger(), nullable=False),
            sa.Column("lowest", sa.BigInteger(), nullable=False),
            sa.Column("highest", sa.BigInteger(), nullable=False),
            sa.Column("total", sa.BigInteger(), nullable=False),
            sa.Column("points", sa.Integer(), nullable=False),
            sa.PrimaryKeyConstraint("series_id", "at", name=op.f(f"pk_sample_{level}")),
        )
