"""The command itself: quick, helpful, and honest about what it does not know."""

import resource
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_command

from corral import __version__
from corral.cli import main
from corral.cli.up import up
from corral.server.settings import Settings
from tests.cli.running import Corral


def test_help_names_every_command_under_its_heading(program: Corral) -> None:
    shown = program("--help")
    assert shown.code == 0
    for name, entry in main._COMMANDS.items():
        assert f"  {name} " in shown.out
        assert f"{entry.panel}:" in shown.out


def test_help_answers_within_a_third_of_a_second_of_processor_time(program: Corral) -> None:
    # Processor time, not the clock: what the command costs must not depend on what else runs here.
    program("--help")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime) < 0.3


def test_help_imports_neither_the_server_nor_the_tables() -> None:
    ask = "import sys; from corral.cli import main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    heavy = {"pydantic", "rich", "fastapi", "sqlalchemy", "corral_sdk", "asyncio"}
    assert heavy.isdisjoint(loaded.stdout.split())


@pytest.mark.parametrize("name", sorted(main._COMMANDS))
def test_every_listed_command_exists_and_explains_itself(name: str, corral: Corral) -> None:
    command = get_command(import_module(f"corral.cli.{main._COMMANDS[name].module}").app)
    assert command.help
    shown = corral(name, "--help")
    assert shown.code == 0
    assert shown.out.startswith(f"Usage: corral {name}")


@pytest.mark.parametrize("name", sorted(set(main._COMMANDS) - {"up", "exec", "port-forward"}))
def test_every_command_can_answer_in_json(name: str) -> None:
    command = get_command(import_module(f"corral.cli.{main._COMMANDS[name].module}").app)
    waiting = [command]
    while waiting:
        each = waiting.pop()
        below = list(getattr(each, "commands", {}).values())
        waiting += below
        if not below:
            assert any("--json" in parameter.opts for parameter in each.params), each.name


def test_an_unknown_command_is_a_usage_error_with_the_nearest_name(corral: Corral) -> None:
    refused = corral("usr")
    assert refused.code == 2
    assert "Did you mean 'user'?" in refused.err


def test_an_unknown_option_is_a_usage_error(corral: Corral) -> None:
    assert corral("version", "--loud").code == 2


def test_the_version_is_told_in_both_ways(corral: Corral) -> None:
    assert corral("version").out.startswith(f"corral {__version__} ")
    assert corral("--version").out == f"corral {__version__}\n"
    assert corral("version", "--json").json["corral"] == __version__


@pytest.mark.parametrize(
    ("shell", "tells"), [("bash", "complete_bash"), ("zsh", "complete_zsh"), ("fish", "complete_fish")]
)
def test_completion_is_offered_for_the_shell(corral: Corral, shell: str, tells: str) -> None:
    shown = corral("completion", shell)
    assert shown.code == 0, shown.err
    assert f"_CORRAL_COMPLETE={tells}" in shown.out


def test_completion_for_another_shell_names_those_there_are(corral: Corral) -> None:
    refused = corral("completion", "csh")
    assert refused.code == 2
    assert "'bash', 'zsh', 'fish'" in refused.err


def complete(corral: Corral, words: str) -> list[str]:
    shown = corral(
        _CORRAL_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(len(words.split(" ")) - 1)
    )
    return shown.out.split()


def test_completion_knows_commands_and_their_parts(corral: Corral, program: Corral) -> None:
    assert complete(program, "corral whoa") == ["whoami"]
    assert complete(corral, "corral user inv") == ["invitation"]
    assert complete(corral, "corral up --ho") == [
        "--home",
        "--host",
        "--host-names",
        "--home-mib",
    ]


def test_every_setting_is_a_flag_of_up() -> None:
    assert set(up.__annotations__) - {"config", "return"} == set(Settings.model_fields)


def test_settings_are_shown_with_where_they_came_from(corral: Corral, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "corral.toml").write_text("log_level = 'debug'\n")

    shown = corral("config", "show", "--json", CORRAL_HOME=str(home), CORRAL_PORT="8731").json

    assert shown["port"] == {"value": 8731, "origin": "environment", "from": "CORRAL_PORT"}
    assert shown["log_level"]["from"] == f"{home / 'corral.toml'}, line 1"
    assert shown["host"] == {"value": "127.0.0.1", "origin": "default", "from": "the default"}


def test_a_database_password_is_masked_where_settings_are_shown(corral: Corral, tmp_path: Path) -> None:
    url = "postgresql://corral:s3cret@db.example/corral"
    for arguments in (["config", "show"], ["config", "show", "--json"], ["doctor"]):
        shown = corral(*arguments, CORRAL_DATABASE_URL=url, PATH=str(tmp_path))
        assert "s3cret" not in shown.out + shown.err
        assert "db.example" in shown.out


def test_wrong_settings_are_told_on_stderr_with_code_1(program: Corral) -> None:
    refused = program("up", CORRAL_PORT="many")
    assert refused.code == 1
    assert refused.out == ""
    assert "port = 'many' (from CORRAL_PORT)" in refused.err
    assert "a whole number from 1 to 65535" in refused.err


def test_wrong_settings_are_told_as_json_to_a_program(corral: Corral) -> None:
    import json

    refused = corral("config", "show", "--json", CORRAL_PORT="many")
    assert refused.code == 1
    assert json.loads(refused.err)["errors"][0]["field"] == "port"


def test_a_public_bind_without_tls_is_refused_with_the_tunnel(corral: Corral) -> None:
    refused = corral("up", "--host", "0.0.0.0", "--port", "8731")
    assert refused.code == 1
    assert "ssh -L 8731:127.0.0.1:8731" in refused.err


def test_up_refuses_a_data_directory_that_others_may_write(corral: Corral, tmp_path: Path) -> None:
    home = tmp_path / "open"
    home.mkdir()
    home.chmod(0o777)
    refused = corral("up", "--home", str(home))
    assert refused.code == 1
    assert f"chmod 700 {home}" in refused.err


def test_up_refuses_a_file_as_data_directory(corral: Corral, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused = corral("up", "--home", str(tmp_path / "file"))
    assert refused.code == 1
    assert "no directory" in refused.err


def test_without_a_corral_the_ways_to_one_are_named(corral: Corral) -> None:
    for arguments in (["whoami"], ["user", "list"], ["audit", "list"]):
        refused = corral(*arguments)
        assert refused.code == 1
        assert refused.out == ""
        assert "corral up" in refused.err
        assert "corral login" in refused.err


def test_a_corral_that_does_not_answer_is_told_with_its_address(corral: Corral) -> None:
    refused = corral("whoami", CORRAL_URL="http://127.0.0.1:9", CORRAL_TOKEN="x")
    assert refused.code == 1
    assert "http://127.0.0.1:9" in refused.err


def test_an_address_without_a_sign_in_names_the_sign_in(corral: Corral) -> None:
    refused = corral("whoami", CORRAL_URL="http://127.0.0.1:9")
    assert refused.code == 1
    assert "corral login --url http://127.0.0.1:9" in refused.err


def test_output_has_no_colour_codes_when_it_is_not_a_terminal(program: Corral) -> None:
    shown = program("config", "show")
    assert "log_level" in shown.out
    assert "\033[" not in shown.out
