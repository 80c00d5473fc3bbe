"""Roads to someone else's account or role that are no gift: drawn in, steered from aside, read in a list."""

from tests.campus import ADMINISTRATOR, OF_USERS, Campus, made, refused

READER = ["people.read", *OF_USERS]


async def lead_who_sees_everybody(campus: Campus) -> tuple[str, str]:
    """The lead of a lab, who has people.read at the root besides; the lab and the lead."""
    lab = await campus.organisation("Vision Lab")
    lead = await campus.person("lead", lab, ADMINISTRATOR)
    made(await campus.grant(lead, await campus.role("Reader", READER), campus.root))
    return lab, lead


async def test_seeing_someone_is_not_enough_to_import_them(campus: Campus) -> None:
    lab, _ = await lead_who_sees_everybody(campus)
    other = await campus.organisation("Robotics")
    ann = await campus.person("ann", other)
    client = await campus.sign_in("lead")
    wish = {"organisation_id": lab, "role_id": campus.presets["user"], "csv": "name\nann\n"}
    (row,) = made(await client.post("/users/import", {**wish, "dry_run": True}))["rows"]
    assert (row["result"], row["problems"]) == (
        "error",
        ["name: belongs to organisations whose people you do not manage"],
    )
    refused(await client.post("/users/import", wish), 422, "invalid")
    refused(await client.post(f"/users/{ann}/login-link"), 403, "forbidden")


async def test_who_manages_part_of_someones_organisations_does_not_steer_the_account(campus: Campus) -> None:
    """Ann joined by herself; her work in Robotics is not for the lead of the lab."""
    lab, _ = await lead_who_sees_everybody(campus)
    other = await campus.organisation("Robotics")
    ann = await campus.person("ann", other)
    client = await campus.sign_in("lead")
    new = {"organisation_id": lab, "role_id": campus.presets["user"], "seats": 1}
    code = made(await client.post("/join-codes", new))["code"]
    made(await (await campus.sign_in("ann")).post("/me/join", {"code": code}))
    for answer in (
        await client.post(f"/users/{ann}/login-link"),
        await client.patch(f"/users/{ann}", {"state": "disabled"}, match="*"),
        await client.get(f"/users/{ann}/sessions"),
        await client.post(f"/users/{ann}/sessions/revoke"),
    ):
        problem = refused(answer, 403, "forbidden")
        assert "Robotics" not in answer.text
        assert problem["detail"] == "Ann also belongs to organisations whose people you do not manage."
    made(await client.delete(f"/users/{ann}/memberships/{lab}"))
    made(await campus.admin.post(f"/users/{ann}/login-link"))


async def test_login_link_does_not_open_an_account_that_joined_elsewhere_since(campus: Campus) -> None:
    lab, other = await campus.organisation("Vision Lab"), await campus.organisation("Robotics")
    lead = await campus.person("lead", lab, ADMINISTRATOR)
    made(await campus.grant(lead, await campus.role("Reader", READER), campus.root))
    ann = await campus.person("ann", lab)
    link = made(await (await campus.sign_in("lead")).post(f"/users/{ann}/login-link"))["secret"]
    made(await campus.admin.put(f"/users/{ann}/memberships/{other}", None))
    refused(await campus.visitor().post("/session/link", {"secret": link}), 401, "login-failed")


async def test_code_is_shown_to_those_who_could_give_its_role(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    inviter = await campus.role("Inviter", ["people.read", "people.invite", *OF_USERS])
    await campus.person("reader", role=await campus.role("Reader", READER))
    await campus.person("inviter", role=inviter)
    await campus.person("lead", lab, ADMINISTRATOR)
    for role in ("user", ADMINISTRATOR):
        new = {"organisation_id": lab, "role_id": campus.presets[role], "seats": 3}
        assert made(await campus.admin.post("/join-codes", new))["code"]
    shown = {"reader": [], "inviter": ["User"], "lead": ["Organisation administrator", "User"]}
    for name, roles in shown.items():
        listed = made(await (await campus.sign_in(name)).get("/join-codes"))["items"]
        assert len(listed) == 2
        assert [one["role_name"] for one in listed if one["code"] is not None] == roles, name


async def test_invitation_code_or_role_elsewhere_is_as_unknown_as_none(campus: Campus) -> None:
    lab, other = await campus.organisation("Vision Lab"), await campus.organisation("Robotics")
    await campus.person("lead", lab, ADMINISTRATOR)
    ann = await campus.person("ann", lab)
    offer = {"organisation_id": other, "role_id": campus.presets["user"]}
    code = made(await campus.admin.post("/join-codes", {**offer, "seats": 1}))["id"]
    invitation = made(await campus.admin.post("/invitations", offer))["invitation"]["id"]
    granted = made(await campus.grant(ann, "user", other))
    grant = next(one["grant_id"] for one in granted["roles"] if one["organisation_id"] == other)
    client = await campus.sign_in("lead")
    for path, known in (
        ("/join-codes/", code),
        ("/invitations/", invitation),
        (f"/users/{ann}/grants/", grant),
    ):
        nobody = known[:-4] + ("0000" if known[-4:] != "0000" else "1111")
        answers = [refused(await client.delete(path + one), 404, "not-found") for one in (known, nobody)]
        assert answers[0]["detail"] == answers[1]["detail"]
        assert answers[0]["remedy"] == answers[1]["remedy"]


async def test_name_of_someone_unseen_is_taken_and_nothing_more_is_told(campus: Campus) -> None:
    """Names are for signing in, so there is one of each; whose it is and where they belong stays hidden."""
    lab, other = await campus.organisation("Vision Lab"), await campus.organisation("Robotics")
    await campus.person("lead", lab, ADMINISTRATOR)
    await campus.person("ann", other, display_name="Ann Secret")
    client = await campus.sign_in("lead")
    wish = {"organisation_id": lab, "role_id": campus.presets["user"]}
    (row,) = made(await client.post("/users/import", {**wish, "csv": "name\nann\n", "dry_run": True}))["rows"]
    assert (row["result"], row["problems"]) == ("error", ["name: taken"])
    created = await client.post("/users", {**wish, "name": "ann", "display_name": "Ann"})
    refused(created, 409, "conflict", "body.name")
    assert "Secret" not in created.text
    assert "Robotics" not in created.text
