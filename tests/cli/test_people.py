"""Organisations, people and roles from the command line, against a running Corral."""

from itertools import count
from pathlib import Path

import pytest

from tests.cli.running import Corral, Done

numbers = count(1)


@pytest.fixture
def lab(done: Done) -> str:
    """A fresh organisation below the root; its name."""
    name = f"Lab {next(numbers)}"
    done("org", "create", name)
    return name


@pytest.fixture
def person(done: Done, lab: str) -> str:
    """A fresh person in the lab; their name."""
    name = f"person{next(numbers)}"
    done("user", "create", name, "--display-name", f"Person {name}", "--org", lab)
    return name


def test_the_tree_is_shown_as_a_tree(admin: Corral, done: Done, lab: str) -> None:
    done("org", "create", "Optics", "--parent", lab)
    lines = admin("org", "list").out.splitlines()
    depth = {name: line.index(name) for line in lines for name in (lab, "Optics") if f"{name}  " in line}
    assert depth["Optics"] > depth[lab] > 0


def test_an_organisation_is_renamed_moved_and_deleted_by_name(admin: Corral, done: Done, lab: str) -> None:
    made = done("org", "create", f"Old of {lab}", "--parent", lab)
    other = done("org", "create", f"Other of {lab}")
    renamed = done("org", "edit", made["name"], "--name", f"New of {lab}")
    assert renamed["name"] == f"New of {lab}"
    moved = done("org", "edit", f"New of {lab}", "--parent", other["id"])
    assert moved["parent_id"] == other["id"]

    kept = admin("org", "delete", f"New of {lab}", stdin="something else\n")
    assert kept.code == 1
    assert "Nothing was deleted" in kept.err
    assert admin("org", "delete", f"New of {lab}", stdin=f"New of {lab}\n").code == 0
    assert admin("org", "show", f"New of {lab}").code == 1


def test_a_name_that_fits_twice_is_not_guessed(admin: Corral, done: Done, lab: str) -> None:
    other = done("org", "create", f"Second {lab}")["name"]
    ids = [done("org", "create", f"Shared {lab}", "--parent", above)["id"] for above in (lab, other)]

    refused = admin("org", "show", f"Shared {lab}")

    assert refused.code == 2
    assert all(each in refused.err for each in ids)
    assert done("org", "show", f"{lab}/Shared {lab}")["id"] == ids[0]


def test_a_new_person_gets_a_login_link_and_is_found_by_filters(done: Done, lab: str) -> None:
    name = f"chen{next(numbers)}"
    made = done("user", "create", name, "--display-name", "Mei-Ling Chen", "--org", lab, "--priority", "3")
    assert "/login#once=" in made["login_link"]["url"]
    assert made["user"]["priority"] == 3
    for filters in (
        ["--search", name],
        ["--org", lab],
        ["--org", lab, "--role", "user", "--state", "active"],
    ):
        assert name in [each["name"] for each in done("user", "list", *filters)]
    assert done("user", "list", "--org", lab, "--state", "disabled") == []


def test_people_are_shown_in_a_table(admin: Corral, person: str) -> None:
    shown = admin("user", "list", "--search", person)
    assert "Display name" in shown.out.splitlines()[0]
    assert f"Person {person}" in shown.out


def test_an_account_is_disabled_and_enabled(admin: Corral, done: Done, person: str) -> None:
    assert done("user", "disable", person)["state"] == "disabled"
    assert done("user", "enable", person)["state"] == "active"
    assert "can no longer sign in" in admin("user", "disable", person).out


def test_priority_outside_one_to_five_is_refused_with_the_field(
    admin: Corral, done: Done, person: str
) -> None:
    assert done("user", "edit", person, "--priority", "5")["priority"] == 5
    refused = admin("user", "edit", person, "--priority", "6")
    assert refused.code == 1
    assert refused.err.startswith("--priority: ")
    assert "At most 5." in refused.err


def role_keys(done: Done, person: str) -> list[str]:
    return [each["role_key"] for each in done("user", "show", person)["roles"]]


def test_a_role_is_given_on_an_organisation_and_taken_again(
    admin: Corral, done: Done, lab: str, person: str
) -> None:
    given = done("user", "grant", person, "organisation_administrator", "--org", lab, "--until", "30d")
    held = next(each for each in given["roles"] if each["role_key"] == "organisation_administrator")
    assert held["organisation_name"] == lab
    assert held["expires_at"] is not None
    assert "organisation_administrator" in role_keys(done, person)

    done("user", "revoke", person, "organisation_administrator")

    assert "organisation_administrator" not in role_keys(done, person)
    refused = admin("user", "revoke", person, "organisation_administrator")
    assert refused.code == 1
    assert "does not hold it" in refused.err


