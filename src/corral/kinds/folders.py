"""A kind's own files: one entry of a directory for each workload, called by the workload's id.

Rows decide: what has none any more, or belongs to deleted work, is swept. A transaction never touches files,
because it may run twice.
"""

import shutil
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from corral.store.database import Transaction
from corral.workloads.states import State
from corral.workloads.tables import workload

# Between an entry's first byte and the workload's row; nothing takes that long.
_SETTLED_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class WorkloadFolder:
    """`directory` is Corral's own; no sandbox has it."""

    directory: Path
    kind: str

    def in_use(self, transaction: Transaction) -> set[str]:
        """The names of entries that stay."""
        live = workload.c.kind == self.kind, workload.c.state != State.DELETED
        return {one for (one,) in transaction.rows(select(workload.c.id).where(*live))}

    def sweep(self, in_use: Collection[str], most: int) -> int:
        """Removes up to `most` entries of which no row speaks, once they have rested for a while."""
        if not self.directory.is_dir():
            return 0
        settled = time.time() - _SETTLED_SECONDS
        unknown = (entry for entry in self.directory.iterdir() if entry.name not in in_use)
        gone = [entry for entry in unknown if entry.lstat().st_mtime < settled][:most]
        for entry in gone:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        return len(gone)
