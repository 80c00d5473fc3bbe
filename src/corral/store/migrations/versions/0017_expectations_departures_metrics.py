"""When work was expected to start, whose homes are to be removed, and how much each person's work reported."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def identifier() -> sa.String:
    return sa.String(23).with_variant(sa.String(23, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "expectation",
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("told_at", sa.BigInteger(), nullable=False),
        sa.Column("starts_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name=op.f("fk_expectation_workload_id")),
        sa.ForeignKeyConstraint(["zone_id"], ["zone.id"], name=op.f("fk_expectation_zone_id")),
        sa.PrimaryKeyConstraint("workload_id", "attempt", name=op.f("pk_expectation")),
        comment="when an attempt was first expected to start; compared with when it did",
    )
    op.create_index("ix_expectation_zone", "expectation", ["zone_id", "told_at"])
    op.create_table(
        "departure",
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_departure_user_id")),
        sa.ForeignKeyConstraint(["zone_id"], ["zone.id"], name=op.f("fk_departure_zone_id")),
        sa.PrimaryKeyConstraint("zone_id", "user_id", name=op.f("pk_departure")),
        comment="people whose account was deleted and whose home is still to be removed there",
    )
    # Accounts that were deleted before left their homes behind.
    op.execute(
        "INSERT INTO departure (zone_id, user_id, since) "
        "SELECT zone.id, user_account.id, user_account.deleted_at FROM user_account CROSS JOIN zone "
        "WHERE user_account.deleted_at IS NOT NULL"
    )
    op.create_table(
        "metric_person",
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("series", sa.BigInteger(), nullable=False),
        sa.Column("points", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_metric_person")),
        comment="how much is kept of what a person's work reported",
    )
    # The ledger knows whose work it was. Of a series every so many reports one is a point, from the first on.
    op.execute(
        "INSERT INTO metric_person (user_id, series, points) "
        "SELECT owner.user_id, COUNT(*), SUM((s.reports + s.every - 1) / s.every) FROM metric_series s "
        "JOIN (SELECT workload_id, MIN(user_id) AS user_id FROM usage_allocation GROUP BY workload_id) owner "
        "ON owner.workload_id = s.workload_id GROUP BY owner.user_id"
    )
