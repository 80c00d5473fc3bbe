"""`corral settings`: mail, registration, checklist and the installation."""

from tests.cli.running import Corral, Done
from tests.live import free_port


def use_mail_server(done: Done, port: int) -> None:
    server = ["--host", "127.0.0.1", "--port", str(port), "--encryption", "starttls"]
    done("settings", "mail", "edit", *server, "--sender", "corral@example.org")


def test_what_is_not_given_stays_as_it_is(admin: Corral, done: Done) -> None:
    port = free_port()
    use_mail_server(done, port)
    changed = done("settings", "mail", "edit", "--sender", "gpus@example.org")
    assert (changed["host"], changed["port"], changed["sender"]) == ("127.0.0.1", port, "gpus@example.org")
    assert f"127.0.0.1, port {port}, starttls" in admin("settings", "mail", "show").out


def test_a_password_is_stored_and_never_shown(admin: Corral, done: Done) -> None:
    use_mail_server(done, free_port())
    stored = admin(
        "settings", "mail", "edit", "--user-name", "corral", "--password-stdin", "--json", stdin="s3cret\n"
    )
    assert stored.code == 0, stored.err
    assert stored.json["password_set"] is True
    assert "s3cret" not in stored.out + admin("settings", "mail", "show").out


def test_a_mail_server_that_does_not_answer_is_told(admin: Corral, done: Done) -> None:
    use_mail_server(done, free_port())
    refused = admin("settings", "mail", "test", "mei@example.org")
    assert refused.code == 1
    assert "127.0.0.1" in refused.err


def test_sign_up_is_off_until_it_is_allowed(admin: Corral, done: Done) -> None:
    assert done("settings", "registration", "show")["sign_up"] is False
    assert done("settings", "registration", "edit", "--sign-up")["sign_up"] is True
    assert "wait for approval" in admin("settings", "registration", "show").out
    assert done("settings", "registration", "edit", "--no-sign-up")["sign_up"] is False


def test_the_checklist_and_the_installation_are_shown(admin: Corral, done: Done) -> None:
    assert {each["key"] for each in done("settings", "checklist")["items"]} >= {"password", "people"}
    assert " done." in admin("settings", "checklist").err
    assert done("settings", "system")["machine"]["cpu_count"] >= 1
    assert "sqlite" in admin("settings", "system").out