def test_people_are_imported_from_a_file_after_a_look(
    admin: Corral, done: Done, lab: str, tmp_path: Path
) -> None:
    number = next(numbers)
    file = tmp_path / "people.csv"
    file.write_text(f"name,display_name,mail\nimp{number},One,one{number}@example.org\nimq{number},Two,\n")

    look = done("user", "import", str(file), "--org", lab, "--dry-run")
    assert [row["result"] for row in look["rows"]] == ["create", "create"]
    assert done("user", "list", "--org", lab) == []

    result = done("user", "import", str(file), "--org", lab)
    assert result["created"] == 2
    assert len(done("user", "list", "--org", lab)) == 2


def test_a_file_with_mistakes_names_the_lines(admin: Corral, lab: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("name,mail\nGood Name!,x\n")
    refused = admin("user", "import", str(file), "--org", lab, "--dry-run")
    assert refused.code == 1
    assert "2" in refused.out
    assert "mail: not a mail address" in refused.out


def test_a_file_that_is_not_there_is_named(admin: Corral, tmp_path: Path) -> None:
    refused = admin("user", "import", str(tmp_path / "none.csv"))
    assert refused.code == 1
    assert "none.csv" in refused.err


def test_an_invitation_is_made_listed_and_taken_back(admin: Corral, done: Done, lab: str) -> None:
    made = done("user", "invitation", "create", "--org", lab, "--until", "2h")
    assert "/join#invitation=" in made["url"]
    identity = made["invitation"]["id"]
    assert identity in [each["id"] for each in done("user", "invitation", "list")]
    done("user", "invitation", "delete", identity)
    assert identity not in [each["id"] for each in done("user", "invitation", "list")]


def test_a_join_code_has_seats_and_can_be_ended(done: Done, lab: str) -> None:
    made = done("user", "join-code", "create", "--seats", "40", "--until", "3h", "--org", lab)
    assert (made["seats"], made["seats_taken"]) == (40, 0)
    assert made["code"] in [each["code"] for each in done("user", "join-code", "list")]
    done("user", "join-code", "delete", made["code"])
    assert made["code"] not in [each["code"] for each in done("user", "join-code", "list")]


def test_a_login_link_is_made_for_someone_else(done: Done, person: str) -> None:
    assert "/login#once=" in done("user", "login-link", person)["url"]
    done("user", "sign-out", person)


def test_a_custom_role_is_made_changed_and_deleted(admin: Corral, done: Done, lab: str) -> None:
    name = f"Helper {next(numbers)}"
    made = done("role", "create", name, "-p", "people.read", "-p", "organisations.read", "--org", lab)
    assert sorted(made["permissions"]) == ["organisations.read", "people.read"]
    changed = done("role", "edit", name, "--add", "people.invite", "--remove", "people.read")
    assert sorted(changed["permissions"]) == ["organisations.read", "people.invite"]
    assert done("role", "edit", name, "--description", "Helps")["permissions"] == changed["permissions"]
    refused = admin("role", "edit", name, "--remove", "audit.read")
    assert "does not have audit.read" in refused.err
    done("role", "delete", name, "--yes")
    assert admin("role", "show", name).code == 1


def test_permissions_and_presets_are_listed(admin: Corral, done: Done) -> None:
    assert "people.manage" in [each["permission"] for each in done("role", "permissions")]
    keys = [each["key"] for each in done("role", "list")]
    assert {"super_administrator", "organisation_administrator", "user"} <= set(keys)
    assert "people.manage" in admin("role", "show", "super_administrator").out


def test_a_role_made_of_unknown_permissions_is_refused(admin: Corral, lab: str) -> None:
    refused = admin("role", "create", "Wizard", "-p", "magic.use", "--org", lab)
    assert refused.code == 1
    assert "--permission: " in refused.err


def test_refusals_are_json_for_programs(admin: Corral, lab: str) -> None:
    import json

    refused = admin("org", "create", lab, "--json")
    assert refused.code == 1
    document = json.loads(refused.err)
    assert document["status"] == 409
    assert document["remedy"]


def test_names_with_markup_are_shown_as_they_are(admin: Corral, done: Done, lab: str) -> None:
    name = f"mark{next(numbers)}"
    done("user", "create", name, "--display-name", "[red]Mark[/red] & <b>", "--org", lab)
    assert "[red]Mark[/red] & <b>" in admin("user", "list", "--search", name).out
