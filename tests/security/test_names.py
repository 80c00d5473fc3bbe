"""Names that people would take for the same never stand side by side; ids, not names, find things."""

import re

from corral.core.ids import PATTERN
from tests.apps import ApiClient

LAB = "Vision Lab"
WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in "VisionLab")  # full-width forms of the same letters
SAME = ["vision lab", "VISION LAB", " Vision  Lab ", "Vision\u00a0Lab", "Vision Lab\u2003"]
SAME += [f"{WIDE[:6]}\u3000{WIDE[6:]}"]
ACCENTS = ("Caf\u00e9", "Cafe\u0301")
HIDDEN = ["Vision\u200bLab", "Vision\u202eLab", "Vision\x00Lab", "Vision\nLab\x07", "\u2066Lab"]


async def root_of(admin: ApiClient) -> str:
    return str((await admin.get("/organisations")).json()["items"][0]["id"])


async def test_organisations_that_read_the_same_cannot_be_siblings(admin: ApiClient) -> None:
    root = await root_of(admin)
    first = await admin.post("/organisations", {"parent_id": root, "name": LAB})
    assert first.status_code == 201
    for name in SAME:
        answer = await admin.post("/organisations", {"parent_id": root, "name": name})
        assert answer.status_code == 409, name
        assert answer.json()["errors"][0]["field"] == "body.name"
    below = await admin.post("/organisations", {"parent_id": first.json()["id"], "name": LAB})
    assert below.status_code == 201


async def test_accents_written_in_two_ways_are_one_name(admin: ApiClient) -> None:
    root = await root_of(admin)
    statuses = [
        (await admin.post("/organisations", {"parent_id": root, "name": name})).status_code
        for name in ACCENTS
    ]
    assert statuses == [201, 409]


async def test_invisible_characters_are_refused(admin: ApiClient) -> None:
    root = await root_of(admin)
    for name in HIDDEN:
        answer = await admin.post("/organisations", {"parent_id": root, "name": name})
        assert answer.status_code == 422, ascii(name)


async def test_role_cannot_be_renamed_into_another(admin: ApiClient) -> None:
    root = await root_of(admin)
    body = {"organisation_id": root, "permissions": ["people.read"]}
    assert (await admin.post("/roles", body | {"name": "Readers"})).status_code == 201
    other = (await admin.post("/roles", body | {"name": "Writers"})).json()
    answer = await admin.patch(f"/roles/{other['id']}", {"name": "READERS"}, match="*")
    assert answer.status_code == 409
    assert (await admin.post("/roles", body | {"name": "super administrator"})).status_code == 409


async def test_user_names_that_look_alike_do_not_exist(admin: ApiClient) -> None:
    root = await root_of(admin)
    role = (await admin.get("/roles")).json()["items"][-1]["id"]
    body = {"display_name": "Someone", "organisation_id": root, "role_id": role}
    for name in ("a-b", "a.b", "mei"):
        assert (await admin.post("/users", body | {"name": name})).status_code == 201
    for name in ("a--b", "A.B", "mei ", "m\u0435i", "me\u0131", "mei\u200d", "\uff4dei", "-mei", "me"):
        assert (await admin.post("/users", body | {"name": name})).status_code == 422, ascii(name)


async def test_names_with_the_same_cleaned_form_keep_apart_by_id(admin: ApiClient) -> None:
    """`a-b` and `a.b` may both exist: whatever is named after people uses ids, which never collide."""
    root = await root_of(admin)
    role = (await admin.get("/roles")).json()["items"][-1]["id"]
    body = {"display_name": "Someone", "organisation_id": root, "role_id": role}
    ids = {
        (await admin.post("/users", body | {"name": name})).json()["user"]["id"]
        for name in ("a-b", "a.b", "a_b", "ab")
    }
    assert len(ids) == 4
    assert all(re.fullmatch(PATTERN, one) for one in ids)


async def test_names_do_not_route(admin: ApiClient) -> None:
    for path in ("/users/admin", "/organisations/Corral", "/roles/user", "/users/..%2fme", "/users/%2e%2e"):
        assert (await admin.get(path)).status_code in {404, 422}, path
