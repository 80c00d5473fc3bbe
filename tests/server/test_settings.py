"""Settings: four sources, one winner, and refusals that say what to do."""

import os
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from pydantic import ValidationError

from corral.core.bounds import PersonBounds
from corral.server import settings_doc
from corral.server.handover import hand_over, take_over
from corral.server.settings import Settings, mask_database_url
from corral.server.settings_sources import SettingProblem, SettingsError, default_home, load_settings


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def write_file(home: Path, text: str, mode: int = 0o600) -> Path:
    home.mkdir(exist_ok=True)
    path = home / "corral.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


def problem(flags: dict[str, str], environ: dict[str, str], config: Path | None = None) -> SettingProblem:
    with pytest.raises(SettingsError) as caught:
        load_settings(flags, environ, config)
    (only,) = caught.value.problems
    return only


def test_later_sources_win_and_each_value_knows_its_origin(home: Path) -> None:
    file = write_file(home, '# places\nport = 9001\nlog_level = "debug"\nlog_format = "json"\n')
    environ = {"CORRAL_HOME": str(home), "CORRAL_PORT": "9002", "CORRAL_LOG_LEVEL": "error"}

    loaded = load_settings({"port": "9003"}, environ)

    assert (loaded.settings.port, loaded.origins["port"].text) == (9003, "the flag --port")
    assert (loaded.settings.log_level, loaded.origins["log_level"].text) == ("error", "CORRAL_LOG_LEVEL")
    assert (loaded.settings.log_format, loaded.origins["log_format"].text) == ("json", f"{file}, line 4")
    assert (loaded.settings.host, loaded.origins["host"].kind) == ("127.0.0.1", "default")
    assert loaded.file == file


def test_the_data_directory_follows_xdg_unless_named() -> None:
    assert default_home({"HOME": "/h"}) == Path("/h/.local/share/corral")
    assert default_home({"HOME": "/h", "XDG_DATA_HOME": "/data"}) == Path("/data/corral")
    assert default_home({"HOME": "/h", "XDG_DATA_HOME": "relative"}) == Path("/h/.local/share/corral")
    assert load_settings({}, {"CORRAL_HOME": "/elsewhere"}).settings.home == Path("/elsewhere")
    assert load_settings({"home": "/flag"}, {"CORRAL_HOME": "/elsewhere"}).settings.home == Path("/flag")


def test_a_named_file_may_move_the_data_directory_and_a_found_one_may_not(tmp_path: Path, home: Path) -> None:
    named = tmp_path / "site.toml"
    named.write_text('home = "data"\n')
    assert load_settings({}, {}, named).settings.home == tmp_path / "data"
    assert load_settings({}, {"CORRAL_CONFIG": str(named)}).settings.home == tmp_path / "data"

    write_file(home, 'home = "/other"\n')
    assert "cannot move it" in problem({}, {"CORRAL_HOME": str(home)}).reason


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("port", "abc", "a whole number from 1 to 65535"),
        ("port", "0", "a whole number from 1 to 65535"),
        ("port", "65536", "a whole number from 1 to 65535"),
        ("log_level", "loud", "debug, info, warning or error"),
        ("host", "not a host", "an IP address or host name of this machine"),
        ("behind_proxy", "http://corral.example", "empty, or https://<name>"),
        ("behind_proxy", "https://corral.example/path", "empty, or https://<name>"),
        ("trusted_proxies", "10.0.0.0/8,nonsense", "IP addresses or networks"),
        ("database_url", "mysql://h/d", "empty, sqlite:///<path>, or postgresql://"),
        ("database_url", "sqlite:///:memory:", "empty, sqlite:///<path>, or postgresql://"),
        ("database_url", "postgresql://host", "empty, sqlite:///<path>, or postgresql://"),
        ("tls_certificate", "/nonexistent.pem", "empty, or the path of a readable PEM file"),
        ("allowed_networks", "10.1.0.0/8", "networks such as 10.1.0.0/16 and names"),
        ("allowed_networks", "mirror.lab,no name", "networks such as 10.1.0.0/16 and names"),
        ("first_uid", "0", "a whole number from 1000"),
        ("token_max_days", "0", "a whole number from 1 to 3650"),
    ],
)
def test_a_wrong_value_names_key_value_origin_and_what_is_allowed(key: str, value: str, allowed: str) -> None:
    variable = f"CORRAL_{key.upper()}"

    found = problem({}, {variable: value})

    assert (found.key, found.value, found.origin) == (key, value, variable)
    assert found.allowed.startswith(allowed)
    assert all(part in str(found) for part in (key, value, variable, allowed))


