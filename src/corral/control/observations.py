"""What an observation makes of the records, and what the engine is to be told then. In one transaction.

An ending is recorded once: with it what the replica held is
free, and the ledger is closed. What the engine still tells of after that it may forget.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from sqlalchemy import select

from corral.control.departures import departed
from corral.control.isolation import Apart
from corral.control.restart_holds import keep, keeps_place, release_due
from corral.core.refusals import Refusal
from corral.core.runs import ReplicaId, RunId
from corral.core.steps import Step
from corral.engines.interface import Ending, Observation, Run, RunPhase, Start
from corral.engines.reports import Message, MessageKind
from corral.engines.tasks import Task
from corral.store.database import Transaction
from corral.usage import ledger
from corral.usage.clock import Mark, Reading
from corral.workloads.documents import DamagedDocumentError
from corral.workloads.machine import (
    End,
    Phase,
    PreemptionCancelled,
    ReplicaEnded,
    ReplicaObserved,
    StartMembers,
    StopMembers,
    StopSent,
    instructions_for,
)
from corral.workloads.reasons import StateCause
from corral.workloads.records import (
    Loaded,
    apply,
    free,
    ids_in_states,
    load,
    note_member,
    note_ready,
)
from corral.workloads.rows import ReplicaRow, WorkloadRow
from corral.workloads.states import LEAVING, PRESENT, WAITING, State
from corral.workloads.tables import replica, workload
from corral.zones.rules import USUAL_GRACE_SECONDS

_ENDS = {
    Ending.SUCCEEDED: End.SUCCEEDED,
    Ending.FAILED: End.FAILED,
    Ending.SUSPENDED: End.LEFT,
    Ending.REFUSED: End.REFUSED,
    Ending.LOST: End.LOST,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Kind(Protocol):
    """What a kind of workload must offer so that its replicas can be started."""

    def tasks(
        self, transaction: Transaction, row: WorkloadRow, replicas: Sequence[ReplicaRow]
    ) -> Mapping[int, Task]:
        """What each replica executes; refuses with a reason if that cannot be known any more."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Runs that the engine was asked to start since it was last seen whole; those of `under_way` just now."""

    runs: Collection[str] = ()
    under_way: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Signal:
    grace_seconds: int
    runs: list[str]


@dataclass(slots=True)
class EngineCommands:
    """What the engine is to be told, by workload."""

    starts: dict[str, list[Start]] = field(default_factory=dict)
    signals: dict[str, Signal] = field(default_factory=dict)
    forgets: dict[str, list[str]] = field(default_factory=dict)
    discards: list[str] = field(default_factory=list)
    departures: list[str] = field(default_factory=list)  # people whose homes go
    foreign: list[str] = field(default_factory=list)
    recorded: int = 0


def record(
    transaction: Transaction,
    zone_id: str,
    observed: Observation,
    kinds: Mapping[str, Kind],
    reading: Reading,
    sent: Sent,
    apart: Apart | None = None,
) -> EngineCommands:
    """Writes down what was seen, and finds out what is to be done. What fails for one workload is `apart`."""
    apart = apart or Apart()
    todo = EngineCommands()
    runs: dict[str, Run] = {}
    for run in observed.runs:
        runs[run.run] = run  # of several changes the last one counts; an ending is always the last
    present = _load(transaction, ids_in_states(transaction, zone_id, PRESENT), apart)
    names = {name: found.workload_id for name in runs if (found := RunId.parse(name)) is not None}
    others = _load(transaction, set(names.values()) - present.keys(), apart)
    for name, run in runs.items():
        owner = names.get(name, name)
        apart.do(transaction, (owner, Step.RECORD), _see, name, run, present, others, reading, todo)
    for one in present:
        apart.do(transaction, (one, Step.RECORD), _follow_up, one, present, runs, sent, reading, observed)
    for one, loaded in present.items():
        step = Step.SIGNAL if loaded.life.state in LEAVING else Step.START
        apart.do(transaction, (one, step), _act, loaded, kinds, reading, todo)
    todo.recorded += release_due(transaction, zone_id, reading)
    todo.discards = _deleted(transaction, zone_id)
    todo.departures = departed(transaction, zone_id)
    return todo


def _load(transaction: Transaction, workload_ids: Collection[str], apart: Apart) -> dict[str, Loaded]:
    if not apart.careful:
        # One whose records cannot be read would make every turn look at all of them one by one.
        return load(transaction, [one for one in workload_ids if (one, Step.RECORD) not in apart.skipped])
    found: dict[str, Loaded] = {}
    for workload_id in workload_ids:
        apart.do(transaction, (workload_id, Step.RECORD), _load_one, workload_id, found)
    return found


def _load_one(transaction: Transaction, workload_id: str, found: dict[str, Loaded]) -> None:
    found |= load(transaction, [workload_id])


