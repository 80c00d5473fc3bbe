"""Carries a start out: workspace, intent, supervisor. It blocks: call it in a thread."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from corral.engines.interface import Start
from corral.engines.local import layout, locks, records, runs
from corral.engines.local.counting import sum_counts
from corral.engines.local.disk import read_home_count
from corral.engines.local.endings import over_person
from corral.engines.local.house import House
from corral.engines.local.nurseries import Nursery, StartFailed
from corral.engines.local.people import TooManyPeople
from corral.engines.local.quotas import Bounds
from corral.engines.local.sandbox import Mode
from corral.engines.local.sealing import Sealed, SealRefused
from corral.engines.local.spec import NO_SANDBOX, Spec
from corral.engines.local.starting import Build, Home, make_spec
from corral.engines.local.workspaces import BadUpload

_MIB = 2**20
_TIDY_UP = 2  # over so much of its bound a home is not opened again
_SLACK_MIB = 8  # what was written a moment ago takes its place on the disk later


def describe(house: House, starts: Sequence[Start], *, refused: bool) -> Spec:
    """The intent of an attempt; names must be fit to become directories."""
    first = starts[0]
    for name in (first.workload, *(start.run for start in starts)):
        if not layout.is_name(name):
            raise ValueError(f"{name!r} cannot be the name of a run or workload")
    task = first.task
    if refused or task is None:
        return make_spec(starts, house.ground, uid=os.getuid(), workspace=house.settings.data, home=None)
    uid = house.people.uid_of(task.owner) if house.ground.mode == Mode.ROOT else os.getuid()
    spec = make_spec(
        starts,
        house.ground,
        uid=uid,
        workspace=house.workspaces.workspace(task.workspace),
        home=_home(house, task.owner) if task.home else None,
        runtime=None if task.runtime is None else _runtime(house, task.runtime),
        builds=_build(house, task.workspace) if task.builds else None,
    )
    return replace(
        spec,
        files=house.settings.files,
        person_mib=house.settings.person_mib,
        person_files=house.settings.person_files,
        person_counts=str(house.workspaces.counts(task.owner)),
    )


def _runtime(house: House, name: str) -> Sealed:
    environment = str(house.workspaces.environment(name))
    if house.ground.mode == NO_SANDBOX:  # nothing can be shown at another place
        return Sealed(environment, environment)
    return house.runtimes.find(name)


def _build(house: House, name: str) -> Build:
    sealed = None if house.ground.mode == NO_SANDBOX else house.runtimes.place(name)
    return Build(house.workspaces.environment(name), sealed)


def _home(house: House, owner: str) -> Home:
    """Work that begins while the home is over its bound may tidy up: it must not let it grow."""
    place, count = house.workspaces.home(owner), house.workspaces.home_count(owner)
    most = house.settings.home_mib
    held = read_home_count(count) or 0
    return Home(place, held + _SLACK_MIB if most and held > most else most, count)


def carry_out(
    house: House, nursery: Nursery, spec: Spec, starts: Sequence[Start], refusal: str | None
) -> str | None:
    """Why it was refused, or None if a supervisor has it now. Either is written down."""
    with house.beginnings.counted(spec.workload) as given_up:
        return _carry_out(house, nursery, spec, starts, refusal or given_up)


def _carry_out(
    house: House, nursery: Nursery, spec: Spec, starts: Sequence[Start], refusal: str | None
) -> str | None:
    problem = refusal or _prepare(house, spec, starts)
    if problem is not None:
        house.shelf.intend(spec, [_refused(spec, index, problem) for index in range(len(spec.replicas))])
        return problem
    if not house.shelf.intend(spec):
        return None  # someone was faster
    directory = house.shelf.directory(spec.attempt)
    try:
        nursery.supervise(directory, [start.task.secrets if start.task else {} for start in starts])
    except StartFailed as error:
        return _record_failure(house, spec, str(error))
    return None


def _prepare(house: House, spec: Spec, starts: Sequence[Start]) -> str | None:
    task = starts[0].task
    assert task is not None
    try:
        most_mib = max(replica.disk_mib for replica in spec.replicas)
        most_bytes = most_mib * _MIB
        if not task.resume:
            held_now = sum_counts(Path(spec.person_counts))
            if (words := over_person(held_now, spec.person_mib, spec.person_files)) is not None:
                return words
        house.fences.bound_person(spec.uid, _bounds_of_person(house))
        bounds = Bounds(most_mib, spec.files)
        house.workspaces.provide(task.workspace, spec.uid, task.upload, bounds)
        if task.home:
            house.workspaces.provide_home(task.owner, spec.uid, _bounds_of_home(house))
            held = read_home_count(house.workspaces.home_count(task.owner)) or 0
            most = house.settings.home_mib
            if most and held > most * _TIDY_UP:
                found = f"its owner's home was last found to hold {held} MiB, its limit is {most} MiB"
                return f"{found}: an administrator has to remove files there or to raise home_mib"
        if task.runtime is not None and not _provide_runtime(house, task.runtime, most_bytes):
            return "its runtime is no longer there: build it again"
        if task.builds and len(starts) > 1:
            return f"a runtime is built by one replica, not by {len(starts)}"
        if task.builds and house.ground.tools.uv is None:
            return "uv, which builds runtimes, is missing where Corral runs: corral doctor says how to get it"
    except (BadUpload, TooManyPeople) as error:
        return str(error)
    except SealRefused as refused:
        return f"its runtime cannot be used, build it again: {refused}"
    except OSError as error:
        return f"its workspace could not be made: {error.strerror or error}"
    return None


def _bounds_of_home(house: House) -> Bounds:
    """What a home may hold at most while its owner tidies up: the kernel keeps that, looking the rest."""
    return Bounds(house.settings.home_mib * _TIDY_UP, house.settings.files * _TIDY_UP)


def _bounds_of_person(house: House) -> Bounds:
    """All workspaces and the home together; if one of them has no bound, neither has the sum."""
    settings, home = house.settings, _bounds_of_home(house)
    return Bounds(
        settings.person_mib + home.mib if settings.person_mib and home.mib else 0,
        settings.person_files + home.files if settings.person_files and home.files else 0,
    )


def _provide_runtime(house: House, name: str, most_bytes: int) -> bool:
    if house.ground.mode == NO_SANDBOX:
        return house.workspaces.has_environment(name)
    return house.runtimes.provide(name, most_bytes)


def _record_failure(house: House, spec: Spec, problem: str) -> str | None:
    """Under the lock: a supervisor that answered too late has it and goes on."""
    directory = house.shelf.directory(spec.attempt)
    lock = locks.take(directory)
    if lock is None:
        return None
    try:
        for index in range(len(spec.replicas)):
            records.write_once(directory, layout.exit_name(index), _refused(spec, index, problem))
    finally:
        os.close(lock)
    return problem


def _refused(spec: Spec, index: int, problem: str) -> dict[str, object]:
    return runs.refused_record(spec.replicas[index].run, problem, spec.intended)
