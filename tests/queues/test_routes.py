"""Queues over HTTP: who sees and divides what, and what is pointed out or refused."""

from typing import Any

from corral.api.parts import provide
from corral.core.resources import Amount, Resource
from corral.queues import snapshot
from corral.queues.context import QueueContext
from corral.queues.service import ensure_queue
from corral.queues.use import Use
from corral.zones import journal
from tests.apps import ApiClient
from tests.campus import ADMINISTRATOR, Campus, made, refused
from tests.zones.machines import machine, see


class Hall:
    """A campus whose pool `default` has 8 GPUs."""

    def __init__(self, campus: Campus, zone: str, pool: str) -> None:
        self.campus, self.zone, self.pool = campus, zone, pool

    async def tree(self, client: ApiClient | None = None, **filters: str) -> dict[str, Any]:
        answer = await (client or self.campus.admin).get("/queues", params=filters)
        found: dict[str, Any] = made(answer)
        return found

    async def queue(self, name: str) -> Any:
        (found,) = [one for one in (await self.tree())["items"] if one["name"] == name]
        return found

    def gpus(self, queue: Any, **values: int) -> Any:
        """A change of the GPUs of a queue that was read."""
        quota = {"pool_id": self.pool, "resource": "gpu_milli", **values}
        return {"queue_id": queue["id"], "generation": queue["generation"], "quotas": [quota]}

    async def give(self, *changes: Any, dry_run: bool = False) -> Any:
        body = {"changes": list(changes), "dry_run": dry_run}
        return made(await self.campus.admin.post("/queues/changes", body))


async def hall(campus: Campus) -> Hall:
    zone = await campus.database.write(see, machine())
    (pool,) = made(await campus.admin.get("/pools"))["items"]
    return Hall(campus, zone, pool["id"])


def gpu(queue: Any) -> tuple[int, int, int]:
    (quota,) = [one for one in queue["quotas"] if one["resource"] == "gpu_milli"]
    return quota["guarantee"], quota["limit"], quota["weight"]


async def test_tree_is_listed_parents_first_then_people(campus: Campus) -> None:
    here = await hall(campus)
    science = await campus.organisation("Science")
    await campus.organisation("vision", science)
    await campus.organisation("Arts")
    mei = await campus.person("mei", science)
    await campus.database.write(ensure_queue, science, mei)
    items = (await here.tree())["items"]
    assert [one["name"] for one in items] == ["Corral", "Arts", "Science", "vision", "Mei"]
    by_name = {one["name"]: one for one in items}
    assert by_name["Mei"]["parent_id"] == by_name["vision"]["parent_id"] == by_name["Science"]["id"]
    assert by_name["Mei"]["person"] == {"id": mei, "name": "mei", "display_name": "Mei"}
    assert gpu(by_name["Corral"]) == (-1, -1, 1)
    assert gpu(by_name["Mei"]) == (0, -1, 1)
    assert all(quota["used"] == 0 for one in items for quota in one["quotas"])
    below = await here.tree(organisation=science)
    assert [one["name"] for one in below["items"]] == ["Science", "vision", "Mei"]


async def test_several_changes_are_made_at_once_and_the_scheduler_sees_them(campus: Campus) -> None:
    here = await hall(campus)
    for name in ("Vision", "Robotics"):
        await campus.organisation(name)
    vision, robotics = await here.queue("Vision"), await here.queue("Robotics")
    position = await campus.database.read(journal.latest, here.zone)
    changed = await here.give(
        {**here.gpus(vision, guarantee=2000, limit=6000), "policy": "fixed"},
        {**here.gpus(robotics, guarantee=3000, weight=5), "priority": 7, "reclaim_min_runtime_seconds": 60},
    )
    assert changed["warnings"] == []
    assert [gpu(one) for one in changed["items"]] == [(2000, 6000, 1), (3000, -1, 5)]
    assert [one["generation"] for one in changed["items"]] == [2, 2]
    cores = {one.name: one for one in await campus.database.read(snapshot.queues, here.zone)}
    core = cores[robotics["id"]]
    assert (core.priority, core.reclaim_min_runtime_seconds) == (7, 60)
    assert core.quotas[here.pool][Resource.GPU_MILLI].weight == 5
    told = await campus.database.read(journal.read_after, here.zone, position)
    assert {one.object_id for one in told} == {vision["id"], robotics["id"]}
    entries = await campus.audit(action="queue.change")
    assert {one["object_name"] for one in entries} == {"Vision", "Robotics"}
    again = await here.give(here.gpus(await here.queue("Vision"), guarantee=2000))
    assert again["items"][0]["generation"] == 2, "nothing changed"


