"""What a command finds inside its sandbox, and how it begins and ends there."""

import os
from pathlib import Path

import pytest

from corral.engines.local.sandbox.bubblewrap import (
    Bind,
    Host,
    Mode,
    Sandbox,
    SandboxRefused,
    environment_script,
    options,
)
from tests.engines.local.cage import Cage

HOST = Host("/usr/bin/bwrap", "/usr/bin/setpriv", (("/bin", "usr/bin"),), ("/lib64",))
SANDBOX = Sandbox(Mode.ROOT, 2000, 2000, "box", ("true",), "/data/workspace", "/data/shm")


def test_the_exit_code_is_the_commands(cage: Cage) -> None:
    assert cage.run("sh", "-c", "exit 7").code == 7
    assert cage.run("sh", "-c", "kill -9 $$").code == 128 + 9


def test_a_command_that_is_not_there_is_named(cage: Cage) -> None:
    ended = cage.run("no-such-command")
    assert ended.code == 127
    assert "no-such-command" in ended.output


def test_the_workspace_is_the_working_directory_and_can_be_written(cage: Cage) -> None:
    printed = cage.drive("""
        box.run("sh", "-c", "pwd > here")
        print((box.directory / "workspace" / "here").read_text())
    """)
    assert printed.strip() == "/workspace"


def test_home_and_tmp_and_shm_can_be_written_and_the_rest_cannot(cage: Cage) -> None:
    ended = cage.run(
        "sh", "-c", "touch ~/a /tmp/a /var/tmp/b /dev/shm/a && echo written; touch /a /etc/a /usr/a /dev/a"
    )
    assert ended.output.startswith("written\n")
    assert ended.output.count("Read-only file system") + ended.output.count("Permission denied") == 4
    assert ended.code == 1


def test_a_home_is_bound_where_home_says(cage: Cage) -> None:
    home = cage.directory / "home"
    home.mkdir()
    os.chown(home, cage.uid, cage.uid)
    assert cage.run("sh", "-c", 'echo kept > "$HOME/file"', home=str(home)).code == 0
    assert (home / "file").read_text() == "kept\n"


def test_the_environment_arrives_whatever_it_holds(cage: Cage) -> None:
    value = 'it\'s "quoted" $HOME `id` \\ \n\té漢\x81'
    program = "import os; assert os.environ['ODD'] == " + repr(value) + "; print(sorted(os.environ))"
    ended = cage.run(cage.python, "-I", "-c", program, environment={"ODD": value})
    assert ended.code == 0, ended.output
    assert "HOME" in ended.output
    assert "PATH" in ended.output


def test_nothing_of_the_engines_environment_or_open_files_is_inherited(cage: Cage) -> None:
    printed = cage.drive("""
        os.environ["SECRET"] = "of the engine"
        os.set_inheritable(os.open("/etc/hostname", os.O_RDONLY), True)
        print(box.run("sh", "-c", "env; ls /proc/self/fd | wc -l"))
    """)
    assert "SECRET" not in printed
    assert "\\n4\\n" in printed  # three, and the one that ls opens


def test_the_users_environment_does_not_reach_what_runs_before_the_command(cage: Cage) -> None:
    # A library that does not exist is complained of by every program that is told to load it.
    ended = cage.run("sh", "-c", "exit 0", environment={"LD_PRELOAD": "/workspace/evil.so"})
    assert ended.output.count("cannot be preloaded") == 1


def test_the_command_does_not_begin_before_its_release(cage: Cage) -> None:
    printed = cage.drive("""
        waiting = box.start("sh", "-c", "echo begun > begun")
        there = os.readlink(f"/proc/{waiting.replica.main}/cwd")
        print((box.directory / "workspace" / "begun").exists())
        waiting.release().end()
        print((box.directory / "workspace" / "begun").exists(), there)
    """)
    assert printed.splitlines() == ["False", "True /workspace"]


def test_the_first_process_is_known_from_outside_and_can_be_signalled(cage: Cage) -> None:
    printed = cage.drive("""
        told = "trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.01; done"
        running = box.start("sh", "-c", told)
        running.release().wait_for("ready")
        os.kill(running.replica.main, 15)
        print(running.end())
    """)
    assert printed.strip() == "(3, 'ready\\ntold\\n')"


