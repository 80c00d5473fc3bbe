"""Why work waits, or whether new work would: the planner's answer in words, with names that people know.

Plans speak of ids. Here they become names, as far as the caller may know them: of work that the caller may
not see, only that there is some.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from pydantic import Field
from sqlalchemy import select

from corral.api.callers import Caller
from corral.api.models import Instant, Output
from corral.core.changes import Change, RaiseBounds, UsePool, Wait
from corral.core.explanations import Explanation
from corral.core.plans import Reason
from corral.identity.tables import organisation, user
from corral.queues.tables import queue
from corral.scheduling.explain import advice, details, expectation, sentence
from corral.scheduling.live import Told
from corral.scheduling.snapshot import write_value
from corral.store.database import Transaction
from corral.workloads.finding import find_many
from corral.workloads.spec import WorkSpec
from corral.zones.tables import pool

OTHERS = "other work"


class Position(Output):
    number: int
    of: int


class Help(Output):
    """One change that would let it run, tried before it is said."""

    kind: str = Field(examples=["ask_for_less"])
    sentence: str = Field(examples=["It would run with a slice of 8192 MiB for each replica."])
    facts: dict[str, Any]


class Verdict(Output):
    """Fits now on some nodes; waits, and until when; or can never run."""

    result: Literal["fits", "waits", "never"]
    sentence: str = Field(examples=["Fits now on gpu-1."])
    nodes: list[str] = Field(description="Where it would start now.")
    details: list[str]
    reason: dict[str, Any] | None = Field(description="The rule that stopped it, with its numbers.")
    in_queue: Position | None = None
    in_pool: Position | None = None
    starts_at: Instant | None = Field(None, description="When it will probably start.")
    expectation: str | None = None
    helps: list[Help]
    takes_from: list[str] = Field(description="Names of work that is suspended for it.")
    at: Instant


class Prober(Protocol):
    """Who can ask the planner; the control loops provide it."""

    async def probe(self, caller: Caller, spec: WorkSpec) -> Verdict: ...

    async def explain(self, caller: Caller, workload_id: str) -> Verdict: ...


class Names:
    """Names for ids, as far as a caller may know them."""

    def __init__(self, transaction: Transaction, caller: Caller, told: Told) -> None:
        workloads, queues, pools = _mentioned(told)
        self._workloads = {one: row.name for one, row in find_many(transaction, caller, workloads).items()}
        self._queues: dict[str, str] = {
            row.id: row.person or row.name
            for row in transaction.rows(
                select(queue.c.id, organisation.c.name, user.c.display_name.label("person"))
                .join(organisation, organisation.c.id == queue.c.organisation_id)
                .outerjoin(user, user.c.id == queue.c.user_id)
                .where(queue.c.id.in_(sorted(queues)))
            )
        }
        self._pools: dict[str, str] = {
            row.id: row.name
            for row in transaction.rows(select(pool.c.id, pool.c.name).where(pool.c.id.in_(sorted(pools))))
        }

    def workload(self, identifier: str) -> str:
        known: str | None = self._workloads.get(identifier)
        return known or OTHERS

    def queue(self, identifier: str) -> str:
        known: str | None = self._queues.get(identifier)
        return known or "your new queue"

    def reason(self, reason: Reason) -> Reason:
        kept_for = reason.kept_for
        if kept_for is not None:
            kept_for = self._queues.get(kept_for) or self.workload(kept_for)
        named = None if reason.queue is None else self.queue(reason.queue)
        return replace(reason, queue=named, kept_for=kept_for)

    def change(self, change: Change) -> Change:
        match change:
            case Wait():
                return replace(change, workload=self.workload(change.workload))
            case UsePool():
                return replace(change, pool=self._pools.get(change.pool, change.pool))
            case RaiseBounds():
                raises = tuple(replace(each, queue=self.queue(each.queue)) for each in change.raises)
                return replace(change, pool=self._pools.get(change.pool, change.pool), raises=raises)
            case _:
                return change


def verdict_of(transaction: Transaction, caller: Caller, told: Told) -> Verdict:
    names = Names(transaction, caller, told)
    now = int(transaction.now.timestamp())
    takes = sorted({names.workload(each) for each in told.takes_from})
    if told.explanation is None or told.placements:
        nodes = sorted({each.node for each in told.placements})
        return Verdict(
            result="fits",
            sentence=f"Fits now on {', '.join(nodes)}." if nodes else "It is being placed now.",
            nodes=nodes,
            details=[],
            reason=None,
            helps=[],
            takes_from=takes,
            at=transaction.now,
        )
    return _waits(told, told.explanation, names, takes, now, transaction.now)


def _waits(told: Told, why: Explanation, names: Names, takes: list[str], now: int, at: datetime) -> Verdict:
    reason = names.reason(why.reason)
    because = sentence(reason, now)
    starts = None if why.estimate is None else why.estimate.starts_at
    if not told.ever:
        text = f"Can never run because {because}."
    elif takes:
        text = f"Starts when {', '.join(takes)} has made room: it takes back its share."
    else:
        text = f"Waits: {because}."
    return Verdict(
        result="waits" if told.ever else "never",
        sentence=text,
        nodes=[],
        details=list(details(replace(why, reason=reason))),
        reason=_json(reason),
        in_queue=None if why.in_queue is None else Position(number=why.in_queue.number, of=why.in_queue.of),
        in_pool=None if why.in_pool is None else Position(number=why.in_pool.number, of=why.in_pool.of),
        starts_at=None if starts is None else datetime.fromtimestamp(starts, UTC),
        expectation=None if why.estimate is None or not told.ever else expectation(why.estimate, now),
        helps=[_help(names.change(change), now) for change in why.changes],
        takes_from=takes,
        at=at,
    )


def _help(change: Change, now: int) -> Help:
    facts = _json(change)
    return Help(
        kind=str(facts.pop("kind")), sentence=f"It would run with {advice(change, now)}.", facts=facts
    )


def _json(value: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(write_value(value))
    return found


def _mentioned(told: Told) -> tuple[set[str], set[str], set[str]]:
    workloads, queues, pools = set(told.takes_from), set[str](), set[str]()
    why = told.explanation
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
