"""What is there already: attempts of an earlier Corral, output that is kept, and what nobody accounts for."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corral.engines.interface import Foreign
from corral.engines.local import layout, locks
from corral.engines.local.house import House
from corral.engines.local.spec import Spec


@dataclass(slots=True)
class Found:
    """`forgotten` are the replicas of each attempt whose ending is recorded."""

    here: list[Spec] = field(default_factory=list)
    gone: list[Spec] = field(default_factory=list)
    tombstones: set[str] = field(default_factory=set)
    forgotten: dict[str, set[int]] = field(default_factory=dict)


def find_attempts(house: House) -> Found:
    """Every attempt that was begun or has ended. An intent of which nothing came is withdrawn: whoever had it
    will ask again."""
    found = Found(gone=list(house.shelf.gone_specs()))
    found.tombstones = {path.name for path in house.shelf.gone.iterdir()}
    for name in house.shelf.attempts():
        try:
            spec = house.shelf.read_spec(name)
            if _was_begun(house, name):
                indices = range(len(spec.replicas))
                found.forgotten[name] = {index for index in indices if house.shelf.forgotten(name, index)}
                found.here.append(spec)
        except (OSError, ValueError):
            continue  # it is told of as foreign, and left alone
    return found


def _was_begun(house: House, name: str) -> bool:
    directory = house.shelf.directory(name)
    ended = (directory / layout.exit_name(0)).exists()
    return ended or (directory / layout.BEGUN).exists() or not house.shelf.withdraw(name)


def find_foreign(house: House, known: Mapping[str, int]) -> tuple[Foreign, ...]:
    """Directories that cannot be read, and processes in groups of attempts that are not there.

    `known` has the number of replicas of every known attempt.
    """
    told = [Foreign(problem.partition(":")[0], problem) for problem in house.leftovers]
    for name in house.shelf.attempts():
        if name in known:
            continue
        holder = None
        with contextlib.suppress(OSError):  # a stray file, or closed to us
            holder = locks.holder(house.shelf.directory(name))
        who = "" if holder is None else f"; process {holder} holds it"
        told.append(Foreign(f"run/{name}", f"a directory that is not that of a known attempt{who}"))
    told += [Foreign(f"gone/{name}", f"cannot be read: {why}") for name, why in house.shelf.strays()]
    doors = {layout.door_group_name(attempt) for attempt in known}
    groups = doors | {
        layout.group_name(attempt, index) for attempt, count in known.items() for index in range(count)
    }
    told += [
        Foreign(f"group {path.name}", f"{count} processes in a group of no known attempt")
        for path in _groups(house)
        if path.name not in groups and (count := _processes(path))
    ]
    return tuple(told)


def find_discarded(house: House, workload: str) -> tuple[Spec, ...]:
    """The attempts of a workload of which output is kept."""
    return tuple(spec for spec in house.shelf.gone_specs() if spec.workload == workload)


def _groups(house: House) -> list[Path]:
    directories = house.bases.directories
    base = directories.get("unified") or directories.get("memory")
    with contextlib.suppress(OSError):
        return [] if base is None else [path for path in Path(base).iterdir() if path.is_dir()]
    return []


def _processes(group: Path) -> int:
    with contextlib.suppress(OSError):
        return len((group / "cgroup.procs").read_text().split())
    return 0
