"""Signing in: the right person gets in, nobody else does, and guessing is slow."""

from tests.apps import ADMIN_NAME
from tests.campus import ADMINISTRATOR, OF_USERS, PASSWORD, Campus, made, refused


async def test_signing_in_tells_who_one_is_and_what_one_may_do(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    await campus.person("mei", lab, display_name="Mei-Ling Chen")
    client = campus.visitor()
    answer = await client.sign_in("mei", PASSWORD)
    session = made(answer)
    assert answer.status_code == 201
    assert session["via"] == "session"
    assert session["user"]["display_name"] == "Mei-Ling Chen"
    assert session["must_change_password"] is False
    assert session["permissions"] == [{"organisation_id": lab, "permissions": OF_USERS, "ends": {}}]
    assert made(await client.get("/session")) == {
        **session,
        "user": {**session["user"], "last_seen_at": session["user"]["last_seen_at"]},
    }


async def test_wrong_and_unknown_are_told_the_same(campus: Campus) -> None:
    await campus.person("mei")
    client = campus.visitor()
    wrong = refused(await client.sign_in("mei", "wrong-password"), 401, "login-failed")
    unknown = refused(await client.sign_in("mia", "wrong-password"), 401, "login-failed")
    assert {**wrong, "request_id": ""} == {**unknown, "request_id": ""}
    assert wrong["tries_left"] == 9
    tried = await campus.audit(action="session.create", result="refused")
    assert sorted((one["object_name"], one["reason"]) for one in tried) == [
        ("", "wrong name or password"),
        ("mei", "wrong name or password"),
    ]


async def test_disabled_and_waiting_people_are_told_so_only_with_the_right_password(campus: Campus) -> None:
    await campus.person("gone", state="disabled")
    await campus.person("waits", state="pending")
    client = campus.visitor()
    for name, word in (("gone", "disabled"), ("waits", "approval")):
        assert word in refused(await client.sign_in(name, PASSWORD), 403, "forbidden")["detail"]
        assert (
            word not in refused(await client.sign_in(name, "wrong-password"), 401, "login-failed")["detail"]
        )
    assert "set-cookie" not in (await client.sign_in("gone", PASSWORD)).headers
    reasons = [one["reason"] for one in await campus.audit(action="session.create", result="refused")]
    assert "This account is disabled." in reasons


async def test_unknown_provider_names_those_there_are(campus: Campus) -> None:
    answer = await campus.visitor().post("/session", {"provider": "ldap", "name": "a", "password": "b"})
    assert "local" in refused(answer, 422, "invalid", "body.provider")["remedy"]


async def test_odd_names_are_refused_and_break_nothing(campus: Campus) -> None:
    client = campus.visitor()
    for name in ("a\x00b", ""):
        refused(await client.sign_in(name, PASSWORD), 422, "invalid", "body.name")
    for name in ("İ" * 100, "'; --", "\u202e", "日本"):
        refused(await client.sign_in(name, PASSWORD), 401, "login-failed")
    refused(await client.sign_in("mei", "x" * 257), 422, "invalid", "body.password")


async def test_guessing_one_person_ends_after_ten_tries_until_the_window_is_over(campus: Campus) -> None:
    await campus.person("mei")
    client = campus.visitor()
    left = [(await client.sign_in("mei", f"guess-{n}-guess")).json()["tries_left"] for n in range(10)]
    assert left == list(range(9, -1, -1))
    answer = await client.sign_in("mei", PASSWORD)
    problem = refused(answer, 429, "too-many-tries")
    assert answer.headers["retry-after"] == str(problem["retry_after_seconds"])
    assert 0 < problem["retry_after_seconds"] <= 15 * 60 + 1
    # Only there: the person can still sign in from elsewhere, and others from there.
    await campus.sign_in("mei", address="198.51.100.1")
    await campus.person("ann")
    await campus.sign_in("ann", address="192.0.2.77")
    campus.clock.advance(minutes=15, seconds=2)
    made(await client.sign_in("mei", PASSWORD))


async def test_signing_in_forgives_earlier_tries(campus: Campus) -> None:
    await campus.person("mei")
    client = campus.visitor()
    for _ in range(9):
        refused(await client.sign_in("mei", "wrong-password"), 401)
    made(await client.sign_in("mei", PASSWORD))
    assert refused(await client.sign_in("mei", "wrong-password"), 401)["tries_left"] == 9


async def test_login_link_for_someone_who_forgot_lets_them_choose_a_new_password(campus: Campus) -> None:
    mei = await campus.person("mei")
    link = made(await campus.admin.post(f"/users/{mei}/login-link"))
    assert link["url"] == f"https://corral.test/login#once={link['secret']}"
    client = await campus.use_link(link["secret"])
    assert made(await client.get("/session"))["must_change_password"] is True
    made(await client.post("/me/password", {"new_password": "another-quiet-river"}))
    made(await client.get("/organisations"))
    refused(await campus.visitor().sign_in("mei", PASSWORD), 401, "login-failed")
    await campus.sign_in("mei", "another-quiet-river")
    refused(await campus.visitor().post("/session/link", {"secret": link["secret"]}), 401)


async def test_own_login_link_opens_the_console_and_the_way_to_a_new_password(campus: Campus) -> None:
    me = made(await campus.admin.get("/me"))["id"]
    link = made(await campus.admin.post(f"/users/{me}/login-link"))
    client = await campus.use_link(link["secret"])
    session = made(await client.get("/session"))
    assert (session["must_change_password"], session["current_password_needed"]) == (False, False)
    assert made(await campus.admin.get("/session"))["current_password_needed"] is True
    made(await client.post("/me/password", {"new_password": "another-quiet-river"}))
    assert made(await client.get("/session"))["current_password_needed"] is True
    await campus.sign_in(ADMIN_NAME, "another-quiet-river")


async def test_login_link_replaces_the_password_once(campus: Campus) -> None:
    me = made(await campus.admin.get("/me"))["id"]
    link = made(await campus.admin.post(f"/users/{me}/login-link"))
    client = await campus.use_link(link["secret"])
    made(await client.post("/me/password", {"new_password": "another-quiet-river"}))
    again = {"new_password": "a-third-quiet-river"}
    problem = refused(await client.post("/me/password", again), 422, "invalid")
    assert problem["errors"][0]["field"] == "body.current_password"
    made(await client.post("/me/password", again | {"current_password": "another-quiet-river"}))


async def test_login_link_of_a_disabled_person_opens_nothing(campus: Campus) -> None:
    mei = await campus.person("mei", state="disabled")
    link = made(await campus.admin.post(f"/users/{mei}/login-link"))
    refused(await campus.visitor().post("/session/link", {"secret": link["secret"]}), 403, "forbidden")


async def test_login_link_opens_no_more_than_its_maker_could(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    mei = await campus.person("mei", lab)
    await campus.person("lead", lab, ADMINISTRATOR)
    lead = await campus.sign_in("lead")
    link = made(await lead.post(f"/users/{mei}/login-link"))
    made(await campus.grant(mei, "super_administrator", campus.root))
    refused(await campus.visitor().post("/session/link", {"secret": link["secret"]}), 401, "login-failed")
    again = made(await campus.admin.post(f"/users/{mei}/login-link"))
    await campus.use_link(again["secret"])


async def test_login_link_of_someone_who_was_disabled_since_opens_nothing(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    mei = await campus.person("mei", lab)
    boss = await campus.person("lead", lab, ADMINISTRATOR)
    lead = await campus.sign_in("lead")
    link = made(await lead.post(f"/users/{mei}/login-link"))
    made(await campus.admin.patch(f"/users/{boss}", {"state": "disabled"}, headers={"If-Match": "*"}))
    refused(await campus.visitor().post("/session/link", {"secret": link["secret"]}), 401, "login-failed")