async def test_nothing_is_changed_when_one_of_several_is_wrong(campus: Campus) -> None:
    here = await hall(campus)
    for name in ("Vision", "Robotics"):
        await campus.organisation(name)
    good, bad = await here.queue("Vision"), await here.queue("Robotics")
    changes = [here.gpus(good, guarantee=1000), here.gpus(bad, guarantee=3000, limit=2000)]
    problem = refused(
        await campus.admin.post("/queues/changes", {"changes": changes}),
        422,
        "invalid",
        "body.changes.1.quotas.0.guarantee",
    )
    assert problem["detail"] == "A guarantee of 3 GPUs is above the limit of 2 GPUs."
    assert gpu(await here.queue("Vision")) == (0, -1, 1)
    stale = [here.gpus(good, guarantee=1000), {**here.gpus(bad, guarantee=1000), "generation": 9}]
    refused(await campus.admin.post("/queues/changes", {"changes": stale}), 412, "stale")
    assert gpu(await here.queue("Vision")) == (0, -1, 1)


async def test_what_cannot_be_scheduled_is_refused(campus: Campus) -> None:
    here = await hall(campus)
    await campus.organisation("Vision")
    vision = await here.queue("Vision")
    unknown = {"pool_id": "p" + "0" * 22, "resource": "gpu_milli", "guarantee": 1}
    own = {"pool_id": here.pool, "resource": "gpu_milli"}
    for change, field in (
        ({"quotas": [{**own, "guarantee": -1}]}, "body.quotas.0.guarantee"),
        ({"quotas": [{**own, "guarantee": -2}]}, "body.quotas.0.guarantee"),
        ({"quotas": [{**own, "limit": -2}]}, "body.quotas.0.limit"),
        ({"quotas": [{**own, "weight": -1}]}, "body.quotas.0.weight"),
        ({"quotas": [unknown]}, "body.quotas.0.pool_id"),
        ({"quotas": [{**own, "limit": 1}, {**own, "limit": 2}]}, "body.quotas.1"),
        ({"policy": "generous"}, "body.policy"),
        ({"priority": None}, "body.priority"),
        ({"preempt_min_runtime_seconds": -1}, "body.preempt_min_runtime_seconds"),
    ):
        answer = await campus.admin.patch(f"/queues/{vision['id']}", change, match="*")
        refused(answer, 422, "invalid", field)
    refused(await campus.admin.patch(f"/queues/{vision['id']}", {}), 428, "if-match-missing")
    twice = {"changes": [here.gpus(vision, limit=1), here.gpus(vision, limit=2)]}
    refused(await campus.admin.post("/queues/changes", twice), 422, "invalid", "body.changes")
    refused(await campus.admin.get("/queues/q" + "0" * 22), 404, "not-found")


async def test_promising_more_than_there_is_is_pointed_out_with_numbers(campus: Campus) -> None:
    """Corral (8 GPUs) ── Science 6 ── Vision 4, Robotics 3; Arts 3"""
    here = await hall(campus)
    science = await campus.organisation("Science")
    await campus.organisation("Vision", science)
    await campus.organisation("Robotics", science)
    await campus.organisation("Arts")
    wanted = {"Science": 6000, "Vision": 4000, "Robotics": 3000, "Arts": 3000}
    changes = [here.gpus(await here.queue(name), guarantee=amount) for name, amount in wanted.items()]
    would_be = await here.give(*changes, dry_run=True)
    assert (await here.tree())["warnings"] == [], "a dry run changes nothing"
    assert (await here.give(*changes))["warnings"] == would_be["warnings"]
    found = {(one["queue_name"], one["kind"]): one for one in (await here.tree())["warnings"]}
    assert set(found) == {("Corral", "above_capacity"), ("Science", "above_guarantee")}
    top, middle = found["Corral", "above_capacity"], found["Science", "above_guarantee"]
    assert (top["promised"], top["available"], top["resource"]) == (9000, 8000, "gpu_milli")
    assert (middle["promised"], middle["available"]) == (7000, 6000)
    assert middle["detail"] == (
        "The queues below Science are guaranteed 7 GPUs, but it has 6 GPUs in the pool default."
    )
    await here.give(here.gpus(await here.queue("Science"), guarantee=5000, limit=6500))
    kinds = [one["kind"] for one in (await here.tree())["warnings"] if one["queue_name"] == "Science"]
    assert kinds == ["above_guarantee", "above_limit"]


