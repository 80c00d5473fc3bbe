"""Tables of what people bring along with work."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, String, Table, Text, text

from corral.store.schema import Instant, identifier, json_value, metadata

SHA256_LENGTH = 64
NAME_LENGTH = 100

upload = Table(
    "upload",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("user_id", identifier(), ForeignKey("user_account.id"), nullable=False),
    Column(
        "sha256", String(SHA256_LENGTH), nullable=False, index=True, comment="of the archive; its file's name"
    ),
    Column("form", String(10), comment="what it was declared to be; null where that was not asked yet"),
    Column("size_bytes", BigInteger, nullable=False),
    Column("unpacked_bytes", BigInteger, nullable=False),
    Column("entries", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("used_at", Instant, nullable=False, comment="when it was last sent or given to work"),
    Index("uq_upload_user_id_sha256", "user_id", "sha256", unique=True),
)

upload_use = Table(
    "upload_use",
    metadata,
    Column("workload_id", identifier(), ForeignKey("workload.id"), primary_key=True),
    Column("upload_id", identifier(), ForeignKey("upload.id"), nullable=False, index=True),
    comment="which workload has which upload; gone when the workload is deleted",
)

secret = Table(
    "secret",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("user_id", identifier(), ForeignKey("user_account.id"), nullable=False),
    Column("name", String(NAME_LENGTH), nullable=False),
    Column("sealed", Text, nullable=False),
    Column("key", String(16), nullable=False, index=True, comment="which key sealed it"),
    Column("created_at", Instant, nullable=False, comment="when the name got its first value"),
    Column("changed_at", Instant, nullable=False),
    Column(
        "withdrawn_at",
        Instant,
        comment="a value that was replaced or deleted: kept to mask it in the output of work that had it",
    ),
    Index(
        "uq_secret_live",
        "user_id",
        "name",
        unique=True,
        sqlite_where=text("withdrawn_at IS NULL"),
        postgresql_where=text("withdrawn_at IS NULL"),
    ),
)

runtime = Table(
    "runtime",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("user_id", identifier(), ForeignKey("user_account.id"), nullable=False),
    Column("name", String(NAME_LENGTH), nullable=False),
    Column("version", Integer, nullable=False),
    Column("requirements", json_value(), nullable=False),
    Column("digest", String(SHA256_LENGTH), nullable=False, comment="of its definition"),
    Column("workload_id", identifier(), ForeignKey("workload.id"), index=True, comment="what builds it"),
    Column("created_at", Instant, nullable=False),
    Column("used_at", Instant, nullable=False, index=True),
    Index("uq_runtime_user_id_name_version", "user_id", "name", "version", unique=True),
)

secret_use = Table(
    "secret_use",
    metadata,
    Column("workload_id", identifier(), ForeignKey("workload.id"), primary_key=True),
    Column("secret_id", identifier(), ForeignKey("secret.id"), primary_key=True, index=True),
    comment="which values a workload was given",
)
