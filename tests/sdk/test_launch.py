"""One process for each GPU: ranks, exit codes, signals."""

import os
import signal
import subprocess
import sys
from pathlib import Path

LAUNCH = [sys.executable, "-m", "corral_sdk.launch", "--"]


def run(command: list[str], processes: int, replica: int = 0) -> "subprocess.CompletedProcess[str]":
    own = {"LOCAL_WORLD_SIZE": str(processes), "NODE_RANK": str(replica)}
    return subprocess.run(
        [*LAUNCH, *command],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_every_process_has_its_rank_and_output_is_left_as_it_is() -> None:
    done = run(["sh", "-c", "echo $RANK $LOCAL_RANK $LOCAL_WORLD_SIZE"], 3, replica=2)
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == ["6 0 3", "7 1 3", "8 2 3"]
    assert done.stderr == ""


def test_one_that_fails_ends_the_others_and_gives_the_exit_code() -> None:
    done = run(["sh", "-c", '[ "$RANK" = 1 ] && exit 7; exec sleep 600'], 3)
    assert done.returncode == 7


def test_one_that_dies_of_a_signal_gives_128_and_its_number() -> None:
    done = run(["sh", "-c", '[ "$RANK" = 1 ] && kill -SEGV $$; exec sleep 600'], 2)
    assert done.returncode == 128 + signal.SIGSEGV


def test_command_that_is_not_there_is_told() -> None:
    done = run(["/no/such/program"], 2)
    assert (done.returncode, done.stderr) == (
        127,
        "corral: /no/such/program cannot be started: No such file or directory\n",
    )
    assert run([], 2).returncode == 2


def test_signals_are_passed_on_to_all(tmp_path: Path) -> None:
    script = f"""
trap 'touch {tmp_path}/told-$RANK; exit 0' TERM
touch {tmp_path}/ready-$RANK
echo ready
while :; do sleep 0.05; done
"""
    environment = {**os.environ, "LOCAL_WORLD_SIZE": "2"}
    process = subprocess.Popen(
        [*LAUNCH, "sh", "-c", script], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n", "ready\n"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    assert sorted(path.name for path in tmp_path.glob("told-*")) == ["told-0", "told-1"]
    process.stdout.close()


def test_one_that_does_not_listen_is_ended_after_a_while(tmp_path: Path) -> None:
    script = "trap '' TERM; [ \"$RANK\" = 1 ] && exit 3; while :; do sleep 0.05; done"
    program = (
        "import sys, corral_sdk.launch as launch; launch.GRACE_SECONDS = 0.3;"
        "sys.exit(launch.main(sys.argv[1:]))"
    )
    environment = {**os.environ, "LOCAL_WORLD_SIZE": "2"}
    done = subprocess.run(
        [sys.executable, "-c", program, "sh", "-c", script],
        cwd=tmp_path,
        env=environment,
        timeout=30,
        check=False,
    )
    assert done.returncode == 3
