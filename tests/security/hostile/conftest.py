"""Hostile programs run in the same cages as the tests of the engine."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.local.cage import Cage
from tests.engines.local.conftest import cage, cage_of_user, cage_on_street, place, the_street

__all__ = ["cage", "cage_of_user", "cage_on_street", "limited_group", "place", "the_street"]

PROCESSES = 50


@pytest.fixture
def limited_group(cage: Cage) -> Iterator[str]:
    """A cgroup in which at most fifty processes run."""
    tree, unified = _tree_of_processes()
    if unified and cage.mode == "user":
        pytest.skip("a user enters only groups below one that was delegated; the engine's tests have that")
    if unified:
        (tree / "cgroup.subtree_control").write_text("+pids")
    group = tree / f"corral-hostile-{os.getpid()}-{cage.mode}"
    group.mkdir()
    (group / "pids.max").write_text(str(PROCESSES))
    os.chown(group / "cgroup.procs", cage.engine_uid, cage.engine_uid)
    yield str(group)
    group.rmdir()


def _tree_of_processes() -> tuple[Path, bool]:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, path, kind, options, *_ = line.split()
        if kind == "cgroup" and "pids" in options.split(","):
            return Path(path), False
    return Path("/sys/fs/cgroup"), True
