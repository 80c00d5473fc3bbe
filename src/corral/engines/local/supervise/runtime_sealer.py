"""The end of a build: a child of the supervisor seals what was built, and nobody waits for it.

It works inside the control groups of the build, which so pays for it and can be killed with it.
"""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from corral.engines.local.files import user_files
from corral.engines.local.files.sealing import SealRefused, seal, words_for
from corral.engines.local.kernel import syscalls
from corral.engines.local.kernel.cgroups import Group
from corral.engines.local.records.spec import Spec
from corral.engines.local.sandbox.launch import enter_cgroups
from corral.engines.local.sandbox.namespaces import fork_and_exit
from corral.engines.local.supervise.event_loop import Loop

_MIB = 2**20
_EMPTY_SECONDS = 10
_EMPTY_PAUSE_SECONDS = 0.01
_MOST_WORDS_BYTES = 400
_DONE = b"sealed"


def start(loop: Loop, spec: Spec, directory: Path, group: Group, then: Callable[[str | None], None]) -> None:
    """Seals the environment of a build whose command has ended; `then` hears why it could not be.

    `directory` is the attempt's own: what an interruption leaves goes with it.
    """
    reading, writing = os.pipe()
    parent = os.getpid()

    def work() -> None:
        syscalls.die_with_parent(parent)
        problem = words_for(lambda: _seal(spec, directory, group))
        os.write(writing, (problem or "").encode()[:_MOST_WORDS_BYTES] or _DONE)

    child = fork_and_exit(work)
    os.close(writing)

    def finish() -> None:
        loop.unwatch(reading)
        result = os.read(reading, _MOST_WORDS_BYTES)
        os.close(reading)
        os.waitpid(child, 0)
        words = result.decode("utf-8", "replace") or "it was ended before its environment was kept"
        then(None if result == _DONE else words)

    loop.watch(reading, finish)


def _seal(spec: Spec, directory: Path, group: Group) -> None:
    assert spec.sealed is not None
    _wait_until_empty(group)
    enter_cgroups(group.entrances)
    workspace = Path(spec.workspace)
    seal(workspace, Path(spec.sealed), directory, spec.replicas[0].disk_mib * _MIB)
    # Nobody needs what it was made from, and it takes as much room again.
    with contextlib.suppress(OSError), user_files.opened_directory(workspace.parent) as workspaces:
        user_files.remove(workspaces, workspace.name)


def _wait_until_empty(group: Group) -> None:
    """Nothing that the build started may still be able to write."""
    until = time.monotonic() + _EMPTY_SECONDS
    while True:
        group.kill()
        try:
            if not group.processes():
                return
        except FileNotFoundError:
            return
        if time.monotonic() > until:
            raise SealRefused("processes of the build do not end")
        time.sleep(_EMPTY_PAUSE_SECONDS)
