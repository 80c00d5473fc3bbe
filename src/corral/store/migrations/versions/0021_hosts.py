"""Hosts of one Corral, the keys that the database is sealed with, and a local token for each host."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def ordered(length: int) -> sa.String:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "host",
        sa.Column("id", sa.String(80), nullable=False, comment="the identity of its data directory"),
        sa.Column("name", ordered(120), nullable=False),
        sa.Column("url", sa.String(400), nullable=False, comment="where other hosts reach it"),
        sa.Column("version", sa.String(40), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_host")),
        sa.UniqueConstraint("name", name=op.f("uq_host_name")),
        comment="where a Corral of this database runs",
    )
    op.create_table(
        "key_fingerprint",
        sa.Column("name", sa.String(16), nullable=False, comment="of the newest key; tells nothing of it"),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_key_fingerprint")),
        comment="one row: the key that seals now",
    )
    op.add_column("token", sa.Column("host_id", sa.String(80), comment="of a local token: whose"))
