"""Work by command: run, watched, listed, explained, stopped; on a Corral that really runs it."""

import json
import signal
import subprocess
import time
from itertools import count
from pathlib import Path

import pytest

from tests.cli.running import PROGRAM, Corral, Done, run_program
from tests.cli.terminal import CTRL_C, Terminal
from tests.live import LiveCorral, running_corral

numbers = count(1)
# Says that it runs, and stays until it is told to go.
STAYS = ("sh", "-c", "echo here; exec sleep 600")


@pytest.fixture
def starter(someone: dict[str, str], live_corral: LiveCorral) -> dict[str, str]:
    """The environment of whoever started Corral."""
    return {**someone, "CORRAL_HOME": str(live_corral.home)}


@pytest.fixture
def name() -> str:
    return f"work-{next(numbers)}"


def _wait_for(done: Done, work: str, *states: str) -> None:
    deadline = time.monotonic() + 60
    while (seen := done("describe", work)["state"]) not in states:
        assert time.monotonic() < deadline, seen
        time.sleep(0.1)


def test_output_and_exit_code_are_those_of_the_work(starter: dict[str, str]) -> None:
    script = "echo said; echo wrong >&2; exit 7"
    ended = run_program("run", "--no-upload", "--", "sh", "-c", script, environ=starter)
    assert (ended.code, sorted(ended.out.splitlines())) == (7, ["said", "wrong"])
    assert ended.err == "sh failed: It ended with exit code 7.\n"


def test_output_of_all_replicas_comes_in_whole_lines_with_their_numbers(starter: dict[str, str]) -> None:
    script = "printf 'half of '; echo replica $RANK; printf end"
    seen = run_program("run", "--no-upload", "--replicas", "2", "--", "sh", "-c", script, environ=starter)
    assert seen.code == 0, seen.err
    lines = seen.out.splitlines()
    assert sorted(lines) == ["[0] end", "[0] half of replica 0", "[1] end", "[1] half of replica 1"]


def test_a_signal_is_told_as_shells_tell_it(starter: dict[str, str]) -> None:
    ended = run_program("run", "--no-upload", "--", "sh", "-c", "kill -KILL $$", environ=starter)
    assert ended.code == 128 + 9


def test_success_says_nothing_but_the_output(starter: dict[str, str]) -> None:
    ended = run_program("run", "--no-upload", "--", "echo", "hello", environ=starter)
    assert (ended.code, ended.out, ended.err) == (0, "hello\n", "")


