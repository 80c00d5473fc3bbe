"""Recognises the trace in a file or folder by its columns."""

from pathlib import Path

from corral.core.refusals import Invalid
from corral.replay.jobs import Trace
from corral.replay.traces import muri, openb, philly, table
from corral.replay.traces.rows import header_of

# What a folder is expected to hold.
_IN_FOLDERS = (philly.JOB_FILE, "openb_pod_list_default.csv")
_FORMS = (
    ("Philly", philly.COLUMNS),
    ("Muri", muri.COLUMNS),
    ("openb", openb.COLUMNS),
    ("own", table.COLUMNS),
)


def read_trace(path: Path, *, gpus_per_node: int, nodes_divided_by: int = 1) -> Trace:
    """The trace in a file, or the one that a folder holds."""
    file = _file_in(path) if path.is_dir() else path
    header = header_of(file)
    form = next((name for name, columns in _FORMS if set(columns) <= set(header)), None)
    if form == "Philly":
        return philly.read_philly(file, gpus_per_node=gpus_per_node, nodes_divided_by=nodes_divided_by)
    if form == "Muri":
        return muri.read_muri(file)
    if form == "openb":
        return openb.read_openb(file)
    if form == "own":
        return table.read_table(file, gpus_per_node=gpus_per_node)
    known = "; ".join(f"{name}: {', '.join(columns)}" for name, columns in _FORMS)
    raise Invalid.field(
        f"{file}, line 1",
        f"The columns {', '.join(header) or '(none)'} are those of no known trace.",
        f"Known are {known}.",
    )


def _file_in(folder: Path) -> Path:
    found = [folder / name for name in _IN_FOLDERS if (folder / name).is_file()]
    if len(found) == 1:
        return found[0]
    raise Invalid.field(
        str(folder),
        f"The folder holds {'several traces' if found else 'no known trace'}.",
        f"Name a file, or a folder with one of: {', '.join(_IN_FOLDERS)}.",
    )