def note_checkpoints(transaction: Transaction, messages: Sequence[Message]) -> None:
    """Remembers when work was last safe: what it did before that is not lost when its place is taken."""
    for message in messages:
        run = RunId.parse(message.run)
        if message.kind is MessageKind.CHECKPOINT and run is not None:
            note_member(transaction, run, {"checkpoint_at": _moment(message.at)})


def _see(
    transaction: Transaction,
    name: str,
    run: Run,
    present: dict[str, Loaded],
    others: Mapping[str, Loaded],
    reading: Reading,
    todo: EngineCommands,
) -> None:
    run_id = RunId.parse(name)
    loaded = None if run_id is None else present.get(run_id.workload_id) or others.get(run_id.workload_id)
    if run_id is None or loaded is None:
        todo.foreign.append(name)
        return
    workload_id, attempt, number = run_id
    is_live = workload_id in present and attempt == loaded.life.attempt and number < len(loaded.life.members)
    if not is_live:
        # Recorded already, or (after a restored backup, say) of a time that Corral no longer knows.
        if run.phase is RunPhase.ENDED:
            todo.forgets.setdefault(workload_id, []).append(name)
        else:
            todo.foreign.append(name)
        return
    if run.phase is RunPhase.ENDED:
        present[workload_id] = _end(transaction, loaded, _ending(loaded, number, run), run, reading)
        todo.forgets.setdefault(workload_id, []).append(name)
        todo.recorded += 1
        return
    _note_progress(transaction, loaded, run_id, run)
    phase = Phase.STARTING if run.phase is RunPhase.STARTING else Phase.RUNNING
    present[workload_id] = apply(transaction, loaded, ReplicaObserved(number, phase))


def _note_progress(transaction: Transaction, loaded: Loaded, run_id: RunId, run: Run) -> None:
    """When it started, and since when it has been ready. What begins ready is written at once."""
    ready_at = None if run.ready_since is None else _moment(run.ready_since)
    phase = loaded.life.members[run_id.replica].phase
    if run.started is not None and phase is not Phase.RUNNING:
        note_member(transaction, run_id, {"started_at": _moment(run.started), "ready_at": ready_at})
    elif phase is Phase.RUNNING:
        note_ready(transaction, loaded.row, run_id, ready_at)


def _follow_up(
    transaction: Transaction,
    workload_id: str,
    present: dict[str, Loaded],
    runs: Mapping[str, Run],
    sent: Sent,
    reading: Reading,
    observed: Observation,
) -> None:
    """Replicas of which the engine knows nothing: those it knew are lost, others were never started."""
    loaded, complete = present[workload_id], observed.complete
    for member in loaded.life.members:
        name = str(RunId(loaded.row.id, loaded.life.attempt, member.number))
        if name in runs or member.phase is Phase.ENDED or loaded.life.state not in PRESENT:
            continue
        if member.phase is Phase.GRANTED:
            was_asked = name in sent.under_way or (name in sent.runs and not complete)
            if loaded.life.state in LEAVING and not was_asked:
                loaded = _end(transaction, loaded, ReplicaEnded(member.number, End.LEFT), None, reading)
        elif complete:
            detail = "nothing is left of it on its node"
            event = ReplicaEnded(member.number, End.LOST, detail=detail)
            loaded = _end(transaction, loaded, event, None, reading)
    present[workload_id] = loaded


def _end(
    transaction: Transaction, loaded: Loaded, event: ReplicaEnded, run: Run | None, reading: Reading
) -> Loaded:
    """The ending of one replica: its facts, what it held, the ledger, and what becomes of the workload."""
    number = event.number
    run_id = RunId(loaded.row.id, loaded.life.attempt, number)
    ended_at = transaction.now if run is None or run.ended is None else _moment(run.ended)
    values = {
        "exit_code": event.exit_code,
        "signal": event.signal,
        "detail": event.detail[:500],
        "ended_at": ended_at,
        "ready_at": None,
        "used": None if run is None or run.usage is None else _counters(run),
    }
    if run is not None and run.started is not None:
        values["started_at"] = _moment(run.started)
    note_member(transaction, run_id, values)
    lost_since = _lost_since(transaction, loaded, number, ended_at)
    after = apply(transaction, loaded, event)
    if keeps_place(after, event.end):
        keep(transaction, run_id, after.document.hold_seconds)
        return after
    free(transaction, run_id)
    released = _released(event, run, reading)
    lost_us = None
    if released is not None and lost_since is not None:
        lost_us = released.boottime_us - (ended_at - lost_since) // _MICROSECOND
    ledger.close(transaction, str(run_id), released, lost_since_us=lost_us)
    return after


def _released(event: ReplicaEnded, run: Run | None, reading: Reading) -> Mark | None:
    """When it was gone; None for a death that nobody saw."""
    if run is not None and run.ended_mark is not None:
        return Mark(*run.ended_mark)
    return None if event.end is End.LOST else reading.mark


