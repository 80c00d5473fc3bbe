"""The organisation tree over HTTP: who sees what, what it refuses, what a move takes along."""

from tests.apps import ApiClient
from tests.campus import ADMINISTRATOR, Campus, made, refused


async def names(client: ApiClient) -> list[str]:
    return [one["name"] for one in made(await client.get("/organisations"))["items"]]


async def test_tree_is_listed_parents_first_and_siblings_by_name(campus: Campus) -> None:
    science = await campus.organisation("Science")
    await campus.organisation("arts")
    vision = await campus.organisation("Vision Lab", science)
    await campus.organisation("Robotics", science)
    items = made(await campus.admin.get("/organisations"))["items"]
    assert [one["name"] for one in items] == ["Corral", "arts", "Science", "Robotics", "Vision Lab"]
    by_id = {one["id"]: one for one in items}
    assert by_id[vision]["parent_id"] == science
    assert by_id[vision]["path"] == [campus.root, science, vision]
    assert by_id[campus.root]["people_count"] == 1


async def test_tree_grows_to_twenty_levels_and_no_further(campus: Campus) -> None:
    parent = campus.root
    for level in range(2, 21):
        parent = await campus.organisation(f"Level {level}", parent)
    answer = await campus.admin.post("/organisations", {"parent_id": parent, "name": "Too deep"})
    refused(answer, 422, "invalid", "body.parent_id")
    chain = made(await campus.admin.get(f"/organisations/{parent}"))["path"]
    assert len(chain) == 20
    # A move counts the levels it takes along.
    branch = await campus.organisation("Branch")
    await campus.organisation("Twig", branch)
    moved = await campus.admin.patch(f"/organisations/{branch}", {"parent_id": chain[18]}, match="*")
    refused(moved, 422, "invalid", "body.parent_id")
    made(await campus.admin.patch(f"/organisations/{branch}", {"parent_id": chain[17]}, match="*"))


async def test_siblings_that_read_the_same_never_meet(campus: Campus) -> None:
    await campus.organisation("Vision Lab")
    elsewhere = await campus.organisation("Science")
    wide = "\uff36ision \uff2cab"
    for double in ("vision lab", " Vision   Lab ", wide, "VISION LAB", "Vision\u00a0Lab"):
        answer = await campus.admin.post("/organisations", {"parent_id": campus.root, "name": double})
        refused(answer, 409, "conflict", "body.name")
    await campus.organisation("vision lab", elsewhere)


async def test_names_are_cleaned_and_bounded(campus: Campus) -> None:
    made_name = made(
        await campus.admin.post("/organisations", {"parent_id": campus.root, "name": "  資訊   工程 "})
    )["name"]
    assert made_name == "資訊 工程"
    # U+FDFA is one character that its compatibility form turns into eighteen.
    for bad in ["", "   ", "x" * 121, "a\u202eb", "a\x07b", "a\u200bb", "\ufdfa" * 100]:
        answer = await campus.admin.post("/organisations", {"parent_id": campus.root, "name": bad})
        refused(answer, 422, "invalid", "body.name")


