"""Series and their points, and one table for each level they are rolled up to.

On SQLite they are in a file of their own, so that samples never make a person's change wait; on PostgreSQL
beside the other tables. Single points lie in order of time: they come, are rolled up and go in that order,
and a batch of thousands is written to the end of the table. What is rolled up lies in order of series, as
it is asked for.
"""

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, String, Table, UniqueConstraint

from corral.store.schema import metadata, ordered_string
from corral.usage.samples.levels import DAY, HOUR, MINUTE, Level

SUBJECT_LENGTH = 160
# Where these tables are on SQLite; migrations and their test leave them out there.
BESIDE = {"sqlite_file": "samples.db"}

sample_series = Table(
    "sample_series",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("subject", ordered_string(SUBJECT_LENGTH), nullable=False),
    Column("kind", String(10), nullable=False),
    Column("metric", String(40), nullable=False),
    Column(
        "last_at", BigInteger, nullable=False, comment="seconds since 1970; raised when points are rolled up"
    ),
    UniqueConstraint("subject", "kind", "metric"),
    CheckConstraint("kind IN ('node', 'device', 'workload', 'replica')", name="kind"),
    info=BESIDE,
    sqlite_autoincrement=True,
)

sample_point = Table(
    "sample_point",
    metadata,
    Column("at", BigInteger, primary_key=True, autoincrement=False, comment="seconds since 1970"),
    Column("series_id", Integer, primary_key=True, autoincrement=False),
    Column("value", BigInteger, nullable=False),
    info=BESIDE,
    sqlite_with_rowid=False,
)

# Blocks of time in which points came and are not rolled up yet.
sample_due = Table(
    "sample_due",
    metadata,
    Column("width_seconds", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    info=BESIDE,
    sqlite_with_rowid=False,
)


def _rolled_up(level: Level) -> Table:
    return Table(
        f"sample_{level.name}",
        metadata,
        Column("series_id", Integer, primary_key=True, autoincrement=False),
        Column("at", BigInteger, primary_key=True, autoincrement=False),
        Column("lowest", BigInteger, nullable=False),
        Column("highest", BigInteger, nullable=False),
        Column("total", BigInteger, nullable=False),
        Column("points", Integer, nullable=False),
        info=BESIDE,
        sqlite_with_rowid=False,
    )


rolled = {level.name: _rolled_up(level) for level in (MINUTE, HOUR, DAY)}
TABLES = (sample_series, sample_point, sample_due, *rolled.values())