def _lost_since(transaction: Transaction, loaded: Loaded, number: int, ended_at: datetime) -> datetime | None:
    """From when on the work of a replica was for nothing because its place was taken; None if it was not."""
    because = loaded.life.fate_because
    if because is None or because.why is not StateCause.TAKEN:
        return None
    c = replica.c
    row = transaction.first(
        select(c.started_at, c.checkpoint_at).where(
            c.workload_id == loaded.row.id, c.attempt == loaded.life.attempt, c.number == number
        )
    )
    assert row is not None
    since: datetime | None = row.checkpoint_at or row.started_at
    return None if since is None else min(since, ended_at)


def _ending(loaded: Loaded, number: int, run: Run) -> ReplicaEnded:
    assert run.ending is not None
    memory_mib, time_limit_seconds = _limits(loaded)
    return ReplicaEnded(
        number,
        _ENDS[run.ending],
        exit_code=run.exit_code,
        signal=run.signal,
        out_of_memory=run.out_of_memory,
        timed_out=run.timed_out,
        said_done=run.said_done,
        detail=run.detail,
        explanation=run.explanation,
        memory_mib=memory_mib,
        time_limit_seconds=time_limit_seconds,
    )


def _limits(loaded: Loaded) -> tuple[int, int]:
    """Memory and time that it was given; nothing is known of work whose document is damaged."""
    if isinstance(loaded.read, DamagedDocumentError):
        return 0, 0
    return loaded.document.resources.memory_mib, loaded.document.time_limit_seconds or 0


def _act(
    transaction: Transaction,
    loaded: Loaded,
    kinds: Mapping[str, Kind],
    reading: Reading,
    todo: EngineCommands,
) -> None:
    """What the engine must be told about one workload."""
    workload_id = loaded.row.id
    if _is_kept(transaction, loaded):
        loaded = apply(transaction, loaded, PreemptionCancelled())
    for instruction in instructions_for(loaded.life):
        match instruction:
            case StartMembers():
                if starts := _starts(transaction, loaded, kinds, reading):
                    todo.starts[workload_id] = starts
            case StopMembers():
                loaded = apply(transaction, loaded, StopSent())
                runs = [str(RunId(workload_id, loaded.life.attempt, each)) for each in instruction.numbers]
                todo.signals[workload_id] = Signal(_grace_seconds(loaded), runs)


def _grace_seconds(loaded: Loaded) -> int:
    """Of work whose document is damaged: the usual one, so that it can be stopped."""
    is_damaged = isinstance(loaded.read, DamagedDocumentError)
    return USUAL_GRACE_SECONDS if is_damaged else loaded.document.grace_seconds


def _is_kept(transaction: Transaction, loaded: Loaded) -> bool:
    """Whether its place was taken for a workload that does not wait any more, and it was not told yet."""
    because = loaded.life.fate_because
    if loaded.life.state is not State.SUSPENDING or loaded.life.stop_sent or because is None:
        return False
    taker = because.facts.get("for")
    if because.why is not StateCause.TAKEN or taker is None:
        return False
    return transaction.scalar(select(workload.c.state).where(workload.c.id == taker)) not in WAITING


def _starts(
    transaction: Transaction, loaded: Loaded, kinds: Mapping[str, Kind], reading: Reading
) -> list[Start]:
    row, attempt = loaded.row, loaded.life.attempt
    c = replica.c
    members = select(replica).where(c.workload_id == row.id, c.attempt == attempt).order_by(c.number)
    replicas = [ReplicaRow._make(one) for one in transaction.rows(members)]
    try:
        tasks = kinds[row.kind].tasks(transaction, row, replicas)
    except Refusal as refusal:
        for one in replicas:
            detail = refusal.detail.rstrip(".")
            loaded = _end(
                transaction, loaded, ReplicaEnded(one.number, End.REFUSED, detail=detail), None, reading
            )
        return []
    return [
        Start(
            str(RunId(row.id, attempt, one.number)),
            row.id,
            str(ReplicaId(row.id, one.number)),
            attempt,
            one.node,
            one.uses,
            tasks[one.number],
        )
        for one in replicas
    ]


def _deleted(transaction: Transaction, zone_id: str) -> list[str]:
    """Workloads whose workspaces nobody needs any more, as far as that is not known to be done."""
    rows = transaction.rows(
        select(workload.c.id).where(
            workload.c.zone_id == zone_id,
            workload.c.state == State.DELETED,
            workload.c.discarded_at.is_(None),
        )
    )
    return [workload_id for (workload_id,) in rows]


def _counters(run: Run) -> dict[str, int]:
    assert run.usage is not None
    return {name: value for name, value in asdict(run.usage).items() if value is not None}


def _moment(microseconds: int) -> datetime:
    return _EPOCH + microseconds * _MICROSECOND


_MICROSECOND = timedelta(microseconds=1)
