"""A flavor can be for some kinds of work only: others are refused, and offered what they may use."""

from typing import Any

from tests.campus import made, refused
from tests.control.ground import Ground

SIZE = {"cpu_milli": 500, "memory_mib": 512}


async def create(ground: Ground, name: str, **more: Any) -> dict[str, Any]:
    new = {"name": name, "organisation_ids": [ground.campus.root], **SIZE, **more}
    flavor: dict[str, Any] = made(await ground.campus.admin.post("/flavors", new))
    return flavor


async def names(ground: Ground, kind: str) -> list[str]:
    query = f"/flavors?organisation={ground.campus.root}&kind={kind}"
    return [one["name"] for one in made(await ground.campus.admin.get(query))["items"]]


async def test_work_of_another_kind_is_refused_with_what_it_may_use(ground: Ground) -> None:
    admin = ground.campus.admin
    for_all = await create(ground, "for-all")
    for_builds = await create(ground, "for-builds", kinds=["runtime"])
    assert (for_all["kinds"], for_builds["kinds"]) == ([], ["runtime"])
    document = {"name": "x", "command": ["true"], "flavor": "for-builds"}
    for path in ("/training", "/training/probe", "/training/preview"):
        problem = refused(await admin.post(path, document), 422, field="body.flavor")
        (error,) = problem["errors"]
        assert error["message"] == "The flavor for-builds is offered for runtime, not for training."
        assert "for-all" in error["remedy"]
        assert "for-builds" not in error["remedy"]
    made(await admin.post("/training", document | {"flavor": "for-all"}))
    assert set(await names(ground, "training")) & {"for-all", "for-builds"} == {"for-all"}
    assert set(await names(ground, "runtime")) >= {"for-all", "for-builds"}


async def test_kinds_are_changed_and_unknown_ones_refused(ground: Ground) -> None:
    admin = ground.campus.admin
    flavor = await create(ground, "small")
    path = f"/flavors/{flavor['id']}"
    problem = refused(await admin.patch(path, {"kinds": ["dream"]}, match="*"), 422, field="body.kinds[0]")
    assert "training" in problem["errors"][0]["remedy"]
    changed = made(await admin.patch(path, {"kinds": ["training", "training"]}, match="*"))
    assert (changed["kinds"], changed["generation"]) == (["training"], 2)
    (entry, *_) = await ground.campus.audit(action="flavor.change")
    assert (entry["before"], entry["after"]) == ({"kinds": []}, {"kinds": ["training"]})
    assert made(await admin.patch(path, {"kinds": []}, match="*"))["kinds"] == []
