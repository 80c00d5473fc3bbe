"""The loop that removes files of which the database knows nothing any more."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from corral.control.loop import Done, Loop
from corral.control.term import Term
from corral.inputs.upload_files import UploadFiles
from corral.inputs.uploads import known_contents
from corral.store.database import Database, Transaction

PERIOD_SECONDS = 60.0
MOST_AT_ONCE = 1000


class Swept(Protocol):
    """A directory of Corral's own whose entries have rows."""

    def in_use(self, transaction: Transaction) -> set[str]: ...

    def sweep(self, in_use: Collection[str], most: int) -> int: ...


@dataclass(frozen=True, slots=True)
class SweptUploads:
    files: UploadFiles

    def in_use(self, transaction: Transaction) -> set[str]:
        return known_contents(transaction)

    def sweep(self, in_use: Collection[str], most: int) -> int:
        return self.files.sweep(in_use, most)


def sweep_loop(database: Database, directories: Sequence[Swept]) -> Loop:
    async def turn(term: Term) -> Done:
        removed = 0
        for directory in directories:
            # What arrives after this list was made is too young to be swept.
            in_use = await database.scan(directory.in_use)
            term.check_deadline()
            removed += await asyncio.to_thread(directory.sweep, in_use, MOST_AT_ONCE)
        return Done(removed, more=removed >= MOST_AT_ONCE)

    # Every host has files of its own.
    return Loop("sweep", database, turn, PERIOD_SECONDS, exclusive=False)
