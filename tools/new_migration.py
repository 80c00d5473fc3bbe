"""Writes the next migration from the difference between tables and migrations: a draft to read and edit.

uv run python tools/new_migration.py "what it does"
"""

import re
import sys
import tempfile
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

from corral.server.tables import metadata
from corral.store.migrate import MIGRATIONS, upgrade


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit('usage: uv run python tools/new_migration.py "what it does"')
    revisions = [
        match[1] for file in MIGRATIONS.glob("versions/*.py") if (match := re.match(r"(\d{4})_", file.name))
    ]
    revision = f"{max(map(int, revisions), default=0) + 1:04}"
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'draft.db'}"
        if revisions:
            upgrade(url)
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
        engine = create_engine(url)
        with engine.begin() as connection:
            config.attributes.update(connection=connection, metadata=metadata)
            command.revision(config, sys.argv[1], autogenerate=True, rev_id=revision)
        engine.dispose()
    print(f"Read and edit the new file, then set HEAD = {revision!r} in src/corral/store/migrate.py.")


if __name__ == "__main__":
    main()
