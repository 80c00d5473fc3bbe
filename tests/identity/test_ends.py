"""Authority with an end is passed on with one, on every road, and the answer says so."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from corral.core.permissions import Permission
from corral.identity import memory
from tests.apps import ApiClient
from tests.campus import ADMINISTRATOR, PASSWORD, Campus, made, refused

HOURS = 30


class Lab:
    """Ada is administrator of a lab until tomorrow; Mei belongs to it for good."""

    def __init__(self, campus: Campus, lab: str, ada: str, mei: str, client: ApiClient, end: str) -> None:
        self.campus, self.lab, self.ada, self.mei, self.client, self.end = campus, lab, ada, mei, client, end
        self.place = {"organisation_id": lab, "role_id": campus.presets["user"]}


@pytest.fixture
async def lab(campus: Campus) -> Lab:
    lab = await campus.organisation("Vision Lab")
    ada, mei = await campus.person("ada", lab), await campus.person("mei", lab)
    end = (campus.clock() + timedelta(hours=HOURS)).replace(microsecond=0).isoformat().replace("+00:00", "Z")
    made(await campus.grant(ada, ADMINISTRATOR, lab, expires_at=end))
    # What she has for good is less than what she gives.
    (mine,) = [one for one in made(await campus.admin.get(f"/users/{ada}"))["roles"] if not one["expires_at"]]
    made(await campus.admin.delete(f"/users/{ada}/grants/{mine['grant_id']}"))
    return Lab(campus, lab, ada, mei, await campus.sign_in("ada"), end)


def ends_of(user: Any, key: str = "user") -> list[str | None]:
    return [one["expires_at"] for one in user["roles"] if one["role_key"] == key]


async def test_a_role_without_an_end_gets_its_givers_and_a_later_one_is_refused(lab: Lab) -> None:
    await lab.campus.person("bo", lab.lab)
    path = f"/users/{lab.mei}/grants"
    new = {"role_id": lab.campus.presets[ADMINISTRATOR], "organisation_id": lab.lab}
    later = (datetime.fromisoformat(lab.end) + timedelta(seconds=1)).isoformat()
    problem = refused(
        await lab.client.post(path, {**new, "expires_at": later}), 422, "invalid", "body.expires_at"
    )
    assert lab.end[:10] in problem["detail"]
    given = made(await lab.client.post(path, new))
    assert given["expires_at"] == lab.end
    assert lab.end[:10] in given["notice"]
    assert ends_of(given, ADMINISTRATOR) == [lab.end]
    entry = (await lab.campus.audit(action="grant.create"))[0]
    assert datetime.fromisoformat(entry["after"]["expires_at"]) == datetime.fromisoformat(lab.end)
    # A sooner one is as it was asked for, and whoever has no end gives none.
    sooner = (lab.campus.clock() + timedelta(hours=1)).isoformat()
    other = made(await lab.campus.admin.post("/organisations", {"parent_id": lab.lab, "name": "Group"}))["id"]
    given = made(
        await lab.client.post(path, {**new, "organisation_id": other, "expires_at": sooner}),
    )
    assert given["notice"] is None
    given = made(await lab.campus.admin.post(path, {**lab.place, "organisation_id": other}))
    assert (given["expires_at"], given["notice"]) == (None, None)


async def test_a_new_account_and_its_link_end_with_their_maker(lab: Lab) -> None:
    created = made(await lab.client.post("/users", {"name": "new", "display_name": "New", **lab.place}))
    assert ends_of(created["user"]) == [lab.end]
    assert lab.end[:10] in created["notice"]
    assert created["login_link"]["expires_at"] == lab.end  # and not 72 hours
    result = made(await lab.client.post("/users/import", {"csv": "name\nimported\n", **lab.place}))
    assert (result["role_expires_at"], bool(result["notice"])) == (lab.end, True)
    assert result["rows"][0]["login_link"]["expires_at"] == lab.end
    (person,) = made(await lab.campus.admin.get("/users?search=imported"))["items"]
    assert ends_of(person) == [lab.end]


async def test_invitations_and_codes_work_no_longer_and_give_no_longer(lab: Lab) -> None:
    for road, more in (("/invitations", {}), ("/join-codes", {"seats": 2})):
        problem = refused(
            await lab.client.post(road, {**lab.place, **more, "expires_in_hours": HOURS + 1}),
            422,
            "invalid",
            "body.expires_in_hours",
        )
        assert f"Choose {HOURS - 1} hours or less" in problem["remedy"]
    invited = made(await lab.client.post("/invitations", lab.place))
    assert invited["invitation"]["expires_at"] == invited["role_expires_at"] == lab.end
    assert "The role User" in invited["notice"]
    assert "It works until" in invited["notice"]
    code = made(await lab.client.post("/join-codes", {**lab.place, "seats": 2}))
    assert code["expires_at"] == code["role_expires_at"] == lab.end
    visitor = lab.campus.visitor()
    assert made(await visitor.post("/join/preview", {"code": code["code"]}))["role_expires_at"] == lab.end
    preview = made(await visitor.post("/invitations/preview", {"secret": invited["secret"]}))
    assert preview["role_expires_at"] == lab.end
    account = {"display_name": "X", "password": PASSWORD}
    joined = made(await visitor.post("/join", {"code": code["code"], "name": "joined", **account}))
    assert ends_of(joined["user"]) == [lab.end]
    secret = {"secret": invited["secret"]}
    accepted = made(
        await lab.campus.visitor("192.0.2.78").post(
            "/invitations/accept", {**secret, "name": "accepted", **account}
        )
    )
    assert ends_of(accepted["user"]) == [lab.end]


async def test_a_code_that_gives_for_longer_is_not_shown(lab: Lab) -> None:
    for_good = made(await lab.campus.admin.post("/join-codes", {**lab.place, "seats": 2}))
    own = made(await lab.client.post("/join-codes", {**lab.place, "seats": 2}))
    shown = {one["id"]: one["code"] for one in made(await lab.client.get("/join-codes"))["items"]}
    assert shown == {for_good["id"]: None, own["id"]: own["code"]}


async def test_nobody_opens_an_account_that_holds_more_for_longer(lab: Lab) -> None:
    problem = refused(await lab.client.post(f"/users/{lab.mei}/login-link"), 403, "forbidden")
    assert lab.end[:10] in problem["detail"]
    # Disabling opens nothing.
    person = await lab.client.get(f"/users/{lab.mei}")
    made(await lab.client.patch(f"/users/{lab.mei}", {"state": "disabled"}, match=person.headers["etag"]))


async def test_a_role_that_others_have_for_longer_gets_no_more(lab: Lab) -> None:
    reader = await lab.campus.role("Reader", [Permission.PEOPLE_READ], lab.lab)
    more = {"permissions": [Permission.PEOPLE_READ, Permission.AUDIT_READ]}

    async def change() -> Any:
        tag = (await lab.client.get(f"/roles/{reader}")).headers["etag"]
        return await lab.client.patch(f"/roles/{reader}", more, match=tag)

    given = made(await lab.campus.admin.post(f"/users/{lab.mei}/grants", {**lab.place, "role_id": reader}))
    problem = refused(await change(), 422, "invalid", "body.permissions")
    assert "audit.read" in problem["detail"]
    (grant,) = [one for one in given["roles"] if one["role_id"] == reader]
    made(await lab.campus.admin.delete(f"/users/{lab.mei}/grants/{grant['grant_id']}"))
    made(await lab.client.post(f"/users/{lab.mei}/grants", {**lab.place, "role_id": reader}))
    made(await change())


@pytest.mark.parametrize("road", ["/join-codes", "/invitations"])
async def test_a_role_that_is_offered_for_good_gets_no_more(lab: Lab, road: str) -> None:
    """Somebody else's code gives it for as long as they hold it: Ada would add what she has until tomorrow,
    join by the code, and have it for good."""
    reader = await lab.campus.role("Reader", [Permission.PEOPLE_READ], lab.lab)
    more = {"permissions": [Permission.PEOPLE_READ, Permission.AUDIT_READ]}
    seats = {"seats": 2} if road == "/join-codes" else {}
    offer = made(await lab.campus.admin.post(road, {**lab.place, "role_id": reader, **seats}))
    problem = refused(
        await lab.client.patch(f"/roles/{reader}", more, match="*"), 422, "invalid", "body.permissions"
    )
    assert "audit.read" in problem["detail"]
    # Who has no end changes it, and without what is offered so does she.
    made(await lab.campus.admin.patch(f"/roles/{reader}", {"description": "Reads"}, match="*"))
    offer_id = offer["id"] if road == "/join-codes" else offer["invitation"]["id"]
    made(await lab.campus.admin.delete(f"{road}/{offer_id}"))
    made(await lab.client.patch(f"/roles/{reader}", more, match="*"))


async def test_the_session_says_until_when(lab: Lab) -> None:
    (here,) = made(await lab.client.get("/session"))["permissions"]
    assert set(here["ends"]) == set(here["permissions"])
    assert set(here["ends"].values()) == {lab.end}
    (root,) = made(await lab.campus.admin.get("/session"))["permissions"]
    assert root["ends"] == {}


async def test_authority_ends_on_time_though_it_is_remembered(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "LONGEST", timedelta(hours=1))
    lab.campus.clock.advance(hours=HOURS, minutes=-2)
    lab.client = await lab.campus.sign_in("ada")
    made(await lab.client.get("/users"))
    lab.campus.clock.advance(minutes=2)
    refused(await lab.client.get("/users"), 403, "forbidden")


async def test_only_the_root_opens_an_account_that_belongs_nowhere(lab: Lab) -> None:
    """Its work and secrets are somewhere; whoever manages people nowhere in particular has no part in it."""
    administrator = await lab.campus.person("carl", lab.lab)
    made(await lab.campus.grant(administrator, ADMINISTRATOR, lab.lab))
    carl = await lab.campus.sign_in("carl")
    link = made(await carl.post(f"/users/{lab.mei}/login-link"))
    made(await lab.campus.admin.delete(f"/users/{lab.mei}/memberships/{lab.lab}"))
    refused(await carl.post(f"/users/{lab.mei}/login-link"), 404, "not-found")
    visitor = lab.campus.visitor()
    refused(await visitor.post("/session/link", {"secret": link["secret"]}), 401, "login-failed")
    link = made(await lab.campus.admin.post(f"/users/{lab.mei}/login-link"))
    made(await lab.campus.visitor().post("/session/link", {"secret": link["secret"]}))
