"""Runtimes: Python environments of people, and the work that builds them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def identifier() -> sa.String:
    return sa.String(23).with_variant(sa.String(23, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "runtime",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("requirements", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False, comment="of its definition"),
        sa.Column("workload_id", identifier(), nullable=True, comment="what builds it"),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_runtime_user_id")),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name=op.f("fk_runtime_workload_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runtime")),
    )
    with op.batch_alter_table("runtime", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_runtime_used_at"), ["used_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_runtime_workload_id"), ["workload_id"], unique=False)
        batch_op.create_index("uq_runtime_user_id_name_version", ["user_id", "name", "version"], unique=True)