def test_a_boolean_in_the_file_is_no_port(home: Path) -> None:
    write_file(home, "port = true\n")
    assert "boolean" in problem({}, {"CORRAL_HOME": str(home)}).reason


def test_all_wrong_values_are_told_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings({"port": "x", "log_level": "x"}, {})
    assert {each.key for each in caught.value.problems} == {"port", "log_level"}


def test_unknown_keys_are_refused_with_the_nearest_name(home: Path) -> None:
    assert "did you mean CORRAL_PORT" in problem({}, {"CORRAL_PRT": "1"}).reason
    file = write_file(home, "log_levle = 'info'\n")
    found = problem({}, {"CORRAL_HOME": str(home)})
    assert (found.origin, "did you mean log_level" in found.reason) == (f"{file}, line 1", True)
    assert "session_hours" in problem({"zzz": "1"}, {}).allowed


def test_variables_of_the_client_and_of_kubernetes_are_no_settings() -> None:
    environ = {"CORRAL_URL": "http://x", "CORRAL_TOKEN": "t", "CORRAL_SERVICE_HOST": "10.0.0.1"}
    environ |= {"CORRAL_CACHE": "/somewhere"}
    assert load_settings({}, environ | {"CORRAL_PORT_8710_TCP": "tcp://10.0.0.1:8710"}).settings.port == 8710
    assert "Kubernetes" in problem({}, {"CORRAL_PORT": "tcp://10.0.0.1:8710"}).reason


def test_a_broken_or_missing_named_file_is_told(tmp_path: Path) -> None:
    assert "no such file" in problem({}, {}, tmp_path / "none.toml").reason
    broken = tmp_path / "broken.toml"
    broken.write_text("port = = 1")
    assert "not valid TOML" in problem({}, {}, broken).reason


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "corral.example"])
def test_a_public_bind_without_tls_is_refused_and_names_the_tunnel(host: str) -> None:
    found = problem({"host": host, "port": "8731"}, {})
    assert found.key == "host"
    assert "ssh -L 8731:127.0.0.1:8731" in found.reason
    assert "tls_certificate" in found.reason
    assert "behind_proxy" in found.reason


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "LOCALHOST", "a.localhost"])
def test_loopback_needs_no_tls(host: str) -> None:
    settings = load_settings({"host": host}, {}).settings
    assert settings.is_loopback
    assert not settings.is_tls


def test_behind_a_proxy_links_use_its_address_and_hosts_are_known() -> None:
    settings = load_settings({"host": "0.0.0.0", "behind_proxy": "https://Corral.Example:8443/"}, {}).settings
    assert settings.public_url == "https://corral.example:8443"
    assert settings.local_url == "http://127.0.0.1:8710"
    assert settings.is_tls
    assert not settings.serves_tls
    assert "corral.example" in settings.allowed_hosts
    assert "0.0.0.0" not in settings.allowed_hosts


def test_own_certificate_needs_key_and_a_name(tmp_path: Path) -> None:
    pem = tmp_path / "x.pem"
    pem.write_text("pem")
    assert problem({"tls_certificate": str(pem)}, {}).key == "tls_key"
    assert problem({"tls_key": str(pem)}, {}).key == "tls_certificate"
    pair = {"tls_certificate": str(pem), "tls_key": str(pem), "host": "0.0.0.0"}
    assert problem(pair, {}).key == "host_names"
    settings = load_settings({**pair, "host_names": "gpu.example, gpu2.example", "port": "443"}, {}).settings
    assert settings.public_url == "https://gpu.example"
    assert settings.allowed_hosts[-2:] == ("gpu.example", "gpu2.example")


def test_paths_in_the_file_start_at_the_file(home: Path) -> None:
    write_file(home, 'tls_certificate = "c.pem"\ntls_key = "k.pem"\n')
    (home / "c.pem").touch()
    (home / "k.pem").touch()
    assert load_settings({}, {"CORRAL_HOME": str(home)}).settings.tls_key == home / "k.pem"


