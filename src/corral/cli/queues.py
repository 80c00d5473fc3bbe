"""`corral queue`: who is entitled to what."""

from typing import Annotated, Any

import typer
from corral_sdk import encode
from corral_sdk.models import QueueEffect, QueuePool, QueueQuota, Queues

from corral.cli.connection import connect
from corral.cli.frame import Json, new_app
from corral.cli.names import find_organisation, one_of
from corral.cli.output import print_facts, print_json, print_table, say
from corral.cli.quantities import shown
from corral.cli.queue_changes import RESOURCES, find_queue, read_changes
from corral.cli.refusals import CommandError
from corral.core.durations import duration_words

app = new_app(help="Show and change guarantees, limits, weights and policies of organisations and people.")

_UNITS = {"gpu_milli": "GPUs", "cpu_milli": "CPUs", "memory_mib": "memory"}
_Pool = Annotated[str | None, typer.Option(metavar="POOL", help="Name or id of the pool. [the only one]")]
_Queue = Annotated[
    str, typer.Argument(metavar="QUEUE", help="An organisation, ORG@USER for a person, or an id.")
]


@app.command("list")
def list_queues(
    org: Annotated[str | None, typer.Option(metavar="ORG", help="Only this organisation and below.")] = None,
    pool: Annotated[str | None, typer.Option(metavar="POOL", help="Only this pool.")] = None,
    resource: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="gpu, cpu or memory. [gpu if there are any]"),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the queues as a tree, for each pool."""
    client = connect()
    tree = client.queues.read(organisation=find_organisation(client, org).id if org else None)
    if as_json:
        print_json(encode(tree))
        return
    pools = [choose_pool(tree, pool)] if pool else list(tree.pools)
    for place in pools:
        _print_pool(tree, place, _resource(resource, place))
    _print_warnings(tree.warnings)


@app.command()
def show(queue: _Queue, as_json: Json = False) -> None:
    """Show one queue with its quotas in every pool."""
    client = connect()
    tree = client.queues.read()
    found = find_queue(client, tree, queue)
    if as_json:
        print_json(encode(found))
        return
    names = {each.id: each.name for each in tree.items}
    pools = {each.id: each.name for each in tree.pools}
    print_facts(
        {
            "Queue": found.name,
            "Id": found.id,
            "Organisation": found.organisation_name,
            "Below": names.get(found.parent_id or ""),
            "Policy": found.policy,
            "Priority": str(found.priority),
            "Runs at least, before reclaim": _seconds(found.reclaim_min_runtime_seconds),
            "Runs at least, before preemption": _seconds(found.preempt_min_runtime_seconds),
            "Numbers instead of flavors": {None: "as above", True: "yes", False: "no"}[found.custom_numbers],
        }
    )
    say("")
    rows = ((pools[one.pool_id], _UNITS[one.resource], *_numbers(one)) for one in found.quotas)
    print_table(("Pool", "What", *_columns([found])), rows, empty="There is no pool.")
    _print_warnings(tuple(one for one in tree.warnings if one.queue_id == found.id))


@app.command("edit")
def edit_queues(
    changes: Annotated[
        list[str],
        typer.Argument(
            metavar="QUEUE KEY=VALUE…",
            help="A queue and its changes, then the next queue; all or nothing. Keys: gpu.guarantee,"
            " gpu.limit, gpu.weight (also cpu., memory.), policy, priority, reclaim-min-runtime,"
            " preempt-min-runtime (such as 10min), custom-numbers. A limit can be none.",
        ),
    ],
    pool: _Pool = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the effect; change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Change quotas and policies of queues.

    corral queue edit "Vision Lab" gpu.guarantee=2 gpu.limit=4 Robotics gpu.guarantee=3
    """
    client = connect()
    tree = client.queues.read()
    wanted = read_changes(client, tree, changes, lambda: choose_pool(tree, pool).id)
    done = client.queues.change(wanted, dry_run=dry_run)
    if as_json:
        print_json(encode(done))
        return
    names = ", ".join(each.name for each in done.items)
    say(f"Dry run: this would change {names}." if dry_run else f"Changed {names}.")
    _print_effects(done.effects, "gpu_milli")
    _print_warnings(done.warnings)


def choose_pool(tree: Queues, text: str | None) -> QueuePool:
    if text is not None:
        return one_of(tree.pools, "pool", text, lambda each: (each.id, each.name))
    if len(tree.pools) != 1:
        names = ", ".join(each.name for each in tree.pools)
        raise CommandError("There are several pools.", f"They are: {names}.", "Choose one with --pool.")
    return tree.pools[0]


def _print_pool(tree: Queues, pool: QueuePool, resource: str) -> None:
    size = shown(getattr(pool.capacity, resource), resource)
    simulated = ", simulated" if pool.simulated and resource == "gpu_milli" else ""
    say(f"Pool {pool.name} ({pool.zone_name}): {_UNITS[resource]} {size}{simulated}")
    depths: dict[str, int] = {}
    rows = []
    for each in tree.items:
        depths[each.id] = depths.get(each.parent_id or "", -1) + 1
        quota = next(one for one in each.quotas if (one.pool_id, one.resource) == (pool.id, resource))
        name = "  " * depths[each.id] + each.name
        rows.append((name, each.policy, each.priority, *_numbers(quota)))
    print_table(("Queue", "Policy", "Priority", *_columns(tree.items)), rows, empty="You can see no queue.")
    say("")


def _columns(queues: Any) -> tuple[str, ...]:
    quotas = [quota for each in queues for quota in each.quotas]
    measured = any(quota.used is not None for quota in quotas)
    waits = any(quota.wanted is not None for quota in quotas)
    shared = any(quota.fair_share is not None for quota in quotas)
    known = {"Used": measured, "Wanted": waits, "Fair share": shared}
    return ("Guarantee", "Limit", "Weight", *(name for name, is_known in known.items() if is_known))


def _numbers(quota: QueueQuota) -> tuple[object, ...]:
    guarantee = "all" if quota.guarantee == -1 else shown(quota.guarantee, quota.resource)
    told = (quota.used, quota.wanted, quota.fair_share)
    use = [shown(one, quota.resource) for one in told if one is not None]
    return (guarantee, shown(quota.limit, quota.resource), quota.weight, *use)


def _resource(text: str | None, pool: QueuePool) -> str:
    if text is None:
        return "gpu_milli" if pool.capacity.gpu_milli else "cpu_milli"
    if text not in RESOURCES:
        raise CommandError(f"--resource {text!r} is unknown.", remedy="Use gpu, cpu or memory.")
    return RESOURCES[text]


def _print_effects(effects: tuple[QueueEffect, ...], resource: str) -> None:
    rows = [
        (one.queue_name, *(shown(n, resource) for n in (one.used, one.fair_before, one.fair_after)))
        for one in effects
        if one.resource == resource
    ]
    if rows:
        print_table(("Queue", f"{_UNITS[resource]} used", "Fair share", "Then"), rows, empty="")


def _print_warnings(warnings: Any) -> None:
    for one in warnings:
        say(f"Over-committed: {one.detail}")


def _seconds(number: int | None) -> str:
    return "as above" if number is None else duration_words(number)
