"""Uploads and secrets that people give along with training work, and which work has which."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def identifier() -> sa.String:
    return sa.String(23).with_variant(sa.String(23, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "secret",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("key", sa.String(length=16), nullable=False, comment="which key sealed it"),
        sa.Column("created_at", sa.BigInteger(), nullable=False, comment="when the name got its first value"),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column(
            "withdrawn_at",
            sa.BigInteger(),
            nullable=True,
            comment="a value that was replaced or deleted: kept to mask it in the output of work that had it",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_secret_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_secret")),
    )
    with op.batch_alter_table("secret", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_secret_key"), ["key"], unique=False)
        batch_op.create_index(
            "uq_secret_live",
            ["user_id", "name"],
            unique=True,
            sqlite_where=sa.text("withdrawn_at IS NULL"),
            postgresql_where=sa.text("withdrawn_at IS NULL"),
        )

    op.create_table(
        "upload",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False, comment="of the archive; its file's name"),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("unpacked_bytes", sa.BigInteger(), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column(
            "used_at", sa.BigInteger(), nullable=False, comment="when it was last sent or given to work"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_upload_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload")),
    )
    with op.batch_alter_table("upload", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_upload_sha256"), ["sha256"], unique=False)
        batch_op.create_index("uq_upload_user_id_sha256", ["user_id", "sha256"], unique=True)

    op.create_table(
        "secret_use",
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("secret_id", identifier(), nullable=False),
        sa.ForeignKeyConstraint(["secret_id"], ["secret.id"], name=op.f("fk_secret_use_secret_id")),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name=op.f("fk_secret_use_workload_id")),
        sa.PrimaryKeyConstraint("workload_id", "secret_id", name=op.f("pk_secret_use")),
        comment="which values a workload was given",
    )
    with op.batch_alter_table("secret_use", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_secret_use_secret_id"), ["secret_id"], unique=False)

    op.create_table(
        "upload_use",
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("upload_id", identifier(), nullable=False),
        sa.ForeignKeyConstraint(["upload_id"], ["upload.id"], name=op.f("fk_upload_use_upload_id")),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name=op.f("fk_upload_use_workload_id")),
        sa.PrimaryKeyConstraint("workload_id", name=op.f("pk_upload_use")),
        comment="which workload has which upload; gone when the workload is deleted",
    )
    with op.batch_alter_table("upload_use", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_upload_use_upload_id"), ["upload_id"], unique=False)
