"""Work that was created for other work: its parent."""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Both databases add a nullable column in place; SQLite takes its foreign key only with it.
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    collation = ' COLLATE "C"' if is_postgresql else ""
    op.execute(
        f"ALTER TABLE workload ADD COLUMN parent_id VARCHAR(23){collation} "
        "CONSTRAINT fk_workload_parent_id REFERENCES workload (id)"
    )
    if is_postgresql:
        op.execute("COMMENT ON COLUMN workload.parent_id IS 'for which it was created'")
    op.execute("CREATE INDEX ix_workload_parent ON workload (parent_id, id) WHERE parent_id IS NOT NULL")
