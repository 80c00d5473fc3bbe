"""Every search is index ranges read backwards: no table is scanned, nothing is sorted."""

import random
from collections.abc import Iterator
from datetime import timedelta
from itertools import product

import pytest
from sqlalchemy import insert, text

from benchmarks.plans import Plan, plans_of
from corral.api.callers import Caller
from corral.audit.search import Filters, search
from corral.audit.tables import audit_entry, audit_posting
from corral.core.ids import Kind, new_id
from corral.core.scopes import ancestors
from corral.store.database import Database, Transaction
from tests.audit.factories import (
    MORNING,
    Tree,
    create_caller,
    create_id,
    create_path,
    last_id,
)

ENTRIES = 2000
POSTGRESQL_NODES = {"Nested Loop", "Memoize", "Limit", "Merge Append", "Index Only Scan", "Index Scan"}
ACTORS = [create_id(Kind.USER) for _ in range(50)]
ACTIONS = [f"kind{number}.change" for number in range(10)]
ROOT = create_path()
LABS = [create_path(ROOT) for _ in range(8)]
TREE = Tree(ROOT, *LABS)
WORDS = dict.fromkeys(("actor_name", "via", "object_kind", "object_name", "address", "request_id"), "words")
WORDS |= {"object_id": last_id(ROOT), "organisation_id": last_id(ROOT)}


def combinations() -> Iterator[Filters]:
    """Who, what, scope, result, since and until, each given or not, actions also several."""
    for actor, actions, scope, result, since, until in product(
        (None, ACTORS[0]),
        ((), tuple(ACTIONS[:1]), tuple(ACTIONS[:3])),
        (None, last_id(LABS[0])),
        (None, "done", "refused"),
        (None, MORNING),
        (None, MORNING + timedelta(minutes=ENTRIES / 2)),
    ):
        yield Filters(
            actor_id=actor,
            actions=actions,
            organisation_id=scope,
            result=result,  # type: ignore[arg-type]
            since=since,
            until=until,
        )


async def fill(database: Database) -> None:
    """Written past `record`, which is slower."""
    dice = random.Random(7)
    entries, postings = [], []
    for minute in range(ENTRIES):
        path = dice.choice(LABS)
        at = MORNING + timedelta(minutes=minute)
        facts = {
            "actor_id": dice.choice(ACTORS),
            "action": dice.choice(ACTIONS),
            "result": "refused" if dice.random() < 0.02 else "done",
        }
        entry_id = new_id(Kind.AUDIT, at)
        entries.append({**WORDS, **facts, "id": entry_id, "at": at, "organisation_path": path})
        postings += [{**facts, "scope_id": scope, "entry_id": entry_id} for scope in ancestors(path)]

    def write(transaction: Transaction) -> None:
        transaction.run(insert(audit_entry), entries)
        transaction.run(insert(audit_posting), postings)

    await database.write(write)


def explain(transaction: Transaction, caller: Caller, filters: Filters) -> list[Plan]:
    if transaction.is_postgresql:
        # A few thousand rows are read and sorted faster than found; without these it does so only if there is
        # no index in the right order, which is what a million rows would suffer from.
        for way in ("seqscan", "bitmapscan", "hashjoin", "mergejoin"):
            transaction.run(text(f"SET LOCAL enable_{way} = off"))
    return plans_of(transaction, lambda t: search(t, caller, filters, TREE.find_path, limit=51))


def check(database: Database, plan: Plan, filters: Filters) -> None:
    """Every filter is a condition on an index; only the finished page is walked."""
    conditions = ["scope_id", "result", "entry_id"]
    conditions += ["actor_id"] if filters.actor_id else []
    conditions += ["action"] if filters.actions else []
    if database.kind == "sqlite":
        searches = [step for step in plan.steps if "audit_posting" in step]
        assert not [s for s in plan.steps if ("SCAN" in s and s != "SCAN page") or "TEMP B-TREE" in s], plan
        assert all(step.startswith("SEARCH") for step in searches), plan
        assert all(condition in step for condition in conditions for step in searches), plan
    else:
        kinds = {node["Node Type"] for node in plan.nodes}
        assert kinds <= POSTGRESQL_NODES, plan
        searches = [n["Index Cond"] for n in plan.nodes if n.get("Relation Name") == "audit_posting"]
        assert not [node for node in plan.nodes if "Filter" in node], plan
        assert all(condition in step for condition in conditions for step in searches), plan
    assert searches, plan


@pytest.mark.parametrize("several_scopes", [False, True])
async def test_every_combination_of_filters_is_index_ranges_only(
    database: Database, several_scopes: bool
) -> None:
    await fill(database)
    caller = create_caller(*LABS[:3]) if several_scopes else create_caller(ROOT)
    checked = 0
    for filters in combinations():
        plans = await database.read(explain, caller, filters)
        # Three scopes, three actions, two results are 18 ranges: one statement takes 16.
        assert len(plans) in {1, 2}
        for plan in plans:
            check(database, plan, filters)
        checked += 1
    assert checked == 2 * 3 * 2 * 3 * 2 * 2


async def test_history_of_an_object_is_one_index_range(database: Database) -> None:
    await fill(database)
    wanted = Filters(object_id=last_id(LABS[0]), actor_id=ACTORS[1], since=MORNING)
    (plan,) = await database.read(explain, create_caller(ROOT), wanted)
    (used,) = [step for step in plan.steps if "ix_audit_entry_object" in step]
    assert "object_id" in used
    assert not [step for step in plan.steps if "SCAN" in step or "TEMP B-TREE" in step or "Sort" in step], (
        plan
    )
