"""Join codes are invitations with a code and seats; a link is one with a secret and a single seat."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("invitation", schema=None) as batch_op:
        batch_op.add_column(sa.Column("code", sa.String(length=20), nullable=True))
        batch_op.add_column(sa.Column("seats", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("seats_taken", sa.Integer(), nullable=True))
    op.execute("UPDATE invitation SET seats = 1, seats_taken = 0")
    with op.batch_alter_table("invitation", schema=None) as batch_op:
        batch_op.alter_column(
            "secret_hash",
            existing_type=sa.String(length=64),
            nullable=True,
            comment="of a link, for one person",
        )
        batch_op.alter_column(
            "code",
            existing_type=sa.String(length=20),
            comment="of a join code, meant to be written on a blackboard",
        )
        batch_op.alter_column("seats", existing_type=sa.Integer(), nullable=False)
        batch_op.alter_column("seats_taken", existing_type=sa.Integer(), nullable=False)
        batch_op.create_unique_constraint(batch_op.f("uq_invitation_code"), ["code"])
        batch_op.create_check_constraint(batch_op.f("ck_invitation_seats"), "seats_taken <= seats")
        batch_op.create_check_constraint(
            batch_op.f("ck_invitation_link_or_code"), "(secret_hash IS NULL) <> (code IS NULL)"
        )
    op.execute(
        "INSERT INTO invitation (id, organisation_id, role_id, invited_by, code, seats, seats_taken, "
        "created_at, expires_at) SELECT id, organisation_id, role_id, made_by, code, seats, seats_taken, "
        "created_at, expires_at FROM join_code"
    )
    op.drop_table("join_code")
