"""What is said about sandboxes on this machine, after one was tried."""

import json
import os
from dataclasses import replace

import pytest

from corral.engines.local.sandbox.probe import Facts, Failure, Problem, ask, explain
from tests.engines.local.cage import Cage

FREE = Facts(
    is_root=False,
    may_administer=False,
    is_filtered=False,
    in_container=False,
    user_namespaces=10000,
    unprivileged=None,
    restricted=None,
)
ROOT = replace(FREE, is_root=True, may_administer=True)
REFUSED = Failure("namespaces", "cannot unshare user: Operation not permitted")


def test_where_sandboxes_work_there_is_no_problem() -> None:
    assert ask() is None


def test_the_trial_succeeds_under_the_umask_of_the_server() -> None:
    before = os.umask(0o077)
    try:
        assert ask() is None
    finally:
        os.umask(before)


def test_the_trial_succeeds_as_root_and_as_an_ordinary_user(cage: Cage) -> None:
    assert json.loads(cage.as_engine([cage.python, "-I", "-S", trial(cage)]).stdout) == {}


def test_the_trial_succeeds_below_make_which_ignores_signals_that_nobody_may_change(cage: Cage) -> None:
    recipe = f"all:; @{cage.python} -I -S {trial(cage)}"
    make = ["make", "--no-print-directory", "--eval", recipe, "-f", "/dev/null"]
    assert json.loads(cage.as_engine(make).stdout) == {}


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert ask() == Problem("bwrap is not installed", "apt install bubblewrap")


def test_inside_a_container_whose_filter_forbids_namespaces_it_says_so(cage_of_user: Cage) -> None:
    # Our own sandbox is one.
    package = str(cage_of_user.place.directory / "corral")
    program = f"""
import sys
sys.path.append({str(cage_of_user.place.directory)!r})
sys.executable = {cage_of_user.python!r}
from corral.engines.local.sandbox import probe
print(probe.ask())
"""
    printed = cage_of_user.drive(
        "print(box.run_python(program, binds=(bubblewrap.Bind(package, package),))[1])",
        program=program,
        package=package,
    )
    assert "a seccomp profile, as of a container, forbids namespaces" in printed
    assert "seccomp=unconfined" in printed


def test_root_of_a_container_without_privileges_is_told_what_it_lacks(cage_of_user: Cage) -> None:
    if os.geteuid() != 0:
        pytest.skip("root gives up a capability for this")
    program = f"""
import sys
sys.path.append({str(cage_of_user.place.directory)!r})
from corral.engines.local.sandbox import probe
print(probe.ask())
"""
    without = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all", "--"]
    printed = cage_of_user.as_uid(
        0, [*without, cage_of_user.python, "-I", "-S", "-c", program], "", {}
    ).stdout
    assert "root has no CAP_SYS_ADMIN" in printed
    assert "Operation not permitted" in printed


@pytest.mark.parametrize(
    ("facts", "words", "remedy"),
    [
        (replace(FREE, user_namespaces=0), "switched off", "sysctl -w user.max_user_namespaces=10000"),
        (replace(FREE, unprivileged=0), "only root may", "sysctl -w kernel.unprivileged_userns_clone=1"),
        (replace(FREE, restricted=1), "AppArmor", "apparmor_restrict_unprivileged_userns=0"),
        (replace(FREE, is_filtered=True), "seccomp profile", "seccomp=unconfined"),
        (replace(FREE, in_container=True), "the container", "on the machine itself"),
        (replace(ROOT, may_administer=False), "no CAP_SYS_ADMIN", "--cap-add SYS_ADMIN"),
        (replace(ROOT, is_filtered=True), "seccomp profile", "seccomp=unconfined"),
        (FREE, "namespaces cannot be made", "dmesg"),
    ],
)
def test_what_forbids_namespaces_is_named_with_its_remedy(facts: Facts, words: str, remedy: str) -> None:
    problem = explain(REFUSED, facts)
    assert words in problem.found
    assert "Operation not permitted" in problem.found
    assert remedy in problem.remedy


def test_an_old_bubblewrap_and_a_hidden_proc_are_told_apart() -> None:
    old = explain(Failure("sandbox", "bwrap: Unknown option --disable-userns"), FREE)
    assert old.remedy == "Install bubblewrap 0.8 or newer."
    hidden = explain(
        Failure("sandbox", "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"), FREE
    )
    assert "hides parts of /proc" in hidden.found


def trial(cage: Cage) -> str:
    return str(cage.place.directory / "corral" / "engines" / "local" / "sandbox" / "trial.py")


def test_a_kernel_without_openat2_is_named() -> None:
    problem = explain(Failure("files", "the kernel has no openat2: Corral needs Linux 5.6 or newer"), ROOT)
    assert "openat2" in problem.found
    assert "Linux 5.6" in problem.remedy
