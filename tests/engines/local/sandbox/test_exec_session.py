"""A second command in a running sandbox: where it is, what it may, and what comes back."""

from tests.engines.local.cage import Cage


def test_a_visitor_is_where_the_workload_is(cage: Cage) -> None:
    printed = cage.drive("""
        running = box.start("sh", "-c", "echo ready; sleep 60; true").release()
        running.wait_for("ready")
        kinds = "cgroup ipc mnt net pid user uts"
        script = f"for kind in {kinds}; do readlink /proc/$1/ns/$kind; done; hostname; pwd; id -u"
        print(box.run_visit(running, "sh", "-c", script, "sh", "2")[1] ==
              box.run_visit(running, "sh", "-c", script, "sh", "self")[1])
        print(box.run_visit(running, "sh", "-c", "hostname; pwd; id -u"))
    """)
    same, seen = printed.splitlines()
    assert same == "True"
    assert seen == f"(0, 'box\\n/workspace\\n{cage.uid}\\n')"


def test_a_visitor_holds_no_privilege_and_the_same_filter(cage: Cage) -> None:
    printed = cage.drive("""
        running = box.start("sh", "-c", "echo ready; exec sleep 60").release()
        running.wait_for("ready")
        show = "grep -E '^(Cap|NoNewPrivs|Seccomp:|Groups)' /proc/$1/status"
        print(box.run_visit(running, "sh", "-c", show, "sh", "2")[1] ==
              box.run_visit(running, "sh", "-c", show, "sh", "self")[1])
        print(box.run_visit(running, "sh", "-c", show, "sh", "self")[1])
        print(box.run_visit(running, "unshare", "--user", "true"))
        print(box.run_visit(running, "ls", "/proc/self/fd"))
    """)
    assert printed.startswith("True\n")
    assert printed.count("\t0000000000000000\n") == 5
    assert "NoNewPrivs:\t1" in printed
    assert "Seccomp:\t2" in printed
    assert "Operation not permitted" in printed
    assert "(0, '0\\n1\\n2\\n3\\n')" in printed


def test_exit_codes_and_signals_come_back_as_they_are(cage: Cage) -> None:
    printed = cage.drive("""
        running = box.start("sh", "-c", "echo ready; exec sleep 60").release()
        running.wait_for("ready")
        print(box.run_visit(running, "sh", "-c", "exit 130"))
        print(box.run_visit(running, "sh", "-c", "kill -9 $$"))
        print(box.run_visit(running, "no-such-command"))
    """)
    assert printed.splitlines() == [
        "(130, '')",
        "(-9, '')",
        "(127, 'cannot run no-such-command: No such file or directory\\n')",
    ]


def test_a_terminal_has_a_name_and_a_size_that_can_change(cage: Cage) -> None:
    program = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})
