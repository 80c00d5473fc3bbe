"""Tickets into apps."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def identifier() -> sa.String:
    return sa.String(23).with_variant(sa.String(23, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "app_ticket",
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("port", sa.Integer(), comment="none: what the workload opens by default"),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column(
            "credential_id", identifier(), nullable=False, comment="session or token that it was made with"
        ),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("secret_hash", name=op.f("pk_app_ticket")),
        comment="good once, for a minute",
    )
    op.create_index(op.f("ix_app_ticket_user_id"), "app_ticket", ["user_id"])
    op.create_index(op.f("ix_app_ticket_expires_at"), "app_ticket", ["expires_at"])