def test_working_directory_goes_along_and_a_script_alone_is_run_with_python(
    starter: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "data.txt").write_text("from the directory")
    (tmp_path / "project" / "train.py").write_text(
        "import sys; print(open('data.txt').read(), *sys.argv[1:])"
    )
    ended = subprocess.run(
        [str(PROGRAM), "run", "--param", "lr=0.1", "train.py", "--fast"],
        cwd=tmp_path / "project",
        env=starter,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("from the directory --fast --lr 0.1\n", "")
    assert ended.returncode == 0


def test_home_directory_is_not_uploaded_by_mistake(starter: dict[str, str]) -> None:
    home = Path(starter["HOME"])
    home.mkdir(exist_ok=True)
    refused = subprocess.run(
        [str(PROGRAM), "run", "true"], cwd=home, env=starter, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert "--no-upload" in refused.stderr


def test_detached_work_is_named_by_its_id_alone_and_found_by_every_name(
    admin: Corral, done: Done, name: str
) -> None:
    started = admin("run", "--no-upload", "--detach", "--name", name, "--", *STAYS)
    work = started.out.strip()
    assert (started.code, started.out, started.err) == (0, f"{work}\n", "")
    _wait_for(done, name, "running")
    assert done("describe", work[:20])["id"] == work
    assert [one["id"] for one in done("ps") if one["name"] == name] == [work]
    assert admin("logs", name).out == "here\n"
    assert " of 1\t" in next(line for line in admin("top").out.splitlines() if work in line)
    assert work in {one["id"] for one in done("top", "--everyone")}
    assert done("ps", "--summary")["states"]["running"] >= 1
    assert "running" in admin("ps", "--summary").out
    assert [one["metric"] for one in done("samples", work, "--metric", "cpu_milli")["items"]] == ["cpu_milli"]
    assert admin("samples", "shelf:1").code == 1
    assert "runs" in admin("why", name).out or "running" in admin("why", name).out
    assert admin("stop", name).out == f"{work} is stopping.\n"
    _wait_for(done, name, "stopped")
    assert work not in admin("ps").out
    assert work in admin("ps", "--all").out
    assert admin("rm", name).out == f"{work} is deleted.\n"


def test_ctrl_c_asks_and_stops(starter: dict[str, str], done: Done, name: str) -> None:
    command = ("run", "--no-upload", "--name", name, "--", *STAYS)
    with Terminal(*command, environ=starter) as terminal:
        terminal.wait_for("here")
        terminal.type(CTRL_C)
        terminal.wait_for("[s/d] ")
        terminal.type("s\n")
        terminal.wait_for("is stopping")
        assert terminal.ended() == 128 + 15
    assert f"{name} was stopped" in terminal.shown
    assert "Traceback" not in terminal.shown
    assert done("describe", name)["state"] == "stopped"


def test_second_ctrl_c_detaches(starter: dict[str, str], done: Done, name: str) -> None:
    command = ("run", "--no-upload", "--name", name, "--", *STAYS)
    with Terminal(*command, environ=starter) as terminal:
        terminal.wait_for("here")
        terminal.type(CTRL_C)
        terminal.wait_for("[s/d] ")
        terminal.type(CTRL_C)
        assert terminal.ended() == 130
    assert "corral logs -f w" in terminal.shown
    assert done("describe", name)["state"] == "running"
    done("stop", name)
    _wait_for(done, name, "stopped")


def test_without_a_terminal_an_interrupt_detaches_and_says_how_to_stop(
    starter: dict[str, str], done: Done, name: str
) -> None:
    command = [str(PROGRAM), "run", "--no-upload", "--name", name, "--", *STAYS]
    with subprocess.Popen(
        ["env", "--default-signal=INT", *command],
        env=starter,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "End it: corral stop w" in said
    assert done("describe", name)["state"] == "running"
    done("stop", name)
    _wait_for(done, name, "stopped")


def test_run_goes_on_at_the_same_place_after_corral_was_restarted(
    someone: dict[str, str], tmp_path: Path
) -> None:
    with running_corral(tmp_path) as corral:
        script = "for i in $(seq 40); do echo line $i; sleep 0.25; done; exit 3"
        with subprocess.Popen(
            [str(PROGRAM), "run", "--no-upload", "--", "sh", "-c", script],
            env={**someone, "CORRAL_HOME": str(corral.home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            first = process.stdout.readline()
            corral.stop()
            said = process.stderr.readline()  # it has noticed
            corral.start_again()
            rest, more = process.communicate(timeout=90)
            said += more
        assert (first + rest).splitlines() == [f"line {number}" for number in range(1, 41)], said
        assert process.returncode == 3
        assert "Trying again" in said


def test_work_that_waits_says_why(starter: dict[str, str], admin: Corral, done: Done, name: str) -> None:
    with Terminal(
        "run", "--no-upload", "--wait", "--name", name, "--memory", "1Ti", "--", "true", environ=starter
    ) as terminal:
        terminal.wait_for("Can never run because")
        _wait_for(done, name, "infeasible")
        (listed,) = [one for one in done("ps") if one["name"] == name]
        told = "Can never run because it asks for 1024 GiB of memory on one node"
        assert listed["reason"]["sentence"].startswith(told)
        assert "Can never run" in admin("ps").out
        terminal.type(CTRL_C)
        terminal.wait_for("[s/d] ")
        terminal.type("s\n")
        assert terminal.ended() == 128 + 15
    probed = admin("run", "--dry-run", "--memory", "1Ti", "--", "true")
    assert probed.out.startswith("Can never run because")
    assert admin("run", "--json", "--dry-run", "--", "true").json["result"] in {"fits", "waits"}


def test_work_that_can_never_run_is_refused_unless_told_to_wait(
    admin: Corral, done: Done, name: str, starter: dict[str, str]
) -> None:
    before = time.monotonic()
    refused = run_program("run", "--no-upload", "--gpu", "99", "--name", name, "--", "true", environ=starter)
    assert refused.code == 1
    assert "Can never run because it asks for 99 GPUs on one node, and" in refused.err
    assert "--wait" in refused.err
    assert time.monotonic() - before < 60  # it does not wait; how fast says nothing on a busy machine
    assert all(one["name"] != name for one in done("ps", "--all"))

    warned = admin("run", "--no-upload", "-d", "--gpu", "99", "--name", f"{name}-d", "--", "true")
    assert (warned.code, "Can never run because" in warned.err) == (0, True)
    _wait_for(done, f"{name}-d", "infeasible")
    with subprocess.Popen(
        [str(PROGRAM), "run", "--no-upload", "--wait", "--gpu", "99", "--name", name, "--", "true"],
        env=starter, stderr=subprocess.PIPE, text=True,
    ) as waiting:  # fmt: skip
        assert waiting.stderr is not None
        said = waiting.stderr.readline()
        assert "Can never run because it asks for 99 GPUs on one node, and" in said
        _wait_for(done, name, "infeasible")
        listed = {one["name"]: one for one in done("ps")}
        assert (listed[name]["state"], listed[name]["waits"]) == ("infeasible", None)
        assert done("ps", "--summary")["states"]["infeasible"] >= 2
        assert admin("why", name).out.startswith("Can never run because it asks for 99 GPUs on one node")
        done("stop", name)
        assert waiting.wait(timeout=60) != 0
    done("stop", f"{name}-d")


def test_file_describes_work_and_what_is_wrong_with_it_is_named(
    admin: Corral, done: Done, name: str, tmp_path: Path
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(
        f"kind: training\nname: {name}\ncommand: [sh, -c, 'echo $WHO']\n"
        "environment: {WHO: from a file}\nresources: {cpu_milli: 500m, memory_mib: 256Mi}\n"
        "time_limit_seconds: 1h\n"
    )
    ended = admin("apply", "-f", str(file), "--follow")
    assert (ended.code, ended.out) == (0, "from a file\n")
    assert done("describe", name)["spec"]["time_limit_seconds"] == 3600
    file.write_text(json.dumps({"kind": "training", "name": name, "command": ["true"], "replicas": 0}))
    refused = admin("apply", "-f", str(file))
    assert refused.code == 1
    assert "replicas" in refused.err
    file.write_text("kind: dancing\n")
    assert "There is: training." in admin("apply", "-f", str(file)).err
    file.write_text("name: [unclosed\n")
    assert "line 2" in admin("apply", "-f", str(file)).err
    assert "cannot be read" in admin("apply", "-f", str(tmp_path / "none.yaml")).err


def test_last_lines_are_the_last_lines(admin: Corral, name: str) -> None:
    script = "for i in $(seq 1000); do echo line $i; done"
    ended = admin("run", "--no-upload", "--name", name, "--", "sh", "-c", script)
    assert len(ended.out.splitlines()) == 1000
    assert admin("logs", "--tail", "2", name).out == "line 999\nline 1000\n"
    assert admin("logs", "--tail", "0", name).out == ""
    parts = [json.loads(line) for line in admin("logs", "--json", name).out.splitlines()]
    assert "".join(part["text"] for part in parts) == ended.out


def test_unclear_and_unknown_names_are_refused(admin: Corral, done: Done, name: str) -> None:
    ids = {admin("run", "--no-upload", "-d", "--name", name, "--", *STAYS).out.strip() for _ in range(2)}
    unclear = admin("stop", name)
    assert unclear.code == 2
    assert all(one in unclear.err for one in ids)
    for command in ("describe", "logs", "why", "exec", "rm", "suspend", "samples"):
        words = ["--", "true"] if command == "exec" else []
        alike = admin(command, name, *words)
        assert (alike.code, alike.out) == (2, ""), command
        assert all(one in alike.err for one in ids), command
    assert "corral ps --all" in admin("logs", "no-such-work").err
    assert admin("stop", *ids).code == 0
    for one in ids:
        _wait_for(done, one, "stopped")
    nobody = admin("stop", "w" + "0" * 22)
    assert nobody.code == 1
    assert "There is no workload" in nobody.err


def test_all_of_ones_own_are_stopped_after_a_question(admin: Corral, done: Done, name: str) -> None:
    admin("run", "--no-upload", "-d", "--name", name, "--", *STAYS)
    refused = admin("stop", "--all-mine", stdin="n\n")
    assert refused.code == 1
    assert done("describe", name)["wanted"] == "run"
    assert done("stop", "--all-mine", "--yes")["refused"] == []
    assert done("describe", name)["wanted"] == "stop"
    _wait_for(done, name, "stopped")
