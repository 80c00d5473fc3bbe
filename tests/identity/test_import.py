"""People from a CSV: a rehearsal line by line, then all or nobody."""

import time
from typing import Any

from tests.campus import ADMINISTRATOR, OF_USERS, Campus, made, refused
from tests.statements import statements


def wanted(campus: Campus, csv: str, **more: Any) -> dict[str, Any]:
    return {"organisation_id": campus.root, "role_id": campus.presets["user"], "csv": csv, **more}


async def names(campus: Campus) -> list[str]:
    return [one["name"] for one in made(await campus.admin.get("/users"))["items"]]


async def test_dry_run_says_what_each_line_would_do_and_does_nothing(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    await campus.person("ann", lab)
    await campus.person("bob")
    csv = (
        "name,display_name,mail,priority\n"
        "mei,Mei-Ling Chen,mei@example.org,3\n"
        "ann,,,\n"
        "bob,,,\n"
        "Not Good,,,\n"
        "eve,,nowhere,9\n"
        "mei,Again,,\n"
        "dan,Dan,d@example.org,1,too much\n"
    )
    answer = made(await campus.admin.post("/users/import", wanted(campus, csv, dry_run=True)))
    assert [(row["line"], row["name"], row["result"]) for row in answer["rows"]] == [
        (2, "mei", "create"),
        (3, "ann", "add"),
        (4, "bob", "unchanged"),
        (5, "not good", "error"),
        (6, "eve", "error"),
        (7, "mei", "error"),
        (8, "dan", "error"),
    ]
    assert (answer["created"], answer["added"], answer["errors"]) == (1, 1, 4)
    problems = {row["name"]: " ".join(row["problems"]) for row in answer["rows"]}
    assert "mail" in problems["eve"]
    assert "priority" in problems["eve"]
    assert "twice" in problems["mei"]
    assert "5 cells for 4 columns" in problems["dan"]
    assert all(row["login_link"] is None for row in answer["rows"])
    assert await names(campus) == ["admin", "ann", "bob"]


async def test_import_is_all_or_nobody(campus: Campus) -> None:
    problem = refused(
        await campus.admin.post("/users/import", wanted(campus, "name\nmei\nNot Good\n")), 422, "invalid"
    )
    assert problem["errors"][0]["field"] == "body.csv"
    assert problem["errors"][0]["message"].startswith("Line 3:")
    assert await names(campus) == ["admin"]


async def test_imported_people_sign_in_by_their_links_and_existing_ones_are_added(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    ann = await campus.person("ann")
    lines = ["\ufeffMail , NAME,Display_Name", 'mei@example.org,Mei,"Chen, ""Mei"""', "", ",ann,"]
    csv = "\r\n".join([*lines, ",lin,陳\u3000美玲", ""])
    body = wanted(campus, csv, organisation_id=lab)
    answer = made(await campus.admin.post("/users/import", body))
    assert (answer["created"], answer["added"], answer["errors"]) == (2, 1, 0)
    by_name = {row["name"]: row for row in answer["rows"]}
    assert by_name["mei"]["display_name"] == 'Chen, "Mei"'
    assert by_name["lin"]["display_name"] == "陳 美玲"
    client = await campus.use_link(by_name["mei"]["login_link"]["secret"])
    session = made(await client.get("/session"))
    assert (session["user"]["mail"], session["must_change_password"]) == ("mei@example.org", True)
    assert by_name["ann"]["login_link"] is None
    places = made(await campus.admin.get(f"/users/{ann}"))["organisations"]
    assert [one["name"] for one in places] == ["Corral", "Vision Lab"]
    again = made(await campus.admin.post("/users/import", body))
    assert {row["result"] for row in again["rows"]} == {"unchanged"}


async def test_a_file_that_is_no_list_of_people_is_refused(campus: Campus) -> None:
    for csv, word in {
        "name,phone\nmei,1\n": "phone",
        "display_name\nMei\n": "name is missing",
        "name,name\nmei,mei\n": "double",
        'name\n"mei\n': "not CSV",
        "name;mail\nmei;a@b.org\n": "name;mail",
        "\n \n": "empty",
        "name\n" + "x\n" * 5001: "more than the 5000",
    }.items():
        answer = await campus.admin.post("/users/import", wanted(campus, csv))
        assert word in refused(answer, 422, "invalid", "body.csv")["detail"]
    for odd in ("mail\nmei,a\x00@b.org", "display_name\nmei,a\x00b", "display_name\nmei,a\u202eb"):
        answer = await campus.admin.post("/users/import", wanted(campus, f"name,{odd}\n"))
        refused(answer, 422, "invalid", "body.csv")
    made(await campus.admin.post("/users/import", wanted(campus, "name\n")))  # nobody is nobody


async def test_import_stays_within_the_importers_authority(campus: Campus) -> None:
    lab, other = await campus.organisation("Vision Lab"), await campus.organisation("Robotics")
    await campus.person("ann", other)
    await campus.person("lead", lab, ADMINISTRATOR)
    client = await campus.sign_in("lead")
    in_lab = {"organisation_id": lab}
    refused(await client.post("/users/import", wanted(campus, "name\nmei\n")), 404, "not-found")
    above = wanted(campus, "name\nmei\n", **in_lab, role_id=campus.presets["super_administrator"])
    refused(await client.post("/users/import", above), 403, "forbidden")
    # People elsewhere are not drawn in, and nothing is told about them but that the name is taken.
    taken = made(await client.post("/users/import", wanted(campus, "name\nann\n", **in_lab, dry_run=True)))
    assert taken["rows"][0]["problems"] == ["name: taken"]
    keeper = await campus.role("Keeper", ["people.read", "people.manage", *OF_USERS], lab)
    await campus.person("keeper", lab, keeper)
    await campus.person("mei", lab, keeper)
    program = await campus.sign_in("keeper")
    add = wanted(campus, "name\nmei\nnew\n", **in_lab, dry_run=True)
    rows = made(await program.post("/users/import", add))["rows"]
    assert "roles.grant" in rows[0]["problems"][0]
    assert rows[1]["result"] == "create"


async def test_five_thousand_people_take_seconds(campus: Campus) -> None:
    csv = "name,display_name,mail\n" + "".join(
        f"student{n},Student {n},student{n}@example.org\n" for n in range(5000)
    )
    started = time.process_time()
    answer = made(await campus.admin.post("/users/import", wanted(campus, csv)))
    assert answer["created"] == 5000
    assert time.process_time() - started < 10
    assert made(await campus.admin.get("/users/summary"))["people"] == 5001
    await campus.use_link(answer["rows"][4999]["login_link"]["secret"])
    entries = await campus.audit(action="user.create")
    assert len(entries) == 200


async def test_people_who_exist_are_found_in_a_few_statements(campus: Campus) -> None:
    """Four statements for each of 5,000 kept everybody else from writing for 40 s."""
    lab = await campus.organisation("Large Lab")
    place = {"organisation_id": lab, "role_id": campus.presets["user"]}
    text = "name\n" + "\n".join(f"student{number}" for number in range(60))
    assert made(await campus.admin.post("/users/import", {"csv": text, **place}))["created"] == 60
    with statements("membership", "role_grant") as seen:
        again = made(await campus.admin.post("/users/import", {"csv": text, "dry_run": True, **place}))
    assert {row["result"] for row in again["rows"]} == {"unchanged"}
    assert len(seen) < 12
