"""How work can be kept apart on this machine, found by trying it."""

import os
from dataclasses import dataclass
from functools import cache

from corral.engines.local.kernel.cgroup_roots import CgroupRoots
from corral.engines.local.records.spec import NO_SANDBOX
from corral.engines.local.sandbox import probe
from corral.engines.local.sandbox.bubblewrap import Mode


@dataclass(frozen=True, slots=True)
class Isolation:
    """`isolation` in words; `notes` for every run; `refusal` why no work is taken."""

    mode: str
    isolation: str
    notes: tuple[str, ...] = ()
    refusal: str | None = None


def find_isolation(cgroup_roots: CgroupRoots, *, trusted: bool) -> Isolation:
    """Starts a sandbox to see whether it can be."""
    return decide(os.geteuid() == 0, sandbox_problem(), cgroup_roots.missing, trusted=trusted)


def decide(
    is_root: bool, problem: str | None, missing_limits: tuple[str, ...], *, trusted: bool
) -> Isolation:
    """Work of several people needs a sandbox and limits; one person may do without either, and is told so."""
    notes: list[str] = []
    refusals: list[str] = []
    mode = str(Mode.ROOT if is_root else Mode.USER)
    isolation = (
        "a sandbox with a uid of its own for every person" if is_root else "a sandbox, one uid for all"
    )
    if problem is not None:
        mode, isolation = NO_SANDBOX, "none: plain processes"
        notes.append(f"no sandbox: {problem}")
        refusals.append(f"work cannot be kept apart here: {problem}")
    if missing_limits:
        what = ", ".join(missing_limits)
        notes.append(f"no limits on {what}: no control group can be made here")
        refusals.append(f"{what} cannot be limited here: no control group can be made")
    if trusted:
        return Isolation(mode, isolation, tuple(notes))
    return Isolation(mode, isolation, tuple(notes), "; ".join(refusals) or None)


@cache
def sandbox_problem() -> str | None:
    """What is missing and what to do; tried once in the life of a process."""
    problem = probe.ask()
    return None if problem is None else f"{problem.found}. {problem.remedy}"
