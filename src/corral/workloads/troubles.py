"""What cannot be done with single workloads now, as their pages show it."""

from collections.abc import Collection, Mapping

from sqlalchemy import delete, insert, select, update

from corral.core.steps import Step
from corral.events.record import Change, publish_all
from corral.identity.tables import organisation
from corral.store.database import Transaction
from corral.workloads.models import TroubleView
from corral.workloads.steps import EVENT
from corral.workloads.tables import trouble, workload

Key = tuple[str, Step]
"""A workload and what cannot be done with it."""

_MOST_AT_ONCE = 500
_SENTENCES = {
    Step.PLAN: "It could not be planned yet: {detail}.",
    Step.EXPLAIN: "Why it waits could not be written down yet: {detail}.",
    Step.START: "It could not be started yet: {detail}.",
    Step.SIGNAL: "It could not be asked to exit yet: {detail}.",
    Step.RECORD: "What happened to it could not be written down yet: {detail}.",
    Step.HEAR: "Something that it reported could not be kept: {detail}.",
    Step.REPORT: "Not all that it reports is kept: {detail}.",
    Step.FORGET: "Its run could not be cleared away yet: {detail}.",
    Step.DISCARD: "Its files could not be removed yet: {detail}.",
    Step.PURGE: "Its records could not be removed yet: {detail}.",
    Step.FOLLOW: "Its run cannot be followed now: {detail}.",
    Step.ADOPT: "Its run could not be found again: {detail}.",
    Step.OUTPUT: "What it says cannot be read now: {detail}.",
    Step.MEASURE: "What it uses cannot be measured now: {detail}.",
}


def view(transaction: Transaction, workload_id: str) -> list[TroubleView]:
    rows = transaction.rows(
        select(trouble).where(trouble.c.workload_id == workload_id).order_by(trouble.c.since, trouble.c.step)
    )
    return [
        TroubleView(
            step=row.step,
            sentence=sentence_of(Step(row.step), row.detail),
            detail=row.detail,
            since=row.since,
        )
        for row in rows
    ]


def sentence_of(step: Step, detail: str) -> str:
    return _SENTENCES[step].format(detail=detail)


def replace_all(
    transaction: Transaction, zone_id: str, troubles: Mapping[Key, str], steps: Collection[Step]
) -> None:
    """From now on a loop of a zone has these troubles with its `steps` and no others.

    What stays keeps its instant.
    """
    chosen = trouble.c.zone_id == zone_id, trouble.c.step.in_(sorted(steps))
    rows = transaction.rows(select(trouble).where(*chosen))
    before = {(row.workload_id, Step(row.step)): row for row in rows}
    over = before.keys() - troubles.keys()
    new = {key: text for key, text in troubles.items() if key not in before or before[key].detail != text}
    workloads = _changes_of(transaction, zone_id, {workload_id for workload_id, _ in {*over, *new}})
    for workload_id, step in (*over, *(key for key in new if key in before)):
        c = trouble.c
        transaction.run(delete(trouble).where(c.workload_id == workload_id, c.step == step))
    added = [
        {
            "workload_id": workload_id,
            "step": step,
            "zone_id": zone_id,
            "detail": detail,
            "since": before[workload_id, step].since if (workload_id, step) in before else transaction.now,
        }
        for (workload_id, step), detail in new.items()
        if workload_id in workloads  # an engine may know more than the database
    ]
    if added:
        transaction.run(insert(trouble), added)
    publish_all(transaction, EVENT, list(workloads.values()))


def note_purge(transaction: Transaction, workload_id: str, detail: str) -> None:
    """Of what chores could not do; they are not part of any zone's loops."""
    c = trouble.c
    changed = transaction.run(
        update(trouble).where(c.workload_id == workload_id, c.step == Step.PURGE).values(detail=detail)
    )
    if not changed:
        zone_id = transaction.scalar(select(workload.c.zone_id).where(workload.c.id == workload_id))
        row = {"workload_id": workload_id, "step": Step.PURGE, "zone_id": zone_id}
        transaction.run(insert(trouble), [row | {"detail": detail, "since": transaction.now}])


def _changes_of(transaction: Transaction, zone_id: str, workload_ids: set[str]) -> dict[str, Change]:
    c = workload.c
    chosen = sorted(workload_ids)
    found: dict[str, Change] = {}
    for start in range(0, len(chosen), _MOST_AT_ONCE):
        rows = transaction.rows(
            select(c.id, c.revision, organisation.c.path, c.user_id)
            .join(organisation, organisation.c.id == c.organisation_id)
            .where(c.zone_id == zone_id, c.id.in_(chosen[start : start + _MOST_AT_ONCE]))
        )
        found |= {row.id: Change(row.id, row.revision, row.path, row.user_id) for row in rows}
    return found
