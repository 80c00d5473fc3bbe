"""What an ending means."""

from pathlib import Path

import pytest

from corral.engines.local.files.disk_count import Count
from corral.engines.local.supervise.replica import missing_file
from corral.engines.local.supervise.verdict import (
    Facts,
    explain,
    in_words,
    judge,
    over_workspace,
    split_status,
)


@pytest.mark.parametrize(
    ("facts", "ending", "detail"),
    [
        (Facts(exit_code=0), "succeeded", ""),
        (Facts(exit_code=3), "failed", "exit code 3"),
        (Facts(signal=11), "failed", "ended by signal 11 (SIGSEGV)"),
        (
            Facts(signal=9, out_of_memory=True, memory_mib=512),
            "failed",
            "out of memory at its limit of 512 MiB",
        ),
        (
            Facts(signal=15, timed_out=True, time_limit_seconds=5400),
            "failed",
            "reached its time limit of 1 h 30 min",
        ),
        (Facts(exit_code=2, missing="train.py"), "failed", "cannot find file train.py"),
        (Facts(exit_code=126, command="./run"), "failed", "cannot execute ./run"),
        (Facts(refused="no room"), "refused", "no room"),
        (Facts(exit_code=0, told_to_go=True), "suspended", "left when it was told to"),
        (Facts(signal=15, told_to_go=True), "suspended", "left when it was told to"),
        (Facts(exit_code=1, told_to_go=True), "suspended", "left when it was told to, with exit code 1"),
        (
            Facts(signal=9, told_to_go=True, grace_over=True),
            "suspended",
            "was told to go and did not in its grace",
        ),
        (Facts(exit_code=0, told_to_go=True, said_done=True), "succeeded", ""),
        (Facts(signal=9, told_to_go=True, said_done=True), "succeeded", ""),
        (Facts(exit_code=1, said_done=True), "failed", "exit code 1"),
        (
            Facts(signal=9, over_bound=over_workspace(Count(2000 * 2**20), 1000, 0)),
            "failed",
            "wrote 2000 MiB, its disk limit is 1000 MiB",
        ),
    ],
)
def test_ending_is_told_in_words(facts: Facts, ending: str, detail: str) -> None:
    assert judge(facts) == (ending, detail)


@pytest.mark.parametrize(
    ("facts", "explanation"),
    [
        (Facts(exit_code=0), ""),
        (Facts(exit_code=3), ""),
        (Facts(exit_code=3, at_bound="the disk is full"), "the disk is full"),
        (Facts(signal=11), ""),
        (Facts(signal=11, unreached="no such host"), "no such host"),
        (Facts(signal=9, out_of_memory=True, memory_mib=512, at_bound="the disk is full"), ""),
        (Facts(signal=15, timed_out=True, time_limit_seconds=60), ""),
        (Facts(exit_code=2, missing="train.py"), "cannot find file train.py"),
        (Facts(exit_code=126, command="./run"), "cannot execute ./run"),
        (Facts(exit_code=0, unsealed="a link leads out"), "the runtime cannot be kept: a link leads out"),
        (Facts(signal=9, over_bound="wrote too much"), "wrote too much"),
    ],
)
def test_explanation_is_what_codes_do_not_say(facts: Facts, explanation: str) -> None:
    assert explain(facts) == explanation


def test_signal_that_bubblewrap_passes_on_is_a_signal() -> None:
    assert split_status(0) == (0, None)
    assert split_status(3 << 8) == (3, None)
    assert split_status(137 << 8) == (None, 9)
    assert split_status(9) == (None, 9)
    assert split_status(255 << 8) == (255, None)


def test_seconds_are_told_in_the_largest_units() -> None:
    assert [in_words(seconds) for seconds in (0, 45, 60, 3600, 90_061)] == [
        "0 s",
        "45 s",
        "1 min",
        "1 h",
        "25 h 1 min 1 s",
    ]


@pytest.mark.parametrize(
    ("command", "missing"),
    [(("trian",), "trian"), (("sh", "-c", "trian x.py"), None), (("/usr/bin/env", "trian"), None)],
)
def test_a_shell_is_not_missing_because_what_it_runs_is(
    tmp_path: Path, command: tuple[str, ...], missing: str | None
) -> None:
    assert missing_file(command, 127, str(tmp_path)) == missing
