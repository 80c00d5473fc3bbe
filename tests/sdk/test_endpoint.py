"""Which Corral a client finds, and that a token goes only to the address it belongs to."""

import json
import os
from pathlib import Path

import pytest
from corral_sdk import (
    Client,
    NotConfiguredError,
    SavedLogin,
    find_endpoint,
    forget_login,
    save_login,
    saved_logins,
)


@pytest.fixture
def user(tmp_path: Path) -> dict[str, str]:
    """The environment of someone who has nothing set up yet."""
    return {"HOME": str(tmp_path / "user")}


def run_in(home: Path, port: int, pid: int | None = None) -> Path:
    """What a running Corral leaves in its data directory."""
    home.mkdir(parents=True, exist_ok=True)
    url = f"http://127.0.0.1:{port}"
    endpoints = {"console": url, "api": f"{url}/api/v1", "pid": pid or os.getpid(), "version": "0.1.0"}
    (home / "endpoints.json").write_text(json.dumps(endpoints))
    (home / "local-token").write_text(f"local-{port}\n")
    return home


def saved(url: str) -> SavedLogin:
    return SavedLogin(url, "mei", "t1", f"token of {url}")


def test_what_is_given_wins(user: dict[str, str]) -> None:
    save_login(saved("https://a.example"), user)
    environ = {**user, "CORRAL_URL": "https://b.example", "CORRAL_TOKEN": "from environment"}
    found = find_endpoint("https://c.example/", "given", environ)
    assert (found.url, found.token) == ("https://c.example", "given")


def test_the_environment_comes_next(user: dict[str, str]) -> None:
    save_login(saved("https://a.example"), user)
    environ = {**user, "CORRAL_URL": "https://b.example", "CORRAL_TOKEN": "secret"}
    found = find_endpoint(environ=environ)
    assert (found.url, found.token) == ("https://b.example", "secret")


def test_a_named_data_directory_comes_before_a_saved_login(user: dict[str, str], tmp_path: Path) -> None:
    save_login(saved("https://a.example"), user)
    home = run_in(tmp_path / "data", 8731)
    found = find_endpoint(environ={**user, "CORRAL_HOME": str(home)})
    assert (found.url, found.token) == ("http://127.0.0.1:8731", "local-8731")


def test_a_saved_login_comes_before_the_default_data_directory(user: dict[str, str]) -> None:
    run_in(Path(user["HOME"]) / ".local/share/corral", 8710)
    assert find_endpoint(environ=user).token == "local-8710"
    save_login(saved("https://a.example"), user)
    assert find_endpoint(environ=user).url == "https://a.example"


def test_an_address_alone_gets_the_token_that_belongs_to_it_and_no_other(user: dict[str, str]) -> None:
    run_in(Path(user["HOME"]) / ".local/share/corral", 8710)
    save_login(saved("https://a.example"), user)
    assert find_endpoint("https://a.example", environ=user).token == "token of https://a.example"
    assert find_endpoint("http://127.0.0.1:8710", environ=user).token == "local-8710"
    assert find_endpoint("https://other.example", environ=user).token is None
    assert find_endpoint(environ={**user, "CORRAL_URL": "https://other.example"}).token is None


def test_a_corral_that_was_killed_is_not_taken_for_a_running_one(
    user: dict[str, str], tmp_path: Path
) -> None:
    home = run_in(tmp_path / "data", 8731, pid=2**22 - 1)
    with pytest.raises(NotConfiguredError, match="corral up"):
        find_endpoint(environ={**user, "CORRAL_HOME": str(home)})


def test_without_anything_the_ways_in_are_named(user: dict[str, str]) -> None:
    with pytest.raises(NotConfiguredError, match="corral login") as caught:
        Client(environ=user)
    assert "corral up" in str(caught.value)


def test_logins_are_kept_for_this_user_alone_and_the_last_one_is_used(user: dict[str, str]) -> None:
    path = save_login(saved("https://a.example"), user)
    save_login(saved("https://b.example"), user)

    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    assert [each.url for each in saved_logins(user)] == ["https://b.example", "https://a.example"]

    save_login(saved("https://a.example"), user)
    assert find_endpoint(environ=user).url == "https://a.example"
    assert len(saved_logins(user)) == 2

    forget_login("https://a.example", user)
    assert [each.url for each in saved_logins(user)] == ["https://b.example"]


def test_the_place_of_saved_logins_follows_xdg(user: dict[str, str], tmp_path: Path) -> None:
    path = save_login(saved("https://a.example"), {**user, "XDG_CONFIG_HOME": str(tmp_path / "config")})
    assert path == tmp_path / "config" / "corral" / "credentials.json"


def test_the_authority_to_trust_comes_from_the_environment_or_with_what_is_known(
    user: dict[str, str], tmp_path: Path
) -> None:
    home = run_in(tmp_path / "data", 8731)
    endpoints = json.loads((home / "endpoints.json").read_text())
    (home / "endpoints.json").write_text(json.dumps({**endpoints, "certificate": "/own.pem"}))
    assert find_endpoint(environ={**user, "CORRAL_HOME": str(home)}).ca_file == "/own.pem"

    save_login(SavedLogin("https://a.example", "mei", "t1", "secret", "/campus.pem"), user)
    assert find_endpoint(environ=user).ca_file == "/campus.pem"
    assert find_endpoint("https://a.example", environ=user).ca_file == "/campus.pem"
    assert find_endpoint("https://b.example", environ=user).ca_file is None
    assert find_endpoint(environ={**user, "CORRAL_CA_FILE": "/other.pem"}).ca_file == "/other.pem"


def test_all_that_is_said_needs_no_saved_logins(user: dict[str, str]) -> None:
    """A workload has its address and token, and perhaps a home that it may not read."""
    save_login(saved("https://a.example"), user).write_text("{")
    environ = {**user, "CORRAL_URL": "https://a.example", "CORRAL_TOKEN": "secret"}
    assert find_endpoint(environ=environ).token == "secret"


def test_a_damaged_file_is_named(user: dict[str, str]) -> None:
    path = save_login(saved("https://a.example"), user)
    path.write_text("{")
    with pytest.raises(NotConfiguredError, match=str(path)):
        find_endpoint(environ=user)
