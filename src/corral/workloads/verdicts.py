"""Why work waits, or whether new work would: the planner's answer in words, with names that people know.

What is said of it without asking the planner, in lists, is in `waiting`.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from pydantic import Field

from corral.api.callers import Caller
from corral.api.models import Instant, Output
from corral.core.changes import AskForLess, Change, LowerMinimum, RaiseBounds, UsePool, Wait
from corral.core.explanations import Estimate, Explanation
from corral.core.plans import Action, Entitlement
from corral.core.steps import Step
from corral.scheduling.explaining.wording import advice, details, expectation, never, sentence
from corral.scheduling.live.live_planner import ProbeResult
from corral.scheduling.validate.snapshot import write_value
from corral.store.database import Transaction
from corral.workloads import expectations
from corral.workloads.expectations import Waits, judged
from corral.workloads.models import Position
from corral.workloads.names import Names
from corral.workloads.spec import WorkSpec
from corral.workloads.troubles import sentence_of
from corral.workloads.waiting import advised_by

_TAKES_BY: dict[str, str] = {
    Entitlement.GUARANTEE: ": it takes back its queue's guarantee",
    Entitlement.SURPLUS: ": it takes its queue's fair share of what is left over",
    Action.PREEMPT: ": it has a higher priority",
    Action.CONSOLIDATE: " by moving elsewhere",
}


class Help(Output):
    """One change that would let it run, tried before it is said."""

    kind: str = Field(examples=["ask_for_less"])
    sentence: str = Field(examples=["It would run if it asked for a slice of 8 GiB per replica."])
    facts: dict[str, Any]


class ZoneVerdict(Output):
    """What one zone would make of it."""

    zone_id: str
    zone_name: str = Field(examples=["local"])
    result: Literal["fits", "waits", "never"]
    sentence: str
    nodes: list[str] = Field(description="Where it would start now.")
    reason: dict[str, Any] | None = Field(description="The rule that stopped it, with its numbers.")
    lack: dict[str, Any] | None = Field(None, description="What it asks for, and what there is.")
    takes_from: list[str] = Field(description="Names of work that is suspended for it.")
    starts_at: Instant | None


class Verdict(Output):
    """Fits now on some nodes; waits, and until when; or can never run."""

    result: Literal["fits", "waits", "never"]
    sentence: str = Field(examples=["Fits now on gpu-1."])
    nodes: list[str] = Field(description="Where it would start now.")
    details: list[str]
    reason: dict[str, Any] | None = Field(description="The rule that stopped it, with its numbers.")
    lack: dict[str, Any] | None = Field(
        None, description="Of work that can never run for want of room: what it asks for, and what there is."
    )
    in_queue: Position | None = None
    in_pool: Position | None = None
    starts_at: Instant | None = Field(None, description="When it will probably start.")
    error_seconds: int | None = Field(
        None, description="By how much such estimates were usually wrong; null while too few are known."
    )
    no_estimate: str | None = Field(
        None,
        examples=["unknown_ends"],
        description="Why nobody can say: `unknown_ends`, `too_far_back`, `passed`, `uncertain`.",
    )
    expectation: str | None = Field(None, description="One of these two in words.")
    helps: list[Help]
    takes_from: list[str] = Field(description="Names of work that is suspended for it.")
    takes_by: str | None = Field(
        None,
        examples=["guarantee"],
        description="Why it may: `guarantee`, `surplus` (what its queue reclaims), `preempt`, `consolidate`.",
    )
    zone_id: str | None = Field(None, description="Of new work: where it would go.")
    zone_name: str | None = None
    zone_reason: str | None = Field(
        None,
        description="Why there: `named`, `only`, `fits`, `earliest`, `possible` or `first`.",
        examples=["fits"],
    )
    zones: list[ZoneVerdict] = Field([], description="Of new work: what every zone says that it may go to.")
    at: Instant


class Prober(Protocol):
    """Who can ask the planner; the control loops provide it."""

    async def probe(self, caller: Caller, spec: WorkSpec) -> Verdict: ...

    async def explain(self, caller: Caller, workload_id: str) -> Verdict: ...


def verdict_of(
    transaction: Transaction,
    caller: Caller,
    result: ProbeResult,
    zone_id: str,
    waits: Waits | None = None,
) -> Verdict:
    """`waits` is None for work that is not there yet."""
    names = Names(transaction, caller, *_mentioned(result))
    takes = sorted({names.workload(each) for each in result.takes_from})
    if result.explanation is None or result.placements:
        nodes = sorted({each.node for each in result.placements})
        return Verdict(
            result="fits",
            sentence=f"Fits now on {', '.join(nodes)}." if nodes else "It is being placed now.",
            nodes=nodes,
            details=[],
            reason=None,
            helps=[],
            takes_from=takes,
            takes_by=result.takes_by,
            at=transaction.now,
        )
    why, error = result.explanation, None
    if why.estimate is not None:
        error = expectations.usual_error_seconds(transaction, zone_id)
        first = expectations.first(transaction, waits)
        why = replace(why, estimate=judged(why.estimate, error, first, transaction.now))
    return _waits(result, why, names, takes, error, transaction.now)


def left_out(detail: str, at: datetime) -> Verdict:
    """Of work that cannot be planned now, which its page says too."""
    return Verdict(
        result="waits",
        sentence=sentence_of(Step.PLAN, detail),
        nodes=[],
        details=["It is tried again; other work does not wait for it."],
        reason=None,
        helps=[],
        takes_from=[],
        at=at,
    )


def _waits(
    result: ProbeResult, why: Explanation, names: Names, takes: list[str], error: int | None, at: datetime
) -> Verdict:
    now = int(at.timestamp())
    reason = names.reason(why.reason)
    because, advised = sentence(reason, now), advised_by(reason)
    starts = None if why.estimate is None else why.estimate.starts_at
    ever = result.infeasible is None
    if result.infeasible is not None:
        because = never(reason, result.infeasible.lack)
        text = f"Can never run because {because}.{advised}"
    elif takes:
        text = f"Starts when {', '.join(takes)} has made room{_TAKES_BY.get(result.takes_by or '', '')}."
    else:
        text = f"Waits: {because}.{advised}"
    return Verdict(
        result="waits" if ever else "never",
        sentence=text,
        nodes=[],
        details=list(details(replace(why, reason=reason))),
        reason=_json(reason),
        lack=None
        if result.infeasible is None or result.infeasible.lack is None
        else _json(result.infeasible.lack),
        in_queue=None if why.in_queue is None else Position(number=why.in_queue.number, of=why.in_queue.of),
        in_pool=None if why.in_pool is None else Position(number=why.in_pool.number, of=why.in_pool.of),
        starts_at=None if starts is None else datetime.fromtimestamp(starts, UTC),
        error_seconds=None if starts is None else error,
        no_estimate=None if why.estimate is None or not ever else why.estimate.without,
        expectation=_expectation(why.estimate, now, error) if ever else None,
        helps=[_help(names.change(change), now) for change in why.changes],
        takes_from=takes,
        takes_by=result.takes_by,
        at=at,
    )


def _expectation(estimate: Estimate | None, now: int, error: int | None) -> str | None:
    """Nothing where nobody knows how good it is."""
    if estimate is None or (estimate.starts_at is not None and error is None):
        return None
    return expectation(estimate, now, error)


def _help(change: Change, now: int) -> Help:
    facts = _json(change)
    # Work has one group, whose name is the planner's own.
    shown = replace(change, group="") if isinstance(change, AskForLess | LowerMinimum) else change
    return Help(kind=str(facts.pop("kind")), sentence=f"It would run {advice(shown, now)}.", facts=facts)


def _json(value: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(write_value(value))
    return found


def _mentioned(result: ProbeResult) -> tuple[set[str], set[str], set[str]]:
    workloads, queues, pools = set(result.takes_from), set[str](), set[str]()
    why = result.explanation
    if why is None:
        return workloads, queues, pools
    queues.add(why.queue)
    for name in (why.reason.queue, why.reason.kept_for):
        if name is not None:
            queues.add(name)
            workloads.add(name)
    for change in why.changes:
        if isinstance(change, Wait):
            workloads.add(change.workload)
        if isinstance(change, UsePool | RaiseBounds):
            pools.add(change.pool)
        if isinstance(change, RaiseBounds):
            queues |= {each.queue for each in change.raises}
    return workloads, queues, pools
