"""Roles: presets stay, custom ones stay within their maker's authority."""

from tests.campus import ADMINISTRATOR, Campus, made, refused


async def test_presets_are_there_for_all_to_see_and_for_none_to_change(campus: Campus) -> None:
    items = made(await campus.admin.get("/roles"))["items"]
    assert [one["key"] for one in items] == ["super_administrator", ADMINISTRATOR, "user"]
    permissions = [one["permission"] for one in made(await campus.admin.get("/permissions"))["items"]]
    assert items[0]["permissions"] == sorted(permissions)
    assert items[0]["people_count"] == 1
    for preset in campus.presets.values():
        change = await campus.admin.patch(f"/roles/{preset}", {"name": "Mine"}, match="*")
        assert "preset" in refused(change, 409, "conflict")["detail"]
        refused(await campus.admin.delete(f"/roles/{preset}", match="*"), 409, "conflict")


async def test_custom_role_from_making_to_deleting(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    new = {"organisation_id": lab, "name": "Tutor", "description": "Helps", "permissions": ["people.read"]}
    role = made(await campus.admin.post("/roles", new))
    assert (role["key"], role["organisation_name"], role["people_count"]) == (None, "Vision Lab", 0)
    double = await campus.admin.post("/roles", {**new, "name": "tutor "})
    refused(double, 409, "conflict", "body.name")
    await campus.person("mei", lab, role["id"])
    client = await campus.sign_in("mei")
    made(await client.get("/users"))
    path = f"/roles/{role['id']}"
    assert (await campus.admin.get(path)).headers["etag"] == '"1"'
    refused(await campus.admin.patch(path, {"name": "Coach"}, match='"2"'), 412, "stale")
    changed = made(await campus.admin.patch(path, {"permissions": ["organisations.read"]}, match='"1"'))
    assert (changed["name"], changed["permissions"]) == ("Tutor", ["organisations.read"])
    assert (changed["people_count"], changed["generation"]) == (1, 2)
    refused(await client.get("/users"), 403, "forbidden")  # at once, for everyone who has it
    assert made(await campus.admin.patch(path, {}, match="*"))["generation"] == 2
    for field in ("name", "description", "permissions"):
        refused(await campus.admin.patch(path, {field: None}, match="*"), 422, "invalid", f"body.{field}")
    for bad in ([], ["people.everything"], "people.read"):
        answer = await campus.admin.patch(path, {"permissions": bad}, match="*")
        refused(answer, 422, "invalid")


async def test_a_role_in_use_cannot_be_deleted(campus: Campus) -> None:
    role = await campus.role("Tutor", ["people.read"])
    mei = await campus.person("mei", role=role)
    refused(await campus.admin.delete(f"/roles/{role}", match="*"), 409, "conflict")
    made(await campus.admin.delete(f"/users/{mei}/memberships/{campus.root}"))
    offer = {"organisation_id": campus.root, "role_id": role}
    invitation = made(await campus.admin.post("/invitations", offer))["invitation"]
    assert "invitations" in refused(await campus.admin.delete(f"/roles/{role}", match="*"), 409)["detail"]
    made(await campus.admin.delete(f"/invitations/{invitation['id']}"))
    code = made(await campus.admin.post("/join-codes", {**offer, "seats": 1}))
    assert "join codes" in refused(await campus.admin.delete(f"/roles/{role}", match="*"), 409)["detail"]
    made(await campus.admin.delete(f"/join-codes/{code['id']}"))
    made(await campus.admin.delete(f"/roles/{role}", match='"1"'))
    refused(await campus.admin.get(f"/roles/{role}"), 404, "not-found")


async def test_nobody_makes_widens_or_breaks_a_role_beyond_their_authority(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    await campus.person("lead", lab, ADMINISTRATOR)
    client = await campus.sign_in("lead")
    new = {"organisation_id": lab, "name": "Power", "permissions": ["settings.manage"]}
    assert "settings.manage" in refused(await client.post("/roles", new), 403, "forbidden")["detail"]
    refused(await client.post("/roles", {**new, "organisation_id": campus.root}), 404, "not-found")
    own = made(await client.post("/roles", {**new, "permissions": ["people.read"]}))["id"]
    wider = {"permissions": ["people.read", "system.read"]}
    refused(await client.patch(f"/roles/{own}", wider, match="*"), 403, "forbidden")
    above = await campus.role("Operator", ["system.read"], lab)
    refused(await client.patch(f"/roles/{above}", {"name": "Mine"}, match="*"), 403, "forbidden")
    refused(await client.patch(f"/roles/{above}", {"permissions": ["people.read"]}, match="*"), 403)
    refused(await client.delete(f"/roles/{above}", match="*"), 403, "forbidden")
    of_root = await campus.role("Reader", ["people.read"])
    refused(await client.patch(f"/roles/{of_root}", {"name": "Mine"}, match="*"), 404, "not-found")


async def test_roles_of_siblings_are_not_seen(campus: Campus) -> None:
    lab, other = await campus.organisation("Vision Lab"), await campus.organisation("Robotics")
    group = await campus.organisation("Group", lab)
    role = await campus.role("Of the other", ["people.read"], other)
    await campus.role("Of the group", ["people.read"], group)
    await campus.role("Of the root", ["people.read"])
    await campus.person("lead", lab, ADMINISTRATOR)
    client = await campus.sign_in("lead")
    names = [one["name"] for one in made(await client.get("/roles"))["items"] if one["key"] is None]
    assert names == ["Of the group", "Of the root"]
    refused(await client.get(f"/roles/{role}"), 404, "not-found")