def test_a_sandbox_that_cannot_be_built_says_why(cage: Cage) -> None:
    printed = cage.drive("""
        try:
            box.start("true", binds=(bubblewrap.Bind("/no/such/directory", "/data"),))
        except bubblewrap.SandboxRefused as refused:
            print(refused)
    """)
    assert "its output says why" in printed


def test_replicas_of_an_attempt_share_network_and_shared_memory_but_no_processes(cage: Cage) -> None:
    listen = (
        "import socket; s = socket.create_server(('127.0.0.1', 5000)); print('up', flush=True); s.accept()"
    )
    printed = cage.drive(
        """
        first = box.start(box.python, "-I", "-c", listen)
        first.release().wait_for("up")
        code, output = box.run(box.python, "-I", "-c", '''
        import os, pathlib, socket
        socket.create_connection(("127.0.0.1", 5000), 5)
        pathlib.Path("/dev/shm/from-second").write_text("x")
        print([name for name in os.listdir("/proc") if name.isdigit()])
        '''.replace("\\n        ", "\\n"))
        print(code, output, first.end())
        print(box.run("ls", "/dev/shm"))
        """,
        listen=listen,
    )
    assert printed.splitlines() == ["0 ['1', '2']", " (0, 'up\\n')", "(0, 'from-second\\n')"]


def test_shared_memory_is_bounded_and_not_seen_on_the_host(cage: Cage) -> None:
    printed = cage.drive("""
        print(box.run("sh", "-c", "head -c 70M /dev/zero > /dev/shm/large")[1])
        print(os.listdir(box.directory / "shm"))
    """)
    assert "No space left on device" in printed
    assert printed.endswith("[]\n")


def test_directories_on_the_way_can_be_entered() -> None:
    sandbox = Sandbox(**{**_values(), "binds": (Bind("/root/python", "/root/a/python"),)})
    words = options(HOST, sandbox, {}, 9)
    for directory in ("/root", "/root/a", "/etc", "/home"):
        assert words[words.index(directory) - 3 : words.index(directory)] == ["--perms", "0755", "--dir"]


def test_nothing_runs_as_root_inside() -> None:
    with pytest.raises(SandboxRefused, match="nothing runs as root"):
        options(HOST, Sandbox(**{**_values(), "uid": 0}), {}, 9)


@pytest.mark.parametrize("device", ["/etc/shadow", "/dev/../etc/shadow", "nvidia0"])
def test_only_devices_are_granted_as_devices(device: str) -> None:
    with pytest.raises(SandboxRefused):
        options(HOST, Sandbox(**{**_values(), "devices": (device,)}), {}, 9)


@pytest.mark.parametrize("name", ["", "A B", "1A", "A=B", "A\n", "é", "A;id"])
def test_names_of_variables_that_a_shell_would_not_take_are_refused(name: str) -> None:
    with pytest.raises(SandboxRefused, match="cannot be called"):
        environment_script({name: "x"})


def test_a_granted_device_is_there_and_others_are_not(cage: Cage) -> None:
    ended = cage.run("sh", "-c", "ls /dev/kmsg /dev/mem /dev/fuse; ls /dev | wc -l", devices=["/dev/fuse"])
    if not Path("/dev/fuse").exists():
        pytest.fail("this test grants /dev/fuse, which this machine does not have")
    assert "/dev/fuse\n" in ended.output
    assert ended.output.count("No such file") == 2


def _values() -> dict[str, object]:
    return {name: getattr(SANDBOX, name) for name in SANDBOX.__slots__}


def test_a_secret_is_in_no_argument_and_no_file_and_only_in_the_commands_environment(cage: Cage) -> None:
    printed = cage.drive("""
        import glob
        def holders(name):
            found = []
            for path in glob.glob(f"/proc/[0-9]*/{name}"):
                try:
                    if b"hunter" + b"2" in open(path, "rb").read():
                        found.append(int(path.split("/")[2]))
                except OSError:
                    pass
            return found
        secret = {"PASSWORD": "hunter" + "2"}
        running = box.start("sh", "-c", "echo ready; exec sleep 60", environment=secret)
        print(holders("cmdline"), holders("environ"))
        running.release().wait_for("ready")
        while holders("environ") != [running.replica.main]:  # exec takes a moment
            time.sleep(0.01)
        print(holders("cmdline"), holders("environ") == [running.replica.main])
        files = [path for path in box.directory.rglob("*") if path.is_file()]
        print([path for path in files if b"hunter" + b"2" in path.read_bytes()])
    """)
    assert printed.splitlines() == ["[] []", "[] True", "[]"]
