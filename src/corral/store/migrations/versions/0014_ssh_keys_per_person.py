"""A public SSH key is unique among the keys of one person, not of all."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("ssh_key", schema=None) as batch_op:
        batch_op.drop_constraint(batch_op.f("uq_ssh_key_fingerprint"), type_="unique")
        batch_op.create_unique_constraint(
            batch_op.f("uq_ssh_key_user_id_fingerprint"), ["user_id", "fingerprint"]
        )