@pytest.mark.parametrize(
    ("given", "resolved"),
    [
        ("", "sqlite:////h/corral.db"),
        ("sqlite:///other.db", "sqlite:////h/other.db"),
        ("sqlite:////var/c.db", "sqlite:////var/c.db"),
        ("postgresql://u:p@db:5433/c", "postgresql+asyncpg://u:p@db:5433/c"),
        ("postgres://db/c?sslmode=require", "postgresql+asyncpg://db/c?ssl=require"),
    ],
)
def test_the_database_address_names_driver_and_place(given: str, resolved: str) -> None:
    assert load_settings(
        {}, {"CORRAL_HOME": "/h", "CORRAL_DATABASE_URL": given}
    ).settings.database_url_resolved == (resolved)


def test_a_database_password_is_never_shown(home: Path) -> None:
    url = "postgresql://corral:s3cret@db/corral"
    assert mask_database_url(url) == "postgresql://corral:********@db/corral"
    assert mask_database_url("postgresql://db/c?user=u&password=s3cret") == (
        "postgresql://db/c?user=u&password=********"
    )
    settings = load_settings({}, {"CORRAL_DATABASE_URL": url}).settings
    assert "s3cret" not in repr(settings)
    assert "s3cret" not in str(settings.shown("database_url"))
    with pytest.raises(SettingsError) as caught:
        load_settings({}, {"CORRAL_DATABASE_URL": "mysql://u:s3cret@h/d"})
    assert "s3cret" not in str(caught.value)


def test_a_database_password_in_a_flag_or_in_an_open_file_is_refused(home: Path) -> None:
    url = "postgresql://corral:s3cret@db/corral"
    in_flag = problem({"database_url": url}, {})
    assert "CORRAL_DATABASE_URL" in in_flag.reason
    assert "s3cret" not in str(in_flag)
    file = write_file(home, f'database_url = "{url}"\n', mode=0o644)
    assert f"chmod 600 {file}" in problem({}, {"CORRAL_HOME": str(home)}).reason
    file.chmod(0o600)
    assert load_settings({}, {"CORRAL_HOME": str(home)}).settings.database_url == url


def test_a_session_cannot_rest_longer_than_it_lives() -> None:
    assert problem({"session_hours": "3"}, {}).key == "session_idle_hours"


def test_every_bound_of_a_person_has_a_setting_with_its_usual_value() -> None:
    usual = Settings(home=Path("/srv/corral"))
    assert usual.person_bounds == PersonBounds()
    names = [key for key in Settings.model_fields if key.startswith("max_")]
    changed = Settings(home=usual.home, **{key: getattr(usual, key) - 1 for key in names})
    before, after = asdict(usual.person_bounds), asdict(changed.person_bounds)
    assert after == {key: value - 1 for key, value in before.items()}
    assert len(names) == len(after)


def test_settings_are_frozen() -> None:
    settings = load_settings({}, {"CORRAL_HOME": "/h"}).settings
    with pytest.raises(ValidationError):
        settings.port = 1  # type: ignore[misc]


def test_handed_over_settings_arrive_unchanged_for_every_reader() -> None:
    settings = load_settings(
        {"port": "8731"}, {"CORRAL_HOME": "/h", "CORRAL_DATABASE_URL": "sqlite:///x.db"}
    ).settings
    descriptor = hand_over(settings)
    assert take_over(descriptor) == settings
    assert take_over(descriptor) == settings
    os.close(descriptor)


def test_every_setting_says_what_it_is_and_what_is_allowed() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert isinstance(field.json_schema_extra, dict), name
        assert field.json_schema_extra["allowed"], name


def test_the_configuration_page_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert settings_doc.main(["--check"]) == 0


def test_a_page_that_is_not_current_is_noticed_and_can_be_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings_doc.main(["--check"]) == 1
    assert settings_doc.main(["--write"]) == 0
    assert settings_doc.main(["--check"]) == 0


def test_the_examples_of_the_configuration_page_are_accepted(tmp_path: Path) -> None:
    page = settings_doc.render().replace("/etc/corral/", f"{tmp_path}/")
    (tmp_path / "fullchain.pem").touch()
    (tmp_path / "privkey.pem").touch()
    examples = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        file = tmp_path / "example.toml"
        file.write_text(example)
        load_settings({}, {}, file)
