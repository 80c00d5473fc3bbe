"""The loop that removes files of uploads of which the database knows nothing any more."""

import asyncio

from corral.control.loop import Done, Loop
from corral.control.term import Term
from corral.inputs.upload_files import UploadFiles
from corral.inputs.uploads import known_contents
from corral.store.database import Database

PERIOD_SECONDS = 60.0
MOST_AT_ONCE = 1000


def sweep_loop(database: Database, files: UploadFiles) -> Loop:
    async def turn(term: Term) -> Done:
        # What arrives after this list was made is too young to be swept.
        known = await database.scan(known_contents)
        term.check_deadline()
        removed = await asyncio.to_thread(files.sweep, known, MOST_AT_ONCE)
        return Done(removed, more=removed >= MOST_AT_ONCE)

    # Every host has files of its own.
    return Loop("sweep", database, turn, PERIOD_SECONDS, exclusive=False)
