"""What the kernel lets Corral's own processes do: set once by the parent, inherited by all others.

Work is given limits of its own (`engines/local/sandbox/launch.py`). Standard library only.

`PR_SET_DUMPABLE` is left alone: at 0, `/proc/self` belongs to root, and an engine that runs as an ordinary
user writes its own `uid_map` and `oom_score_adj` there. Without it, processes of the same user can still
attach to each other, as anywhere; what users run has a pid namespace of its own and sees none of them.
"""

import resource

__all__ = ["limit_processes", "open_files"]

_MOST_OPEN_FILES = 65536


def limit_processes() -> None:
    """No core files: they would hold keys, passwords, sessions. As many open files as the hard limit lets."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def open_files() -> int:
    """How many descriptors this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_OPEN_FILES if soft == resource.RLIM_INFINITY else soft
