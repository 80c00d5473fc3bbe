"""From what lies on disk and what a supervisor says to the runs that an engine reports."""

from corral.engines.interface import Ending, Run, RunPhase
from corral.engines.local.records import durable_json
from corral.engines.local.records.spec import Spec
from corral.engines.reports import Counters

LOST_BY_RESTART = "the machine was restarted"
LOST_BY_KILL = "its supervisor was killed"
LOST_BY_REMOVAL = "its directory in run/ was removed"


def starting(spec: Spec, index: int) -> Run:
    replica = spec.replicas[index]
    return Run(replica.run, spec.node, RunPhase.STARTING, spec.intended, notes=spec.notes)


def from_state(spec: Spec, index: int, state: dict[str, object]) -> Run:
    """A live run, as its supervisor tells of it."""
    since, started = state["since"], state["started"]
    assert isinstance(since, int)
    assert started is None or isinstance(started, int)
    phase = RunPhase(str(state["phase"]))
    return Run(
        spec.replicas[index].run,
        spec.node,
        phase,
        since,
        started=started,
        notes=spec.notes,
        ready_since=_ready_since(phase, started, state),
    )


def _ready_since(phase: RunPhase, started: int | None, state: dict[str, object]) -> int | None:
    if phase is not RunPhase.RUNNING:
        return None
    # A supervisor of an older Corral knows no readiness: its work is ready when it runs.
    return started if "ready_since" not in state else _number(state, "ready_since")


def from_record(spec: Spec, index: int, record: dict[str, object], noticed: int) -> Run:
    """An ended run, as its record tells of it. When a lost one ended nobody knows."""
    ended = _number(record, "ended")
    usage = record.get("usage")
    return Run(
        spec.replicas[index].run,
        spec.node,
        RunPhase.ENDED,
        noticed if ended is None else ended,
        Ending(str(record["ending"])),
        durable_json.bounded(str(record["detail"])),
        exit_code=_number(record, "exit_code"),
        signal=_number(record, "signal"),
        out_of_memory=record.get("out_of_memory") is True,
        timed_out=record.get("timed_out") is True,
        said_done=record.get("said_done") is True,
        started=_number(record, "started"),
        ended=ended,
        ended_mark=_mark(record),
        usage=counters_from(usage) if isinstance(usage, dict) else None,
        notes=spec.notes,
        explanation=durable_json.bounded(str(record.get("explanation", ""))),
    )


def refused_record(run: str, because: str, at: int) -> dict[str, object]:
    return {"run": run, "ending": Ending.REFUSED.value, "detail": durable_json.bounded(because), "ended": at}


def lost_record(run: str, because: str, started: int | None, noticed: int) -> dict[str, object]:
    return {
        "run": run,
        "ending": Ending.LOST.value,
        "detail": because,
        "started": started,
        "noticed": noticed,
    }


def counters_from(values: dict[str, int]) -> Counters:
    return Counters(**{key: value for key, value in values.items() if key in Counters.__slots__})


def between(before: Run | None, now: Run) -> list[Run]:
    """What to tell: every phase that was passed, also one that came and went unseen."""
    if before is not None and before.phase is now.phase and before.ready_since == now.ready_since:
        return []
    changes = [now]
    unseen = before is None or before.phase is RunPhase.STARTING
    if unseen and now.phase in (RunPhase.LEAVING, RunPhase.ENDED) and now.started is not None:
        changes.insert(
            0, Run(now.run, now.node, RunPhase.RUNNING, now.started, started=now.started, notes=now.notes)
        )
    return changes


def _mark(record: dict[str, object]) -> tuple[str, int] | None:
    match record.get("ended_mark"):
        case [str(boot), int(microseconds)]:
            return boot, microseconds
    return None


def _number(record: dict[str, object], name: str) -> int | None:
    value = record.get(name)
    return value if isinstance(value, int) else None
