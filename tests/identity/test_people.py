"""People: create, change, disable; whose account one may steer."""

from corral.core.permissions import Permission
from tests.campus import ADMINISTRATOR, PASSWORD, Campus, made, refused


def new_person(campus: Campus, **fields: object) -> dict[str, object]:
    return {
        "name": "mei",
        "display_name": "Mei-Ling Chen",
        "organisation_id": campus.root,
        "role_id": campus.presets["user"],
        **fields,
    }


async def test_a_created_person_chooses_a_password_by_link(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    new = new_person(campus, organisation_id=lab, mail="mei@example.org", priority=3)
    created = made(await campus.admin.post("/users", new))
    user = created["user"]
    assert (user["name"], user["display_name"], user["mail"]) == ("mei", "Mei-Ling Chen", "mei@example.org")
    assert (user["state"], user["priority"], user["generation"]) == ("active", 3, 1)
    assert user["organisations"] == [{"id": lab, "name": "Vision Lab"}]
    assert [(one["role_key"], one["organisation_id"]) for one in user["roles"]] == [("user", lab)]
    client = await campus.use_link(created["login_link"]["secret"])
    refused(await client.get("/organisations"), 403, "password-change-required")
    made(await client.post("/me/password", {"new_password": PASSWORD}))
    await campus.sign_in("mei")


async def test_names_of_people_are_plain_and_their_own(campus: Campus) -> None:
    made(await campus.admin.post("/users", new_person(campus)))
    refused(await campus.admin.post("/users", new_person(campus)), 409, "conflict", "body.name")
    for bad in ("Mei", "m", "1mei", "mei.", "me--i", "root", "me", "x" * 33, "mé", "mei\n", "a b"):
        refused(await campus.admin.post("/users", new_person(campus, name=bad)), 422, "invalid", "body.name")
    for bad in ("mei", "a@", "@b.org", "a@b@c.org", "a b@c.org", "a@-b.org", "a\x00@b.org", "a,b@c.org"):
        answer = await campus.admin.post("/users", new_person(campus, name="ann", mail=bad))
        refused(answer, 422, "invalid", "body.mail")
    for bad_priority in (0, 6, "high", None, 2.5):
        answer = await campus.admin.post("/users", new_person(campus, name="ann", priority=bad_priority))
        refused(answer, 422, "invalid", "body.priority")


async def test_creating_needs_a_place_and_a_role_that_are_there(campus: Campus) -> None:
    missing = "0" * 22
    refused(await campus.admin.post("/users", new_person(campus, organisation_id=f"o{missing}")), 404)
    refused(await campus.admin.post("/users", new_person(campus, role_id=f"r{missing}")), 404)
    refused(await campus.admin.post("/users", new_person(campus, role_id="nonsense")), 422, "invalid")


async def test_creating_without_being_able_to_see_people_says_what_is_missing(campus: Campus) -> None:
    creator = await campus.role("Creator", ["people.manage", "organisations.read"])
    await campus.person("creator", role=creator)
    client = await campus.sign_in("creator")
    problem = refused(await client.post("/users", new_person(campus)), 403, "forbidden")
    assert "people.read" in problem["detail"]
    items = made(await campus.admin.get("/users", params={"search": "mei"}))["items"]
    assert items == []


async def test_a_change_touches_what_is_named_and_nothing_else(campus: Campus) -> None:
    mei = await campus.person("mei", mail="mei@example.org")
    path = f"/users/{mei}"
    changed = made(await campus.admin.patch(path, {"priority": 5}, match='"1"'))
    assert (changed["priority"], changed["mail"], changed["generation"]) == (5, "mei@example.org", 2)
    assert made(await campus.admin.patch(path, {"mail": None}, match="*"))["mail"] is None
    assert made(await campus.admin.patch(path, {}, match="*"))["generation"] == 3
    for field in ("display_name", "priority", "state"):
        refused(await campus.admin.patch(path, {field: None}, match="*"), 422, "invalid", f"body.{field}")
    refused(await campus.admin.patch(path, {"state": "pending"}, match="*"), 422, "invalid", "body.state")
    refused(await campus.admin.patch(path, {"name": "ann"}, match="*"), 422, "invalid", "body.name")
    refused(await campus.admin.patch(path, {"priority": 4}), 428)
    refused(await campus.admin.patch(path, {"priority": 4}, match='"1"'), 412, "stale")
    told = [(one["before"], one["after"]) for one in await campus.audit(action="user.change", object=mei)]
    assert told == [({"mail": "mei@example.org"}, {"mail": None}), ({"priority": 1}, {"priority": 5})]


async def test_profile_is_changed_by_its_owner(campus: Campus) -> None:
    await campus.person("mei")
    client = await campus.sign_in("mei")
    wanted = {"display_name": "美玲", "mail": "mei@example.org", "language": "zh-TW", "theme": "dark"}
    changed = await client.patch("/me", wanted, match='"1"')
    assert wanted.items() <= made(changed).items()
    assert changed.headers["etag"] == '"2"'
    reset = {"language": None, "theme": None, "mail": None}
    assert reset.items() <= made(await client.patch("/me", reset, match="*")).items()
    refused(await client.patch("/me", {"display_name": None}, match="*"), 422, "invalid", "body.display_name")
    refused(await client.patch("/me", {"priority": 5}, match="*"), 422, "invalid", "body.priority")
    refused(await client.patch("/me", {"language": "fr"}, match="*"), 422, "invalid", "body.language")


async def test_disabling_ends_sessions_and_tokens_until_enabled_again(campus: Campus) -> None:
    mei = await campus.person("mei")
    client = await campus.sign_in("mei")
    program = await campus.token(client)
    made(await program.get("/me"))
    made(await campus.admin.patch(f"/users/{mei}", {"state": "disabled"}, match="*"))
    refused(await client.get("/me"), 401, "unauthenticated")
    refused(await program.get("/me"), 401, "unauthenticated")
    refused(await campus.visitor().sign_in("mei", PASSWORD), 403, "forbidden")
    made(await campus.admin.patch(f"/users/{mei}", {"state": "active"}, match="*"))
    refused(await client.get("/me"), 401, "unauthenticated")  # its session is gone for good
    await campus.sign_in("mei")
    made(await program.get("/me"))


async def test_nobody_disables_themselves_or_the_last_super_administrator(campus: Campus) -> None:
    me = made(await campus.admin.get("/me"))["id"]
    refused(await campus.admin.patch(f"/users/{me}", {"state": "disabled"}, match="*"), 409, "conflict")
    second = await campus.person("second", role="super_administrator")
    client = await campus.sign_in("second")
    made(await client.patch(f"/users/{me}", {"state": "disabled"}, match="*"))
    # Someone with all permissions, but not by the preset that the installation can be recovered with.
    like_it = {"organisation_id": campus.root, "name": "Everything", "permissions": list(Permission)}
    role = made(await client.post("/roles", like_it))["id"]
    await campus.person("third", role=role)
    equal = await campus.sign_in("third")
    answer = await equal.patch(f"/users/{second}", {"state": "disabled"}, match="*")
    assert "last active super administrator" in refused(answer, 409, "conflict")["detail"]
    made(await client.get("/me"))


async def test_an_administrator_below_cannot_steer_those_above(campus: Campus) -> None:
    """Disable, sessions, login link: each would make the account theirs."""
    lab = await campus.organisation("Vision Lab")
    boss = await campus.person("boss", role="super_administrator")
    made(await campus.admin.put(f"/users/{boss}/memberships/{lab}", None))
    await campus.person("lead", lab, ADMINISTRATOR)
    client = await campus.sign_in("lead")
    made(await client.get(f"/users/{boss}"))
    for answer in (
        await client.patch(f"/users/{boss}", {"state": "disabled"}, match="*"),
        await client.patch(f"/users/{boss}", {"display_name": "Fool"}, match="*"),
        await client.post(f"/users/{boss}/login-link"),
        await client.get(f"/users/{boss}/sessions"),
        await client.post(f"/users/{boss}/sessions/revoke"),
    ):
        assert "settings.manage" in refused(answer, 403, "forbidden")["detail"]


async def test_an_administrator_steers_people_of_the_own_organisation_only(campus: Campus) -> None:
    lab, other = await campus.organisation("Vision Lab"), await campus.organisation("Robotics")
    mei, ann = await campus.person("mei", lab), await campus.person("ann", other)
    await campus.person("lead", lab, ADMINISTRATOR)
    client = await campus.sign_in("lead")
    made(await client.patch(f"/users/{mei}", {"priority": 2}, match="*"))
    made(await client.post(f"/users/{mei}/login-link"))
    for answer in (
        await client.get(f"/users/{ann}"),
        await client.patch(f"/users/{ann}", {"priority": 2}, match="*"),
        await client.post(f"/users/{ann}/login-link"),
        await client.post(f"/users/{ann}/sessions/revoke"),
    ):
        refused(answer, 404, "not-found")
    new = new_person(campus, name="new", organisation_id=other)
    refused(await client.post("/users", new), 404, "not-found")
    made(await client.post("/users", {**new, "organisation_id": lab}))


async def test_seeing_people_is_not_steering_them(campus: Campus) -> None:
    reader = await campus.role("Reader", ["people.read", "organisations.read"])
    mei = await campus.person("mei")
    await campus.person("reader", role=reader)
    client = await campus.sign_in("reader")
    made(await client.get(f"/users/{mei}"))
    refused(await client.patch(f"/users/{mei}", {"priority": 2}, match="*"), 403, "forbidden")
    refused(await client.post(f"/users/{mei}/login-link"), 403, "forbidden")
    await campus.person("plain")
    plain = await campus.sign_in("plain")
    refused(await plain.get("/users"), 403, "forbidden")
    refused(await plain.get(f"/users/{mei}"), 403, "forbidden")
