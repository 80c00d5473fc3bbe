"""What is there already: attempts of an earlier Corral, output that is kept, and what nobody accounts for."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corral.engines.interface import Foreign
from corral.engines.local.context import EngineContext
from corral.engines.local.records import layout, locks
from corral.engines.local.records.spec import Spec


@dataclass(slots=True)
class AdoptedAttempts:
    """`forgotten` are the replicas of each attempt whose ending is recorded."""

    here: list[Spec] = field(default_factory=list)
    gone: list[Spec] = field(default_factory=list)
    tombstones: set[str] = field(default_factory=set)
    forgotten: dict[str, set[int]] = field(default_factory=dict)


def find_attempts(context: EngineContext) -> AdoptedAttempts:
    """Every attempt that was begun or has ended. An intent of which nothing came is withdrawn: whoever had it
    will ask again."""
    found = AdoptedAttempts(gone=list(context.attempt_store.gone_specs()))
    found.tombstones = {path.name for path in context.attempt_store.gone.iterdir()}
    for name in context.attempt_store.attempts():
        try:
            spec = context.attempt_store.read_spec(name)
            if _was_begun(context, name):
                indices = range(len(spec.replicas))
                found.forgotten[name] = {
                    index for index in indices if context.attempt_store.forgotten(name, index)
                }
                found.here.append(spec)
        except (OSError, ValueError):
            continue  # it is reported as foreign, and left alone
    return found


def _was_begun(context: EngineContext, name: str) -> bool:
    directory = context.attempt_store.directory(name)
    ended = (directory / layout.exit_name(0)).exists()
    return ended or (directory / layout.BEGUN).exists() or not context.attempt_store.withdraw(name)


def find_foreign(context: EngineContext, replica_counts: Mapping[str, int]) -> tuple[Foreign, ...]:
    """Directories that cannot be read, and processes in groups of attempts that are not there.

    `replica_counts` has the number of replicas of every tracked attempt.
    """
    foreign = [Foreign(problem.partition(":")[0], problem) for problem in context.leftovers]
    for name in context.attempt_store.attempts():
        if name in replica_counts:
            continue
        holder = None
        with contextlib.suppress(OSError):  # a stray file, or closed to us
            holder = locks.holder(context.attempt_store.directory(name))
        who = "" if holder is None else f"; process {holder} holds it"
        foreign.append(Foreign(f"run/{name}", f"a directory that is not that of a known attempt{who}"))
    foreign += [
        Foreign(f"gone/{name}", f"cannot be read: {why}") for name, why in context.attempt_store.strays()
    ]
    doors = {layout.door_group_name(attempt) for attempt in replica_counts}
    groups = doors | {
        layout.group_name(attempt, index)
        for attempt, count in replica_counts.items()
        for index in range(count)
    }
    foreign += [
        Foreign(f"group {path.name}", f"{count} processes in a group of no known attempt")
        for path in _groups(context)
        if path.name not in groups and (count := _processes(path))
    ]
    return tuple(foreign)


def find_discarded(context: EngineContext, workload: str) -> tuple[Spec, ...]:
    """The attempts of a workload of which output is kept."""
    return tuple(spec for spec in context.attempt_store.gone_specs() if spec.workload == workload)


def _groups(context: EngineContext) -> list[Path]:
    directories = context.cgroup_roots.directories
    base = directories.get("unified") or directories.get("memory")
    with contextlib.suppress(OSError):
        return [] if base is None else [path for path in Path(base).iterdir() if path.is_dir()]
    return []


def _processes(group: Path) -> int:
    with contextlib.suppress(OSError):
        return len((group / "cgroup.procs").read_text().split())
    return 0
