"""Memberships and roles: given, limited in time, taken, and never beyond one's own authority."""

from datetime import timedelta
from typing import Any

from tests.campus import ADMINISTRATOR, Campus, made, refused


def in_time(campus: Campus, **amount: float) -> str:
    return (campus.clock() + timedelta(**amount)).isoformat()


def grant_on(user: dict[str, Any], organisation: str, key: str | None = None) -> str:
    return next(
        one["grant_id"]
        for one in user["roles"]
        if one["organisation_id"] == organisation and key in (None, one["role_key"])
    )


async def test_a_role_opens_the_organisation_and_below_and_ends_when_taken(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    await campus.organisation("Group", lab)
    mei = await campus.person("mei", lab)
    client = await campus.sign_in("mei")
    refused(await client.get("/users"), 403, "forbidden")
    given = made(await campus.grant(mei, ADMINISTRATOR, lab))
    assert given["generation"] == 2
    made(await client.get("/users"))
    made(await client.post("/organisations", {"parent_id": lab, "name": "New"}))
    refused(await campus.grant(mei, ADMINISTRATOR, lab), 409, "conflict", "body.role_id")
    grant_id = grant_on(given, lab, ADMINISTRATOR)
    made(await campus.admin.delete(f"/users/{mei}/grants/{grant_id}"))
    refused(await client.get("/users"), 403, "forbidden")
    refused(await campus.admin.delete(f"/users/{mei}/grants/{grant_id}"), 404, "not-found")


async def test_a_role_makes_one_a_member(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    mei = await campus.person("mei")
    given = made(await campus.grant(mei, "user", lab))
    assert {one["id"] for one in given["organisations"]} == {campus.root, lab}


async def test_a_role_with_an_end_gives_nothing_after_it_and_can_be_given_again(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    mei = await campus.person("mei", lab)
    refused(
        await campus.grant(mei, ADMINISTRATOR, lab, expires_at=in_time(campus, minutes=-1)),
        422,
        "invalid",
        "body.expires_at",
    )
    refused(await campus.grant(mei, ADMINISTRATOR, lab, expires_at="2030-01-01T00:00:00"), 422, "invalid")
    made(await campus.grant(mei, ADMINISTRATOR, lab, expires_at=in_time(campus, hours=2)))
    client = await campus.sign_in("mei")
    made(await client.get("/users"))
    campus.clock.advance(hours=2, seconds=1)
    refused(await client.get("/users"), 403, "forbidden")
    after = made(await campus.admin.get(f"/users/{mei}"))
    assert [one["role_key"] for one in after["roles"]] == ["user"]
    with_role = await campus.admin.get("/users", params={"role": campus.presets[ADMINISTRATOR]})
    assert made(with_role)["items"] == []
    made(await campus.grant(mei, ADMINISTRATOR, lab))
    made(await client.get("/users"))


async def test_leaving_takes_the_roles_given_there(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    mei = await campus.person("mei", lab)
    made(await campus.admin.put(f"/users/{mei}/memberships/{campus.root}", None))
    again = made(await campus.admin.put(f"/users/{mei}/memberships/{campus.root}", None))
    assert again["generation"] == 2  # once is enough
    made(await campus.admin.delete(f"/users/{mei}/memberships/{lab}"))
    after = made(await campus.admin.get(f"/users/{mei}"))
    assert [one["name"] for one in after["organisations"]] == ["Corral"]
    assert after["roles"] == []
    refused(await campus.admin.delete(f"/users/{mei}/memberships/{lab}"), 404, "not-found")
    assert made(await (await campus.sign_in("mei")).get("/session"))["permissions"] == []
    actions = [one["action"] for one in await campus.audit(object=mei)]
    assert actions.count("grant.delete") == actions.count("membership.delete") == 1


async def test_nobody_gives_or_takes_what_they_lack(campus: Campus) -> None:
    lab, other = await campus.organisation("Vision Lab"), await campus.organisation("Robotics")
    boss = await campus.person("boss", role="super_administrator")
    made(await campus.admin.put(f"/users/{boss}/memberships/{lab}", None))
    mei = await campus.person("mei", lab)
    lead = await campus.person("lead", lab, ADMINISTRATOR)
    client = await campus.sign_in("lead")

    async def give(user_id: str, role: str, organisation: str) -> Any:
        new = {"role_id": campus.presets[role], "organisation_id": organisation}
        return await client.post(f"/users/{user_id}/grants", new)

    for target in (mei, lead):
        problem = refused(await give(target, "super_administrator", lab), 403, "forbidden")
        assert "settings.manage" in problem["detail"]
    refused(await give(mei, ADMINISTRATOR, campus.root), 404, "not-found")
    refused(await give(mei, ADMINISTRATOR, other), 404, "not-found")
    made(await give(mei, ADMINISTRATOR, lab))
    # A super administrator of the lab alone: seen by the lead, but above them.
    given = made(await campus.grant(mei, "super_administrator", lab))
    grant_id = grant_on(given, lab, "super_administrator")
    refused(await client.delete(f"/users/{mei}/grants/{grant_id}"), 403, "forbidden")
    refused(await client.delete(f"/users/{mei}/memberships/{lab}"), 403, "forbidden")
    on_root = grant_on(made(await campus.admin.get(f"/users/{boss}")), campus.root)
    refused(await client.delete(f"/users/{boss}/grants/{on_root}"), 404, "not-found")


async def test_role_of_a_sibling_cannot_be_given(campus: Campus) -> None:
    lab, other = await campus.organisation("Vision Lab"), await campus.organisation("Robotics")
    role = await campus.role("Reader", ["people.read"], other)
    mei = await campus.person("mei", lab)
    assert "cannot be given" in refused(await campus.grant(mei, role, lab), 403, "forbidden")["detail"]
    await campus.person("lead", lab, ADMINISTRATOR)
    client = await campus.sign_in("lead")
    new = {"role_id": role, "organisation_id": lab}
    refused(await client.post(f"/users/{mei}/grants", new), 404, "not-found")


async def test_the_last_super_administrator_keeps_the_role(campus: Campus) -> None:
    me = made(await campus.admin.get("/me"))
    grant_id = grant_on(me, campus.root)
    answer = await campus.admin.delete(f"/users/{me['id']}/grants/{grant_id}")
    assert "last active super administrator" in refused(answer, 409, "conflict")["detail"]
    refused(await campus.admin.delete(f"/users/{me['id']}/memberships/{campus.root}"), 409, "conflict")
    # One for a time, or one who is disabled, is no other.
    second = await campus.person("second")
    until = in_time(campus, days=1)
    made(await campus.grant(second, "super_administrator", campus.root, expires_at=until))
    await campus.person("gone", role="super_administrator", state="disabled")
    refused(await campus.admin.delete(f"/users/{me['id']}/grants/{grant_id}"), 409, "conflict")
    await campus.person("third", role="super_administrator")
    made(await campus.admin.delete(f"/users/{me['id']}/grants/{grant_id}"))
    refused(await campus.admin.get("/users"), 403, "forbidden")


async def test_seeing_someone_is_not_enough_to_draw_them_into_ones_organisation(campus: Campus) -> None:
    lab, other = await campus.organisation("Vision Lab"), await campus.organisation("Robotics")
    mei = await campus.person("mei", other)
    lead = await campus.person("lead", lab, ADMINISTRATOR)
    watcher = {
        "organisation_id": campus.root,
        "name": "Watcher",
        "description": "",
        "permissions": ["organisations.read", "people.read", "roles.read"],
    }
    role = made(await campus.admin.post("/roles", watcher))
    new = {"role_id": role["id"], "organisation_id": campus.root}
    made(await campus.admin.post(f"/users/{lead}/grants", new))
    client = await campus.sign_in("lead")
    made(await client.get(f"/users/{mei}"))

    problem = refused(await client.put(f"/users/{mei}/memberships/{lab}", None), 403, "forbidden")
    assert "join code for Vision Lab" in problem["remedy"]
    given = {"role_id": campus.presets["user"], "organisation_id": lab}
    refused(await client.post(f"/users/{mei}/grants", given), 403, "forbidden")
    assert [one["name"] for one in made(await campus.admin.get(f"/users/{mei}"))["organisations"]] == [
        "Robotics"
    ]

    made(await campus.admin.put(f"/users/{mei}/memberships/{lab}", None))
    made(await client.post(f"/users/{mei}/grants", given))
