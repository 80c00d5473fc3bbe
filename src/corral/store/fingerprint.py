"""Which key seals the secrets of this database: its fingerprint refuses a Corral that has other keys."""

from collections.abc import Collection

from sqlalchemy import Column, String, Table, delete, insert, select

from corral.store.database import Transaction
from corral.store.schema import Instant, metadata

key_fingerprint = Table(
    "key_fingerprint",
    metadata,
    Column("name", String(16), primary_key=True, comment="of the newest key; tells nothing of it"),
    Column("since", Instant, nullable=False),
    comment="one row: the key that seals now",
)


def read_fingerprint(transaction: Transaction) -> str | None:
    """None where no Corral has started with this database yet."""
    name: str | None = transaction.scalar(select(key_fingerprint.c.name))
    return name


def match_fingerprint(transaction: Transaction, fingerprints: Collection[str], newest: str) -> bool:
    """Whether these are the keys of the database. A newer one on top takes over.

    The first Corral that starts with a database decides which keys it has.
    """
    stored = read_fingerprint(transaction)
    if stored is not None and stored not in fingerprints:
        return False
    if stored != newest:
        transaction.run(delete(key_fingerprint))
        transaction.run(insert(key_fingerprint).values(name=newest, since=transaction.now))
    return True