print(os.ttyname(0), os.get_terminal_size(), flush=True)
signal.sigwait({signal.SIGWINCH})
print(os.get_terminal_size(), os.tcgetpgrp(0) == os.getpid())
sys.exit(4)
"""
    printed = cage.drive(
        """
        running = box.start("sh", "-c", "echo ready; exec sleep 60").release()
        running.wait_for("ready")
        size = exec_session.TerminalSize(24, 80)
        session = box.visit(running, box.python, "-I", "-c", program, terminal=size).finish()
        print(os.read(session.terminal, 4096).decode().strip())
        session.resize(exec_session.TerminalSize(50, 132))
        print(read_all(session.terminal).strip())
        print(exit_code(session.pid))
        """,
        program=program,
    )
    assert printed.splitlines() == [
        "/dev/pts/0 os.terminal_size(columns=80, lines=24)",
        "os.terminal_size(columns=132, lines=50) True",
        "4",
    ]


def test_the_interrupt_key_reaches_what_runs_in_the_terminal(cage: Cage) -> None:
    printed = cage.drive("""
        running = box.start("sh", "-c", "echo ready; exec sleep 60").release()
        running.wait_for("ready")
        visit = ("sh", "-c", "echo there; exec sleep 60")
        session = box.visit(running, *visit, terminal=exec_session.TerminalSize(24, 80)).finish()
        text = b""
        while b"there" not in text:
            text += os.read(session.terminal, 4096)
        os.write(session.terminal, b"\\x03")
        print(exit_code(session.pid))
    """)
    assert printed.strip() == "-2"


def test_a_visitor_goes_with_the_workload(cage: Cage) -> None:
    printed = cage.drive("""
        running = box.start("sh", "-c", "echo ready; exec sleep 60").release()
        running.wait_for("ready")
        session = box.visit(running, "sh", "-c", "setsid sleep 1000 & setsid sleep 1000").finish()
        os.kill(running.replica.main, 9)
        running.end()
        print(exit_code(session.pid), read_all(box.visited) == "")
    """)
    assert printed.strip() == "-9 True"


def test_entering_a_sandbox_that_has_ended_is_refused(cage: Cage) -> None:
    printed = cage.drive("""
        running = box.start("true").release()
        running.end()
        limit = time.monotonic() + 20
        while time.monotonic() < limit:
            try:  # its first process may still be on its way out
                exit_code(box.visit(running, "true").finish().pid)
            except exec_session.ExecRefused as refused:
                print(refused)
                break
    """)
    assert printed == "the sandbox has ended\n"


def test_a_visitor_is_in_the_workloads_cgroup_from_its_first_moment(cage: Cage) -> None:
    group = cage.directory / "cgroup.procs"
    group.touch()
    group.chmod(0o666)
    printed = cage.drive(
        """
        running = box.start("sh", "-c", "echo ready; exec sleep 60").release()
        running.wait_for("ready")
        print(box.run_visit(running, "true", cgroups=[group]))
        try:
            box.visit(running, "true", cgroups=["/no/such/group"]).finish()
        except exec_session.ExecRefused as refused:
            print(refused)
        """,
        group=str(group),
    )
    assert group.read_text() == "0"
    assert printed.splitlines() == ["(0, '')", "No such file or directory"]


def test_visits_leave_no_dead_processes_behind(cage: Cage) -> None:
    printed = cage.drive("""
        running = box.start("sh", "-c", "echo ready; exec sleep 60").release()
        running.wait_for("ready")
        for turn in range(10):
            box.run_visit(running, "true")
            try:
                box.visit(running, "true", cgroups=["/no/such/group"]).finish()
            except exec_session.ExecRefused:
                pass
        os.kill(running.replica.pid, 9)
        for turn in range(10):
            try:
                session = box.visit(running, "true").finish()
                exit_code(session.pid)
            except exec_session.ExecRefused as refused:
                why = str(refused)
        # Those on their way out are waited for, not reaped: that is the next visit's business.
        for helper in exec_session._helpers:
            os.waitid(os.P_PID, helper, os.WEXITED | os.WNOWAIT)
        try:
            box.visit(running, "true").finish()
        except exec_session.ExecRefused:
            pass
        running.end()
        try:
            while True:
                print("left behind", os.waitpid(-1, 0))
        except ChildProcessError:
            print("none", why)
    """)
    # A helper that is on its way out when its part is done is reaped with the next.
    assert printed.count("left behind") <= 1
    assert printed.endswith("none the sandbox has ended\n")


def test_nothing_of_the_workload_is_loaded_by_what_enters(cage: Cage) -> None:
    """An engine whose own files lie at a path that also exists inside would load the workload's."""
    printed = cage.drive("""
        import sys
        sys.path.insert(0, "/workspace")
        planted = box.directory / "workspace" / "planted.py"
        planted.write_text("open('/workspace/loaded', 'w')")
        planted.chmod(0o644)
        real = syscalls.empty_bounding_set
        def careless():
            try:
                import planted
            except ImportError:
                pass
            real()
        syscalls.empty_bounding_set = careless
        running = box.start("sh", "-c", "echo ready; exec sleep 60").release()
        running.wait_for("ready")
        print(box.run_visit(running, "sh", "-c", "echo visited; ls"))
    """)
    assert printed.strip() == "(0, 'visited\\nplanted.py\\n')"
