"""A flavor says for which kinds of work it is offered."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

COMMENT = "of work; none means all"


def upgrade() -> None:
    kind = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
    op.add_column("flavor", sa.Column("kinds", kind, nullable=False, server_default="[]", comment=COMMENT))
