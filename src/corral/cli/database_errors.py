"""What is said when the database of a command on this machine cannot be used."""

from collections.abc import Iterator
from contextlib import contextmanager

from asyncpg import PostgresError
from sqlalchemy.exc import DBAPIError

from corral.cli.refusals import CommandError
from corral.server.settings import Settings, mask_database_url


@contextmanager
def explained(settings: Settings) -> Iterator[None]:
    """The database is named without its password."""
    try:
        yield
    except (DBAPIError, PostgresError, OSError) as error:
        cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise CommandError(
            f"The database {mask_database_url(settings.database_url_resolved)} cannot be used.",
            f"{cause}.",
            "Check database_url (corral config show), and that the server runs and lets you in.",
        ) from None