async def test_one_divides_what_one_has_and_does_not_raise_it(campus: Campus) -> None:
    here = await hall(campus)
    science = await campus.organisation("Science")
    vision = await campus.organisation("Vision", science)
    await campus.organisation("Arts")
    await campus.person("lead", science, ADMINISTRATOR)
    mei = await campus.person("mei", vision)
    lead = await campus.sign_in("lead")
    shown = {one["name"]: one for one in (await here.tree(lead))["items"]}
    assert {name: one["may_change"] for name, one in shown.items()} == {"Science": False, "Vision": True}
    own = shown["Science"]
    assert own["parent_id"] is None
    refused(await lead.patch(f"/queues/{own['id']}", {"priority": 9}, match="*"), 403, "forbidden")
    made(await lead.patch(f"/queues/{shown['Vision']['id']}", {"priority": 9}, match="*"))
    person = made(await lead.post("/queues", {"organisation_id": vision, "user_id": mei}))
    again = made(await lead.post("/queues", {"organisation_id": vision, "user_id": mei}))
    assert person["id"] == again["id"]
    changed = made(await lead.post("/queues/changes", {"changes": [here.gpus(person, limit=1000)]}))
    assert gpu(changed["items"][0]) == (0, 1000, 1)
    arts = await here.queue("Arts")
    refused(await lead.get(f"/queues/{arts['id']}"), 404, "not-found")
    refused(await lead.post("/queues/changes", {"changes": [here.gpus(arts, limit=1)]}), 404, "not-found")


async def test_people_see_their_own_queue_and_not_whose_the_others_are(campus: Campus) -> None:
    here = await hall(campus)
    lab = await campus.organisation("Lab")
    for name in ("mei", "ann"):
        await campus.database.write(ensure_queue, lab, await campus.person(name, lab))
    client = await campus.sign_in("mei")
    assert [one["name"] for one in (await here.tree(client))["items"]] == ["Lab", "Mei"]
    refused(await client.post("/queues/changes", {"changes": [{"queue_id": "q" + "0" * 22}]}), 403)


async def test_what_work_holds_and_waits_for_is_added_up_along_the_tree(campus: Campus) -> None:
    here = await hall(campus)
    lab = await campus.organisation("Lab")
    mine = await campus.database.write(ensure_queue, lab, await campus.person("mei", lab))
    use = Use(Amount(2000, 8000, 1024), Amount(1000))
    provide(campus.app, QueueContext(lambda _: {(mine, here.pool): use}))
    for name in ("Mei", "Lab", "Corral"):
        quotas = {one["resource"]: one for one in (await here.queue(name))["quotas"]}
        assert (quotas["gpu_milli"]["used"], quotas["gpu_milli"]["wanted"]) == (2000, 1000)
        assert (quotas["memory_mib"]["used"], quotas["cpu_milli"]["wanted"]) == (1024, 0)


async def test_fair_shares_are_the_schedulers_and_a_change_says_whose_it_moves(campus: Campus) -> None:
    here = await hall(campus)
    places = {}
    for name, person in (("Lab", "mei"), ("Group", "amina")):
        unit = await campus.organisation(name)
        places[name] = await campus.database.write(ensure_queue, unit, await campus.person(person, unit))
    use = {
        (places["Lab"], here.pool): Use(Amount(6000)),
        (places["Group"], here.pool): Use(Amount(2000), Amount(8000)),
    }
    provide(campus.app, QueueContext(lambda _: use))

    async def fair(name: str) -> int:
        quotas = (await here.queue(name))["quotas"]
        return next(int(one["fair_share"]) for one in quotas if one["resource"] == "gpu_milli")

    assert [await fair(name) for name in ("Corral", "Lab", "Group")] == [8000, 4000, 4000]
    given = await here.give(here.gpus(await here.queue("Group"), guarantee=6000), dry_run=True)
    moved = {one["queue_name"]: one for one in given["effects"] if one["resource"] == "gpu_milli"}
    # Guaranteed 6 of 8, it shares the other 2 by weight: 7 for it, 1 for who holds 6.
    assert [moved["Lab"][what] for what in ("used", "fair_before", "fair_after")] == [6000, 4000, 1000]
    assert [moved["Group"][what] for what in ("used", "wanted", "fair_after")] == [2000, 8000, 7000]
    assert await fair("Lab") == 4000
