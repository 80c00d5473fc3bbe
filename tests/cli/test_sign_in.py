"""Signing in: the person who started Corral needs none; everyone else gives a password once."""

import json
import socket
from pathlib import Path

from tests.cli.people import new_person
from tests.cli.running import Corral, Done
from tests.live import LiveCorral


def test_whoever_started_corral_needs_no_sign_in(admin: Corral, live_corral: LiveCorral) -> None:
    shown = admin("whoami", "--json").json
    assert shown["user"]["name"] == "admin"
    assert shown["url"] == live_corral.url
    assert "csrf_token" not in shown
    assert "settings.manage" in admin("whoami").out


def test_a_sign_in_is_kept_for_this_user_and_used_from_then_on(
    corral: Corral, done: Done, live_corral: LiveCorral, someone: dict[str, str]
) -> None:
    new_person(done, live_corral, "mei", "seven quiet horses")

    signed_in = corral(
        "login", "--url", live_corral.url, "--name", "mei", "--password-stdin", stdin="seven quiet horses\n"
    )

    assert signed_in.code == 0, signed_in.err
    assert "Signed in" in signed_in.out
    saved = Path(someone["HOME"]) / ".config" / "corral" / "credentials.json"
    assert saved.stat().st_mode & 0o777 == 0o600
    assert "seven quiet horses" not in saved.read_text()
    assert corral("whoami", "--json").json["user"]["name"] == "mei"
    (token,) = corral("token", "list", "--json").json
    assert token["name"] == f"corral login on {socket.gethostname()}"


def test_signing_out_revokes_the_token(
    corral: Corral, done: Done, live_corral: LiveCorral, someone: dict[str, str]
) -> None:
    new_person(done, live_corral, "lin", "seven quiet horses")
    corral(
        "login", "--url", live_corral.url, "--name", "lin", "--password-stdin", stdin="seven quiet horses\n"
    )
    saved = json.loads((Path(someone["HOME"]) / ".config/corral/credentials.json").read_text())["logins"][0]

    signed_out = corral("logout", "--json")

    assert signed_out.json == {"url": live_corral.url, "revoked": True, "problem": None}
    refused = corral("whoami", CORRAL_URL=live_corral.url, CORRAL_TOKEN=saved["token"])
    assert refused.code == 1
    assert corral("logout").code == 1


def test_a_sign_in_that_cannot_be_kept_leaves_no_token(
    corral: Corral, done: Done, live_corral: LiveCorral
) -> None:
    new_person(done, live_corral, "wei", "seven quiet horses")
    sign_in = ["login", "--url", live_corral.url, "--name", "wei", "--password-stdin"]

    refused = corral(*sign_in, stdin="seven quiet horses\n", HOME="/proc/nowhere")

    assert refused.code == 1
    assert "cannot be saved" in refused.err
    assert "XDG_CONFIG_HOME" in refused.err
    made = done("audit", "list", "--user", "wei", "--action", "token.create")
    revoked = done("audit", "list", "--user", "wei", "--action", "token.revoke")
    assert [each["object_id"] for each in made] == [each["object_id"] for each in revoked]
    assert len(made) == 1


def test_a_wrong_password_is_refused_in_the_words_of_the_api(corral: Corral, live_corral: LiveCorral) -> None:
    refused = corral(
        "login", "--url", live_corral.url, "--name", "nobody", "--password-stdin", stdin="wrong\n"
    )
    assert refused.code == 1
    assert "Signing in failed" in refused.err
    assert refused.out == ""


def test_a_login_link_for_the_console_can_be_had_again(done: Done, live_corral: LiveCorral) -> None:
    made = done("login", "--link")
    assert made["url"].startswith(f"{live_corral.url}/login#once=")


def test_a_first_password_has_to_be_replaced_by_the_person(corral: Corral, live_corral: LiveCorral) -> None:
    password = live_corral.admin_password
    refused = corral(
        "login", "--url", live_corral.url, "--name", "admin", "--password-stdin", stdin=f"{password}\n"
    )
    assert refused.code == 1
    assert "A new password has to be chosen first." in refused.err
    assert password not in refused.out + refused.err
