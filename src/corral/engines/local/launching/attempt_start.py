"""Carries a start out: workspace, intent, supervisor. It blocks: call it in a thread."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from corral.engines.contents import ContentMissing
from corral.engines.interface import Start
from corral.engines.local.attempts import run_states
from corral.engines.local.context import EngineContext
from corral.engines.local.files.disk_count import sum_counts
from corral.engines.local.files.quotas import Bounds
from corral.engines.local.files.sealing import Sealed, SealRefused
from corral.engines.local.files.user_ids import TooManyUsers
from corral.engines.local.files.workspaces import BadUpload
from corral.engines.local.launching.forkserver_client import ForkserverClient, StartFailed
from corral.engines.local.launching.intent import Build, Home, make_spec
from corral.engines.local.records import durable_json, layout, locks
from corral.engines.local.records.spec import NO_SANDBOX, Spec
from corral.engines.local.sandbox.bubblewrap import Mode
from corral.engines.local.supervise.disk_watch import read_home_count
from corral.engines.local.supervise.verdict import over_person

_MIB = 2**20
_TIDY_UP = 2  # over so much of its bound a home is not opened again
_SLACK_MIB = 8  # what was written a moment ago takes its place on the disk later


def describe(context: EngineContext, starts: Sequence[Start], *, refused: bool) -> Spec:
    """The intent of an attempt; names must be fit to become directories."""
    first = starts[0]
    for name in (first.workload, *(start.run for start in starts)):
        if not layout.is_name(name):
            raise ValueError(f"{name!r} cannot be the name of a run or workload")
    task = first.task
    if refused or task is None:
        return make_spec(starts, context.host, uid=os.getuid(), workspace=context.settings.data, home=None)
    uid = context.people.uid_of(task.owner) if context.host.mode == Mode.ROOT else os.getuid()
    spec = make_spec(
        starts,
        context.host,
        uid=uid,
        workspace=context.workspaces.workspace(task.workspace),
        home=_home(context, task.owner) if task.home else None,
        runtime=None if task.runtime is None else _runtime(context, task.runtime),
        builds=_build(context, task.workspace) if task.builds else None,
    )
    return replace(
        spec,
        files=context.settings.files,
        person_mib=context.settings.person_mib,
        person_files=context.settings.person_files,
        person_counts=str(context.workspaces.counts(task.owner)),
    )


def _runtime(context: EngineContext, name: str) -> Sealed:
    environment = str(context.workspaces.environment(name))
    if context.host.mode == NO_SANDBOX:  # nothing can be shown at another place
        return Sealed(environment, environment)
    return context.runtimes.find(name)


def _build(context: EngineContext, name: str) -> Build:
    sealed = None if context.host.mode == NO_SANDBOX else context.runtimes.place(name)
    return Build(context.workspaces.environment(name), sealed)


def _home(context: EngineContext, owner: str) -> Home:
    """Work that begins while the home is over its bound may tidy up: it must not let it grow."""
    place, count = context.workspaces.home(owner), context.workspaces.home_count(owner)
    most = context.settings.home_mib
    used_mib = read_home_count(count) or 0
    return Home(place, used_mib + _SLACK_MIB if most and used_mib > most else most, count)


def carry_out(
    context: EngineContext,
    forkserver: ForkserverClient,
    spec: Spec,
    starts: Sequence[Start],
    refusal: str | None,
) -> str | None:
    """Why it was refused, or None if a supervisor has it now. Either is written down."""
    with context.crash_guard.counted(spec.workload) as given_up:
        return _carry_out(context, forkserver, spec, starts, refusal or given_up)


def _carry_out(
    context: EngineContext,
    forkserver: ForkserverClient,
    spec: Spec,
    starts: Sequence[Start],
    refusal: str | None,
) -> str | None:
    problem = refusal or _prepare(context, spec, starts)
    if problem is not None:
        context.attempt_store.intend(
            spec, [_refused(spec, index, problem) for index in range(len(spec.replicas))]
        )
        return problem
    if not context.attempt_store.intend(spec):
        return None  # someone was faster
    directory = context.attempt_store.directory(spec.attempt)
    try:
        forkserver.supervise(directory, [start.task.secrets if start.task else {} for start in starts])
    except StartFailed as error:
        return _record_failure(context, spec, str(error))
    return None


def _prepare(context: EngineContext, spec: Spec, starts: Sequence[Start]) -> str | None:
    task = starts[0].task
    assert task is not None
    try:
        most_mib = max(replica.disk_mib for replica in spec.replicas)
        most_bytes = most_mib * _MIB
        if not task.resume:
            held_now = sum_counts(Path(spec.person_counts))
            if (words := over_person(held_now, spec.person_mib, spec.person_files)) is not None:
                return words
        context.disk_quotas.bound_person(spec.uid, _bounds_of_person(context))
        bounds = Bounds(most_mib, spec.files)
        find_upload = None if task.upload is None else partial(context.contents.find, task.upload)
        context.workspaces.provide(task.workspace, spec.uid, find_upload, bounds)
        if task.home:
            context.workspaces.provide_home(task.owner, spec.uid, _bounds_of_home(context))
            used_mib = read_home_count(context.workspaces.home_count(task.owner)) or 0
            most = context.settings.home_mib
            if most and used_mib > most * _TIDY_UP:
                found = f"its owner's home was last found to hold {used_mib} MiB, its limit is {most} MiB"
                return f"{found}: an administrator has to remove files there or to raise home_mib"
        if task.runtime is not None and not _provide_runtime(context, task.runtime, most_bytes):
            return "its runtime is no longer there: build it again"
        if task.builds and len(starts) > 1:
            return f"a runtime is built by one replica, not by {len(starts)}"
        if task.builds and context.host.tools.uv is None:
            return "uv, which builds runtimes, is missing where Corral runs: corral doctor says how to get it"
    except (BadUpload, TooManyUsers) as error:
        return str(error)
    except ContentMissing as missing:
        return f"its upload cannot be had: {missing}"
    except SealRefused as refused:
        return f"its runtime cannot be used, build it again: {refused}"
    except OSError as error:
        return f"its workspace could not be made: {error.strerror or error}"
    return None


def _bounds_of_home(context: EngineContext) -> Bounds:
    """What a home may hold at most while its owner tidies up: the kernel keeps that, looking the rest."""
    return Bounds(context.settings.home_mib * _TIDY_UP, context.settings.files * _TIDY_UP)


def _bounds_of_person(context: EngineContext) -> Bounds:
    """All workspaces and the home together; if one of them has no bound, neither has the sum."""
    settings, home = context.settings, _bounds_of_home(context)
    return Bounds(
        settings.person_mib + home.mib if settings.person_mib and home.mib else 0,
        settings.person_files + home.files if settings.person_files and home.files else 0,
    )


def _provide_runtime(context: EngineContext, name: str, most_bytes: int) -> bool:
    if context.host.mode == NO_SANDBOX:
        return context.workspaces.has_environment(name)
    return context.runtimes.provide(name, most_bytes)


def _record_failure(context: EngineContext, spec: Spec, problem: str) -> str | None:
    """Under the lock: a supervisor that answered too late has it and goes on."""
    directory = context.attempt_store.directory(spec.attempt)
    lock = locks.take(directory)
    if lock is None:
        return None
    try:
        for index in range(len(spec.replicas)):
            durable_json.write_once(directory, layout.exit_name(index), _refused(spec, index, problem))
    finally:
        os.close(lock)
    return problem


def _refused(spec: Spec, index: int, problem: str) -> dict[str, object]:
    return run_states.refused_record(spec.replicas[index].run, problem, spec.intended)
