"""Identity, audit log, events, leases, settings, idempotent answers."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def identifier() -> sa.String:
    return ordered_string(23)


def ordered_string(length: int) -> sa.String:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def ordered_text() -> sa.Text:
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def json_value() -> sa.JSON:
    return sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "audit_entry",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor_id", identifier(), nullable=False),
        sa.Column("actor_name", sa.String(length=120), nullable=False),
        sa.Column(
            "via",
            sa.String(length=40),
            nullable=False,
            comment="session, token, local or system, and which",
        ),
        sa.Column("action", ordered_string(60), nullable=False),
        sa.Column("object_kind", sa.String(length=40), nullable=False),
        sa.Column("object_id", identifier(), nullable=False),
        sa.Column("object_name", sa.String(length=200), nullable=False),
        sa.Column("organisation_id", identifier(), nullable=False),
        sa.Column("organisation_path", sa.Text(), nullable=False),
        sa.Column("result", ordered_string(10), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("before", json_value(), nullable=True),
        sa.Column("after", json_value(), nullable=True),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entry")),
    )
    with op.batch_alter_table("audit_entry", schema=None) as batch_op:
        batch_op.create_index("ix_audit_entry_object", ["object_id", "id"], unique=False)

    op.create_table(
        "audit_posting",
        sa.Column("scope_id", identifier(), nullable=False),
        sa.Column("result", ordered_string(10), nullable=False),
        sa.Column("entry_id", identifier(), nullable=False),
        sa.Column("actor_id", identifier(), nullable=False),
        sa.Column("action", ordered_string(60), nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "result", "entry_id", name=op.f("pk_audit_posting")),
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("audit_posting", schema=None) as batch_op:
        batch_op.create_index(
            "ix_audit_posting_action", ["scope_id", "result", "action", "entry_id"], unique=False
        )
        batch_op.create_index(
            "ix_audit_posting_actor", ["scope_id", "result", "actor_id", "entry_id"], unique=False
        )
        batch_op.create_index(
            "ix_audit_posting_actor_action",
            ["scope_id", "result", "actor_id", "action", "entry_id"],
            unique=False,
        )

    op.create_table(
        "event",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("object_id", identifier(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column(
            "scope",
            sa.Text(),
            nullable=True,
            comment="path of the organisation it belongs to; null: only for `user_id`",
        ),
        sa.Column(
            "user_id", identifier(), nullable=True, comment="the person it is about, who always sees it"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_event_at"), ["at"], unique=False)

    op.create_table(
        "idempotent_answer",
        sa.Column("principal_id", identifier(), nullable=False),
        sa.Column("route", sa.String(length=120), nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("body_hash", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column(
            "answer", sa.Text(), nullable=False, comment="encrypted: it may hold a secret that is shown once"
        ),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("principal_id", "route", "key_hash", name=op.f("pk_idempotent_answer")),
    )
    with op.batch_alter_table("idempotent_answer", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_idempotent_answer_created_at"), ["created_at"], unique=False)

    op.create_table(
        "lease",
        sa.Column("name", sa.String(length=80), nullable=False, comment="loop, or loop/zone"),
        sa.Column("holder", sa.String(length=80), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False, comment="grows with every change of holder"),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_lease")),
    )
    op.create_table(
        "login_throttle",
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("window_ends_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_login_throttle")),
    )
    with op.batch_alter_table("login_throttle", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_login_throttle_window_ends_at"), ["window_ends_at"], unique=False
        )

    op.create_table(
        "organisation",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("parent_id", identifier(), nullable=True),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("name_key", sa.String(length=240), nullable=False, comment="what siblings may not share"),
        sa.Column("path", ordered_text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["parent_id"], ["organisation.id"], name=op.f("fk_organisation_parent_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organisation")),
        sa.UniqueConstraint("parent_id", "name_key", name=op.f("uq_organisation_parent_id_name_key")),
        sa.UniqueConstraint("path", name=op.f("uq_organisation_path")),
    )
    with op.batch_alter_table("organisation", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_organisation_parent_id"), ["parent_id"], unique=False)

    op.create_table(
        "setting",
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("value", json_value(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_setting")),
    )
    op.create_table(
        "user_account",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("name", ordered_string(40), nullable=False),
        sa.Column("display_name", ordered_string(120), nullable=False),
        sa.Column("mail", sa.String(length=254), nullable=True),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("language", sa.String(length=10), nullable=True),
        sa.Column("theme", sa.String(length=10), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at", sa.BigInteger(), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.CheckConstraint("state IN ('active', 'disabled', 'pending')", name=op.f("ck_user_account_state")),
        sa.CheckConstraint("priority BETWEEN 1 AND 5", name=op.f("ck_user_account_priority")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_account")),
        sa.UniqueConstraint("name", name=op.f("uq_user_account_name")),
    )
    with op.batch_alter_table("user_account", schema=None) as batch_op:
        batch_op.create_index("ix_user_account_display_name", ["display_name", "id"], unique=False)
        batch_op.create_index("ix_user_account_last_seen_at", ["last_seen_at", "id"], unique=False)

    op.create_table(
        "external_login",
        sa.Column("provider", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_external_login_user_id")),
        sa.PrimaryKeyConstraint("provider", "subject", name=op.f("pk_external_login")),
    )
    with op.batch_alter_table("external_login", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_external_login_user_id"), ["user_id"], unique=False)

    op.create_table(
        "login_link",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_login_link_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_link")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_login_link_secret_hash")),
    )
    with op.batch_alter_table("login_link", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_login_link_expires_at"), ["expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_login_link_user_id"), ["user_id"], unique=False)

    op.create_table(
        "membership",
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("organisation_id", identifier(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_membership_organisation_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_membership_user_id")),
        sa.PrimaryKeyConstraint("user_id", "organisation_id", name=op.f("pk_membership")),
    )
    with op.batch_alter_table("membership", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_membership_organisation_id"), ["organisation_id"], unique=False)

    op.create_table(
        "password",
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("hash", sa.String(length=200), nullable=False),
        sa.Column("must_change", sa.Boolean(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_password_user_id")),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_password")),
    )
    op.create_table(
        "role",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("key", sa.String(length=40), nullable=True, comment="of a preset; custom roles have none"),
        sa.Column("organisation_id", identifier(), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("name_key", sa.String(length=240), nullable=False),
        sa.Column("description", sa.String(length=400), nullable=False),
        sa.Column("permissions", json_value(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_role_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_role")),
        sa.UniqueConstraint("key", name=op.f("uq_role_key")),
        sa.UniqueConstraint("organisation_id", "name_key", name=op.f("uq_role_organisation_id_name_key")),
    )
    with op.batch_alter_table("role", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_role_organisation_id"), ["organisation_id"], unique=False)

    op.create_table(
        "session",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("user_agent", sa.String(length=300), nullable=False),
        sa.Column("provider", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_session_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_session_secret_hash")),
    )
    with op.batch_alter_table("session", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_session_expires_at"), ["expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_session_last_seen_at"), ["last_seen_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_session_user_id"), ["user_id"], unique=False)

    op.create_table(
        "ssh_key",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("title", sa.String(length=120), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.String(length=80), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_ssh_key_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ssh_key")),
        sa.UniqueConstraint("fingerprint", name=op.f("uq_ssh_key_fingerprint")),
    )
    with op.batch_alter_table("ssh_key", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_ssh_key_user_id"), ["user_id"], unique=False)

    op.create_table(
        "token",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column(
            "scopes", json_value(), nullable=False, comment='permissions, or ["*"] for all the owner has'
        ),
        sa.Column(
            "local", sa.Boolean(), nullable=False, comment="made at start for the command on this machine"
        ),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_token_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_token_secret_hash")),
    )
    with op.batch_alter_table("token", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_token_expires_at"), ["expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_token_user_id"), ["user_id"], unique=False)

    op.create_table(
        "invitation",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("organisation_id", identifier(), nullable=False),
        sa.Column("role_id", identifier(), nullable=False),
        sa.Column("invited_by", identifier(), nullable=False),
        sa.Column("mail", sa.String(length=254), nullable=True),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("mailed_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["invited_by"], ["user_account.id"], name=op.f("fk_invitation_invited_by")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_invitation_organisation_id")
        ),
        sa.ForeignKeyConstraint(["role_id"], ["role.id"], name=op.f("fk_invitation_role_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_invitation_secret_hash")),
    )
    with op.batch_alter_table("invitation", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_invitation_expires_at"), ["expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_invitation_organisation_id"), ["organisation_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_invitation_role_id"), ["role_id"], unique=False)

    op.create_table(
        "join_code",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("organisation_id", identifier(), nullable=False),
        sa.Column("role_id", identifier(), nullable=False),
        sa.Column("made_by", identifier(), nullable=False),
        sa.Column(
            "code", sa.String(length=20), nullable=False, comment="meant to be written on a blackboard"
        ),
        sa.Column("seats", sa.Integer(), nullable=False),
        sa.Column("seats_taken", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("seats_taken <= seats", name=op.f("ck_join_code_seats")),
        sa.ForeignKeyConstraint(["made_by"], ["user_account.id"], name=op.f("fk_join_code_made_by")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_join_code_organisation_id")
        ),
        sa.ForeignKeyConstraint(["role_id"], ["role.id"], name=op.f("fk_join_code_role_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_join_code")),
        sa.UniqueConstraint("code", name=op.f("uq_join_code_code")),
    )
    with op.batch_alter_table("join_code", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_join_code_expires_at"), ["expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_join_code_organisation_id"), ["organisation_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_join_code_role_id"), ["role_id"], unique=False)

    op.create_table(
        "role_grant",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("role_id", identifier(), nullable=False),
        sa.Column("organisation_id", identifier(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_role_grant_organisation_id")
        ),
        sa.ForeignKeyConstraint(["role_id"], ["role.id"], name=op.f("fk_role_grant_role_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_role_grant_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_role_grant")),
        sa.UniqueConstraint(
            "user_id",
            "role_id",
            "organisation_id",
            name=op.f("uq_role_grant_user_id_role_id_organisation_id"),
        ),
    )
    with op.batch_alter_table("role_grant", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_role_grant_expires_at"), ["expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_role_grant_organisation_id"), ["organisation_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_role_grant_role_id"), ["role_id"], unique=False)
    make_append_only("audit_entry")
    make_append_only("audit_posting")


def make_append_only(table: str) -> None:
    """The database itself refuses to change or delete what the audit log holds."""
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
            )
        return
    op.execute(
        "CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()"
    )
