"""Invitations: a link that makes one account, while whoever made it could still give what it gives."""

from typing import Any

import httpx2

from tests.campus import ADMINISTRATOR, OF_USERS, PASSWORD, Campus, made, refused
from tests.platform.smtp import MailServer, mail_server


def account(name: str = "mei") -> dict[str, str]:
    return {"name": name, "display_name": "Mei-Ling Chen", "password": PASSWORD}


async def invite(campus: Campus, organisation: str | None = None, **fields: Any) -> Any:
    new = {"organisation_id": organisation or campus.root, "role_id": campus.presets["user"], **fields}
    return made(await campus.admin.post("/invitations", new))


async def accept(campus: Campus, secret: str, name: str = "mei") -> httpx2.Response:
    return await campus.visitor().post("/invitations/accept", {"secret": secret, **account(name)})


async def set_up_mail(campus: Campus, server: MailServer) -> None:
    mail = {"host": "localhost", "port": server.port, "encryption": "none", "sender": "corral@example.org"}
    made(await campus.admin.put("/settings/mail", mail, match="*"))


async def test_invitation_from_link_to_account(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    created = await invite(campus, lab, mail="mei@example.org")
    secret = created["secret"]
    assert created["url"] == f"https://corral.test/join#invitation={secret}"
    (listed,) = made(await campus.admin.get("/invitations"))["items"]
    assert (listed["mail"], listed["invited_by"]) == ("mei@example.org", "Administrator")
    assert listed["mailed_at"] is None
    assert secret not in str(listed)
    visitor = campus.visitor()
    preview = made(await visitor.post("/invitations/preview", {"secret": secret}))
    assert preview == {
        "organisation_name": "Vision Lab",
        "role_name": "User",
        "role_key": "user",
        "invited_by": "Administrator",
        "role_expires_at": None,
        "mail": "mei@example.org",
        "expires_at": listed["expires_at"],
    }
    session = made(await visitor.post("/invitations/accept", {"secret": secret, **account()}))
    assert session["must_change_password"] is False
    assert session["user"]["mail"] == "mei@example.org"
    assert session["permissions"] == [{"organisation_id": lab, "permissions": OF_USERS, "ends": {}}]
    made(await visitor.get("/organisations"))
    await campus.sign_in("mei")
    refused(await accept(campus, secret, "ann"), 404, "not-found")  # it works once
    refused(await visitor.post("/invitations/preview", {"secret": secret}), 404, "not-found")
    assert made(await campus.admin.get("/invitations"))["items"] == []


async def test_a_taken_name_or_a_weak_password_does_not_use_it_up(campus: Campus) -> None:
    secret = (await invite(campus))["secret"]
    refused(await accept(campus, secret, "admin"), 409, "conflict", "body.name")
    weak = {"secret": secret, **account(), "password": "mei-mei-mei"}
    refused(await campus.visitor().post("/invitations/accept", weak), 422, "invalid", "body.password")
    made(await accept(campus, secret))


async def test_invitation_ends_by_time_and_by_withdrawal(campus: Campus) -> None:
    old = await invite(campus, expires_in_hours=2)
    withdrawn = await invite(campus)
    made(await campus.admin.delete(f"/invitations/{withdrawn['invitation']['id']}"))
    refused(await accept(campus, withdrawn["secret"]), 404, "not-found")
    refused(await campus.admin.delete(f"/invitations/{withdrawn['invitation']['id']}"), 404, "not-found")
    campus.clock.advance(hours=2, seconds=1)
    refused(await accept(campus, old["secret"]), 404, "not-found")
    assert made(await campus.admin.get("/invitations"))["items"] == []
    for hours in (0, 24 * 365 + 1):
        new = {"organisation_id": campus.root, "role_id": campus.presets["user"], "expires_in_hours": hours}
        refused(await campus.admin.post("/invitations", new), 422, "invalid", "body.expires_in_hours")


async def test_invitation_is_worth_what_its_maker_could_give_now(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    lead = await campus.person("lead", lab, ADMINISTRATOR)
    role = await campus.role("Tutor", ["people.read"], lab)
    client = await campus.sign_in("lead")

    async def secret(role_id: str) -> str:
        new = {"organisation_id": lab, "role_id": role_id}
        return str(made(await client.post("/invitations", new))["secret"])

    plain, tutor = await secret(campus.presets["user"]), await secret(role)
    # The role grows beyond its maker.
    wide = {"permissions": ["people.read", "system.read"]}
    made(await campus.admin.patch(f"/roles/{role}", wide, match="*"))
    refused(await accept(campus, tutor), 404, "not-found")
    made(await campus.admin.patch(f"/roles/{role}", {"permissions": ["people.read"]}, match="*"))
    # The maker is disabled, and enabled again.
    made(await campus.admin.patch(f"/users/{lead}", {"state": "disabled"}, match="*"))
    refused(await accept(campus, plain), 404, "not-found")
    made(await campus.admin.patch(f"/users/{lead}", {"state": "active"}, match="*"))
    made(await accept(campus, plain, "ann"))
    # The maker loses the authority.
    made(await campus.admin.delete(f"/users/{lead}/memberships/{lab}"))
    refused(await accept(campus, tutor), 404, "not-found")
    refused(await campus.visitor().post("/invitations/preview", {"secret": tutor}), 404, "not-found")


async def test_nobody_invites_to_more_than_they_have(campus: Campus) -> None:
    lab, other = await campus.organisation("Vision Lab"), await campus.organisation("Robotics")
    await campus.person("lead", lab, ADMINISTRATOR)
    client = await campus.sign_in("lead")
    for organisation, role, status in (
        (lab, "super_administrator", 403),
        (campus.root, "user", 404),
        (other, "user", 404),
    ):
        new = {"organisation_id": organisation, "role_id": campus.presets[role]}
        refused(await client.post("/invitations", new), status)
        refused(await client.post("/join-codes", {**new, "seats": 1}), status)
    of_root = (await invite(campus))["invitation"]["id"]
    refused(await client.delete(f"/invitations/{of_root}"), 404, "not-found")
    assert made(await client.get("/invitations"))["items"] == []
    refused(await client.get("/invitations", params={"organisation": other}), 404, "not-found")


async def test_invitation_is_mailed_where_mail_is_set_up(campus: Campus) -> None:
    lab = await campus.organisation("視覺實驗室")
    async with mail_server() as server:
        await set_up_mail(campus, server)
        created = await invite(campus, lab, mail="mei@example.org")
    assert created["mail_problem"] is None
    assert created["invitation"]["mailed_at"] is not None
    (mail,) = server.mails
    assert server.recipients == [["mei@example.org"]]
    assert mail["Subject"] == "Invitation to 視覺實驗室"
    assert created["url"] in mail.get_content()
    assert "admin" in mail.get_content()
    made(await accept(campus, created["secret"]))


async def test_without_mail_or_with_a_refusing_server_the_link_still_works(campus: Campus) -> None:
    created = await invite(campus, mail="mei@example.org")
    assert "No mail server" in created["mail_problem"]
    async with mail_server() as server:
        await set_up_mail(campus, server)
        refusing = await invite(campus, mail="refused@example.org")
        odd = await invite(campus, mail="a..b@example.org")
    unreachable = await invite(campus, mail="mei@example.org")
    assert "refused the recipient" in refusing["mail_problem"]
    assert "not an address" in odd["mail_problem"]
    assert "cannot be reached" in unreachable["mail_problem"]
    assert server.mails == []
    for number, one in enumerate((created, refusing, odd, unreachable)):
        assert one["invitation"]["mailed_at"] is None
        made(await accept(campus, one["secret"], f"mei{number}"))


async def test_invitation_used_before_the_mail_server_answered(campus: Campus) -> None:
    """The mail arrives, is opened and used while the sender still waits for the mail server."""

    async with mail_server() as server:
        await set_up_mail(campus, server)
        taken = server.handle_DATA

        async def use_it(*args: Any) -> str:
            answer = await taken(*args)
            secret = server.mails[-1].get_content().partition("#invitation=")[2].split()[0]
            made(await accept(campus, secret))
            return answer

        server.handle_DATA = use_it  # type: ignore[method-assign]
        created = await invite(campus, mail="mei@example.org")
    assert created["mail_problem"] is None
    await campus.sign_in("mei")


async def test_replayed_invitation_is_the_same_and_mailed_once(campus: Campus) -> None:
    async with mail_server() as server:
        await set_up_mail(campus, server)
        new = {
            "organisation_id": campus.root,
            "role_id": campus.presets["user"],
            "mail": "mei@example.org",
        }
        key = {"Idempotency-Key": "one-invitation"}
        first = made(await campus.admin.post("/invitations", new, headers=key))
        second = await campus.admin.post("/invitations", new, headers=key)
    assert second.headers["idempotency-replayed"] == "true"
    assert made(second)["secret"] == first["secret"]
    assert len(server.mails) == 1


async def test_invitations_come_in_pages_newest_first(campus: Campus) -> None:
    made_ids = [(await invite(campus))["invitation"]["id"] for _ in range(3)]
    page = made(await campus.admin.get("/invitations", params={"limit": 2}))
    rest = made(await campus.admin.get("/invitations", params={"limit": 2, "cursor": page["next_cursor"]}))
    assert [one["id"] for one in page["items"] + rest["items"]] == made_ids[::-1]
    assert rest["next_cursor"] is None
