"""Lists of people: filters, search, orders, pages, counts, and what stays hidden."""

from typing import Any

from corral.api.parts import part
from corral.identity.context import Identity
from tests.apps import ApiClient
from tests.campus import ADMINISTRATOR, Campus, made, refused


async def listed(client: ApiClient, **filters: Any) -> list[str]:
    return [one["name"] for one in made(await client.get("/users", params=filters))["items"]]


async def test_filters_narrow_the_list(campus: Campus) -> None:
    science = await campus.organisation("Science")
    lab = await campus.organisation("Vision Lab", science)
    await campus.person("ann", science, ADMINISTRATOR)
    await campus.person("mei", lab)
    await campus.person("gone", lab, state="disabled")
    await campus.person("waits", science, state="pending")
    assert await listed(campus.admin) == ["admin", "ann", "gone", "mei", "waits"]
    assert await listed(campus.admin, organisation=science) == ["ann", "gone", "mei", "waits"]
    assert await listed(campus.admin, organisation=lab) == ["gone", "mei"]
    assert await listed(campus.admin, state="pending") == ["waits"]
    assert await listed(campus.admin, organisation=lab, state="active") == ["mei"]
    assert await listed(campus.admin, role=campus.presets[ADMINISTRATOR]) == ["ann"]
    assert await listed(campus.admin, role=campus.presets["user"], organisation=lab) == ["gone", "mei"]
    refused(await campus.admin.get("/users", params={"state": "odd"}), 422, "invalid", "query.state")
    refused(await campus.admin.get("/users", params={"organisation": "odd"}), 422, "invalid")
    refused(await campus.admin.get("/users", params={"organisation": "o" + "0" * 22}), 404, "not-found")


async def test_search_finds_parts_in_any_case_and_any_script(campus: Campus) -> None:
    await campus.person("zoe", display_name="Zoë Élan", mail="Zoe.Elan@example.org")
    await campus.person("mei", display_name="陳美玲")
    await campus.person("percent", display_name="100% sure_thing")
    await campus.person("oleg", display_name="Олег Иванов")
    for text, found in {
        "ZO": ["zoe"],
        "élan": ["zoe"],
        "ÉLAN": ["zoe"],
        "zoë é": ["zoe"],
        "E\u0301lan": ["zoe"],  # the same letter, written as two characters
        "elan@EXAMPLE": ["zoe"],
        "美玲": ["mei"],
        "иван": ["oleg"],
        "ОЛЕГ": ["oleg"],
        "0% s": ["percent"],
        "e_t": ["percent"],
        "%": ["percent"],
        "_": ["percent"],
        "/": [],
        "' or 1=1 --": [],
    }.items():
        assert await listed(campus.admin, search=text) == found, text
    refused(await campus.admin.get("/users", params={"search": ""}), 422, "invalid", "query.search")
    refused(await campus.admin.get("/users", params={"search": "a\x00"}), 422, "invalid", "query.search")
    refused(await campus.admin.get("/users", params={"search": "x" * 101}), 422, "invalid", "query.search")


async def test_pages_in_every_order_show_everyone_once(campus: Campus) -> None:
    for name in ("dan", "bob", "ann", "cat", "eve"):
        await campus.person(name, display_name="Same" if name in {"bob", "cat"} else name[::-1])
    access = part(campus.app, Identity).access
    for name in ("cat", "ann"):
        made(await (await campus.sign_in(name)).get("/me"))
        await access.seen.flush(campus.database)
        campus.clock.advance(minutes=1)
    orders = {
        "name": ["admin", "ann", "bob", "cat", "dan", "eve"],
        "created_at": ["admin", "dan", "bob", "ann", "cat", "eve"],
        "display_name": ["admin", "bob", "cat", "eve", "dan", "ann"],
        "last_seen_at": ["admin", "dan", "bob", "eve", "cat", "ann"],  # those never seen come first
    }
    for sort, expected in orders.items():
        assert await in_pages(campus.admin, sort) == expected
        assert await in_pages(campus.admin, f"-{sort}") == expected[::-1]


async def in_pages(client: ApiClient, sort: str) -> list[str]:
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = made(await client.get("/users", params={"sort": sort, "limit": 2, **cursor}))
        found += [one["name"] for one in page["items"]]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


async def test_summary_counts_what_the_list_shows(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    await campus.person("ann", lab, ADMINISTRATOR)
    await campus.person("mei", lab)
    await campus.person("gone", lab, state="disabled")
    await campus.person("waits", lab, state="pending")
    offer = {"organisation_id": lab, "role_id": campus.presets["user"], "expires_in_hours": 1}
    made(await campus.admin.post("/invitations", offer))
    made(await campus.admin.post("/join-codes", {**offer, "seats": 2}))
    expected = {
        "people": 4,
        "pending": 1,
        "disabled": 1,
        "with_more_than_user_role": 1,
        "open_invitations": 1,
        "open_join_codes": 1,
    }
    assert made(await campus.admin.get("/users/summary", params={"organisation": lab})) == expected
    whole = made(await campus.admin.get("/users/summary"))
    assert (whole["people"], whole["with_more_than_user_role"]) == (5, 2)
    client = await campus.sign_in("ann")
    assert made(await client.get("/users/summary")) == expected
    campus.clock.advance(hours=1, seconds=1)
    later = made(await campus.admin.get("/users/summary", params={"organisation": lab}))
    assert (later["open_invitations"], later["open_join_codes"]) == (0, 0)


async def test_roles_and_places_elsewhere_stay_hidden(campus: Campus) -> None:
    lab, other = await campus.organisation("Vision Lab"), await campus.organisation("Robotics")
    mei = await campus.person("mei", lab)
    made(await campus.grant(mei, ADMINISTRATOR, other))
    await campus.person("lead", lab, ADMINISTRATOR)
    client = await campus.sign_in("lead")
    seen = made(await client.get(f"/users/{mei}"))
    assert [one["name"] for one in seen["organisations"]] == ["Vision Lab"]
    assert [one["organisation_name"] for one in seen["roles"]] == ["Vision Lab"]
    # Nor do filters and counts tell of them.
    assert await listed(client) == ["lead", "mei"]
    assert await listed(client, role=campus.presets[ADMINISTRATOR]) == ["lead"]
    assert made(await client.get("/users/summary"))["with_more_than_user_role"] == 1
    own = made(await (await campus.sign_in("mei")).get("/me"))
    assert [one["name"] for one in own["organisations"]] == ["Vision Lab", "Robotics"]
