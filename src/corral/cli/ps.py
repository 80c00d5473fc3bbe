"""`corral ps`: what runs and what waits."""

from itertools import islice
from typing import Annotated

import typer
from corral_sdk import encode
from corral_sdk.models import Workload, WorkloadSummary

from corral.cli.connection import connect
from corral.cli.frame import Json, new_app
from corral.cli.names import find_organisation, find_user
from corral.cli.output import note, print_json, print_table
from corral.cli.work_names import find_workload
from corral.cli.work_words import (
    SIMULATED,
    needs_words,
    ready_words,
    short_ids,
    since_words,
    waiting_words,
    where_words,
)

app = new_app()

_AS_USUAL = ("submitted", "asked_to_resume")
_LIVE = ("queued", "infeasible", "starting", "running", "suspending", "suspended", "stopping")


@app.command()
def ps(
    ended: Annotated[bool, typer.Option("--all", "-a", help="Include work that has ended.")] = False,
    everyone: Annotated[bool, typer.Option("--everyone", help="Everyone whose work you may see.")] = False,
    user: Annotated[str | None, typer.Option(metavar="USER", help="Work of this person.")] = None,
    org: Annotated[
        str | None, typer.Option(metavar="ORG", help="Work of this organisation and below.")
    ] = None,
    parent: Annotated[
        str | None, typer.Option(metavar="WORK", help="The children of this work, ended ones too.")
    ] = None,
    state: Annotated[
        list[str] | None, typer.Option(metavar="STATE", help="queued, infeasible, running, …; repeatable.")
    ] = None,
    summary: Annotated[bool, typer.Option("--summary", help="Count the work in each state.")] = False,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Show at most N, newest first.")] = 100,
    as_json: Json = False,
) -> None:
    """List work, newest first: yours that runs or waits, unless options say otherwise."""
    client = connect()
    others = everyone or user is not None or org is not None or parent is not None
    whose = find_user(client, user).id if user else None if others else client.me.get().id
    there = find_organisation(client, org).id if org else None
    family = find_workload(client, parent) if parent else None
    if summary:
        counted = client.workloads.summary(user_id=whose, organisation_id=there, parent_id=family)
        _print_summary(counted, as_json=as_json)
        return
    states = state or (() if ended or family else _LIVE)
    listed = client.workloads.list(states=states, user_id=whose, organisation_id=there, parent_id=family)
    items = list(islice(listed, limit + 1))
    if as_json:
        print_json(encode(items[:limit]))
        return
    columns = (
        "Id",
        "Name",
        *(("Whose",) if others else ()),
        "State",
        "Ready",
        "Needs",
        "Where",
        "Age",
        "Why",
    )
    ids = short_ids(items[:limit])
    rows = (
        (
            ids[each.id],
            each.name,
            *((each.user.name,) if others else ()),
            each.state,
            ready_words(each),
            needs_words(each.resources, each.replicas),
            where_words(each),
            since_words(each.created_at),
            _why(each),
        )
        for each in items[:limit]
    )
    print_table(
        columns, rows, empty=_empty(ended or bool(state or family)), whole=("Id", "State", "Ready", "Age")
    )
    if any(each.simulated for each in items[:limit]):
        note(SIMULATED)
    if len(items) > limit:
        note(f"There is more: --limit {limit * 10}.")


def _print_summary(found: WorkloadSummary, *, as_json: bool) -> None:
    if as_json:
        print_json(encode(found))
        return
    print_table(("State", "Number"), sorted(found.states.items()), empty=_empty(everything=True))
    if found.waits_since is not None:
        note(f"The oldest queued workload has been waiting for {since_words(found.waits_since)}.")


def _why(work: Workload) -> str:
    """Only what the state alone does not say."""
    parts = []
    if work.state not in ("running", "succeeded") and work.reason.why not in _AS_USUAL:
        parts.append(work.reason.sentence)
    if work.waits is not None:
        parts.append(waiting_words(work.waits))
    return " ".join(parts)


def _empty(everything: bool) -> str:
    if everything:
        return "There is no work. Run something: corral run -- echo hello"
    return "Nothing runs or waits. What has ended: corral ps --all"