async def test_rename_keeps_place_and_refuses_a_sibling_name(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    await campus.organisation("Robotics")
    renamed = made(await campus.admin.patch(f"/organisations/{lab}", {"name": "VISION lab"}, match='"1"'))
    assert (renamed["name"], renamed["generation"]) == ("VISION lab", 2)
    answer = await campus.admin.patch(f"/organisations/{lab}", {"name": "robotics"}, match="*")
    refused(answer, 409, "conflict", "body.name")
    root = await campus.admin.patch(
        f"/organisations/{campus.root}", {"name": "Example University"}, match="*"
    )
    assert made(root)["name"] == "Example University"


async def test_change_without_content_changes_nothing_and_null_is_refused(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    assert made(await campus.admin.patch(f"/organisations/{lab}", {}, match="*"))["generation"] == 1
    same = await campus.admin.patch(f"/organisations/{lab}", {"name": "Vision Lab"}, match="*")
    assert made(same)["generation"] == 1
    for field in ("name", "parent_id"):
        answer = await campus.admin.patch(f"/organisations/{lab}", {field: None}, match="*")
        refused(answer, 422, "invalid", f"body.{field}")
    assert [one["action"] for one in await campus.audit(object=lab)] == ["organisation.create"]


async def test_move_takes_the_subtree_along_with_the_authority_over_it(campus: Campus) -> None:
    science = await campus.organisation("Science")
    arts = await campus.organisation("Arts")
    lab = await campus.organisation("Vision Lab", science)
    group = await campus.organisation("Group", lab)
    await campus.person("scientist", science, ADMINISTRATOR)
    await campus.person("artist", arts, ADMINISTRATOR)
    scientist, artist = await campus.sign_in("scientist"), await campus.sign_in("artist")
    assert await names(scientist) == ["Science", "Vision Lab", "Group"]
    moved = made(await campus.admin.patch(f"/organisations/{lab}", {"parent_id": arts}, match="*"))
    assert moved["path"] == [campus.root, arts, lab]
    below = made(await campus.admin.get(f"/organisations/{group}"))
    assert below["path"] == [campus.root, arts, lab, group]
    assert await names(scientist) == ["Science"]
    assert await names(artist) == ["Arts", "Vision Lab", "Group"]
    refused(await scientist.get(f"/organisations/{group}"), 404, "not-found")


async def test_move_refuses_the_root_and_a_place_inside_itself(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    group = await campus.organisation("Group", lab)
    for parent in (lab, group):
        answer = await campus.admin.patch(f"/organisations/{lab}", {"parent_id": parent}, match="*")
        refused(answer, 422, "invalid", "body.parent_id")
    root = await campus.admin.patch(f"/organisations/{campus.root}", {"parent_id": lab}, match="*")
    refused(root, 409, "conflict")


async def test_move_needs_authority_where_it_comes_from_and_where_it_goes(campus: Campus) -> None:
    science = await campus.organisation("Science")
    lab = await campus.organisation("Vision Lab", science)
    arts = await campus.organisation("Arts")
    lead = await campus.person("lead", lab, ADMINISTRATOR)
    client = await campus.sign_in("lead")
    refused(await client.patch(f"/organisations/{lab}", {"parent_id": arts}, match="*"), 404)
    made(await campus.grant(lead, ADMINISTRATOR, arts))
    # Otherwise a lead could take the lab out of reach of those above it.
    refused(await client.patch(f"/organisations/{lab}", {"parent_id": arts}, match="*"), 403, "forbidden")
    made(await campus.grant(lead, ADMINISTRATOR, science))
    made(await client.patch(f"/organisations/{lab}", {"parent_id": arts}, match="*"))


async def test_move_gives_nobody_more_than_the_mover_has(campus: Campus) -> None:
    science = await campus.organisation("Science")
    arts = await campus.organisation("Arts")
    lab = await campus.organisation("Vision Lab", science)
    mover = await campus.role("Mover", ["organisations.read", "organisations.manage"])
    await campus.grant(await campus.person("mover", science, mover), mover, arts)
    await campus.person("artist", arts, ADMINISTRATOR)
    client = await campus.sign_in("mover")
    answer = await client.patch(f"/organisations/{lab}", {"parent_id": arts}, match="*")
    assert "people.manage" in refused(answer, 403, "forbidden")["detail"]


async def test_roles_of_the_old_parents_do_not_travel(campus: Campus) -> None:
    science = await campus.organisation("Science")
    arts = await campus.organisation("Arts")
    lab = await campus.organisation("Vision Lab", science)
    reader = await campus.role("Reader", ["people.read"], science)
    invitation = {"organisation_id": lab, "role_id": reader}
    made_invitation = made(await campus.admin.post("/invitations", invitation))["invitation"]
    answer = await campus.admin.patch(f"/organisations/{lab}", {"parent_id": arts}, match="*")
    assert "Reader" in refused(answer, 409, "conflict")["detail"]
    made(await campus.admin.delete(f"/invitations/{made_invitation['id']}"))
    made(await campus.admin.patch(f"/organisations/{lab}", {"parent_id": arts}, match="*"))


async def test_deleting_names_what_is_left(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    group = await campus.organisation("Group", lab)
    member = await campus.person("mei", lab)
    role = await campus.role("Reader", ["people.read"], lab)
    code = {"organisation_id": lab, "role_id": role, "seats": 3}
    join_code = made(await campus.admin.post("/join-codes", code))
    problem = refused(await campus.admin.delete(f"/organisations/{lab}", match="*"), 409, "conflict")
    for part in ("1 organisations below", "1 members", "1 custom roles", "1 join codes", "1 roles given"):
        assert part in problem["detail"]
    made(await campus.admin.delete(f"/organisations/{group}", match='"1"'))
    made(await campus.admin.delete(f"/users/{member}/memberships/{lab}"))
    made(await campus.admin.delete(f"/join-codes/{join_code['id']}"))
    made(await campus.admin.delete(f"/roles/{role}", match="*"))
    made(await campus.admin.delete(f"/organisations/{lab}", match="*"))
    refused(await campus.admin.get(f"/organisations/{lab}"), 404, "not-found")
    refused(await campus.admin.delete(f"/organisations/{campus.root}", match="*"), 409, "conflict")


async def test_people_see_down_from_where_they_are_but_not_up_or_sideways(campus: Campus) -> None:
    science = await campus.organisation("Science")
    lab = await campus.organisation("Vision Lab", science)
    await campus.organisation("Robotics", science)
    group = await campus.organisation("Group", lab)
    await campus.person("mei", lab)
    client = await campus.sign_in("mei")
    items = made(await client.get("/organisations"))["items"]
    assert [(one["name"], one["parent_id"], one["path"]) for one in items] == [
        ("Vision Lab", None, [lab]),
        ("Group", lab, [lab, group]),
    ]
    refused(await client.get(f"/organisations/{science}"), 404, "not-found")
    refused(await client.post("/organisations", {"parent_id": lab, "name": "Mine"}), 403, "forbidden")


async def test_a_change_says_which_version_it_is_about(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    read = await campus.admin.get(f"/organisations/{lab}")
    assert read.headers["etag"] == '"1"'
    path, change = f"/organisations/{lab}", {"name": "Seeing"}
    refused(await campus.admin.patch(path, change), 428, "if-match-missing")
    refused(await campus.admin.delete(path), 428, "if-match-missing")
    for stale in ('"2"', '"x"', "1"):
        refused(await campus.admin.patch(path, change, match=stale), 412, "stale")
    changed = await campus.admin.patch(path, change, match=read.headers["etag"])
    assert changed.headers["etag"] == '"2"'
    problem = refused(await campus.admin.patch(path, {"name": "Other"}, match='"1"'), 412, "stale")
    assert problem["generation"] == 2
    made(await campus.admin.patch(path, {"name": "Other"}, match="*"))
    refused(await campus.admin.delete(path, match='"2"'), 412, "stale")
