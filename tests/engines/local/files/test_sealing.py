"""Environments that hostile builds leave behind, and what their users and others get of them."""

import os
import stat
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from threading import Barrier
from typing import Any

import pytest

from corral.core.refusals import Refusal
from corral.engines.interface import Ending, Run, RunPhase
from corral.engines.local.files.quotas import Bounds, DiskQuotas
from corral.engines.local.files.workspaces import Workspaces
from corral.engines.local.machine import bundled_tools, isolation
from corral.engines.local.records.spec import Spec
from corral.engines.local.supervise import runtime_sealer
from corral.engines.local.supervise.event_loop import Loop
from tests.engines.local.places import LocalPlace, local_place

MIB = 2**20
# An environment that works: its Python is the system's.
GOOD = 'mkdir -p "$CORRAL_BUILD/bin"; ln -s /usr/bin/python3 "$CORRAL_BUILD/bin/python"; '


@pytest.fixture
async def local(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LocalPlace]:
    # What is built here needs no uv; where these tests run there may be none.
    monkeypatch.setattr(bundled_tools, "find_uv", lambda: Path("/bin/true"))
    async with local_place() as made:
        yield made


async def build(local: LocalPlace, script: str, name: str = "build", **more: Any) -> Run:
    command = ("sh", "-ec", dedent(script))
    return await local.finish(local.sized(name, *command, builds=True, **more))


async def use(local: LocalPlace, script: str, name: str = "use", runtime: str = "build") -> str:
    used = await local.finish(local.sized(name, "sh", "-c", script, runtime=runtime))
    return f"{used.detail}\n{await local.output(name)}"


def sealed(local: LocalPlace, name: str = "build") -> Path:
    return local.directory / "data" / "runtimes" / name / "env"


def hide(local: LocalPlace) -> Path:
    """What a user must not see, two directories above a file."""
    secret = local.directory / "others" / "a" / "file"
    secret.parent.mkdir(parents=True)
    secret.write_text("secret")
    (secret.parent.parent / "thesis").write_text("secret")
    for path in (secret, secret.parent, secret.parents[1], secret.parents[1] / "thesis"):
        path.chmod(0o755)
    return secret


ASK = """
import socket, sys
for host in sys.argv[1:]:
    way = socket.create_connection(("127.0.0.1", 3128))
    way.sendall(f"CONNECT {host}:443 HTTP/1.1\\r\\n\\r\\n".encode())
    way.recv(1000)
"""


async def test_build_whose_download_is_refused_says_why(local: LocalPlace) -> None:
    """Installers only say that there is an error in the tunnel."""
    refused = "10.1.2.3 is refused: it is a private address"
    ask = f"python3 -c '{ASK}' 10.1.2.3 10.1.2.3 169.254.169.254"
    failed = await build(local, f"{ask}\nexit 2", network=True)
    assert failed.detail.startswith(f"exit code 2; {refused}")
    output = await local.output("build")
    assert output.count(f"Corral: {refused}") == 1
    assert output.count("Corral: 169.254.169.254 is refused") == 1
    succeeded = await build(local, f"{GOOD}{ask}", "again", network=True)
    assert (succeeded.ending, succeeded.detail) == (Ending.SUCCEEDED, "")
    other = await local.finish(local.sized("work", "sh", "-c", f"{ask}\nexit 2", network=True))
    assert (other.detail, await local.output("work")) == ("exit code 2", "")


async def test_runtime_counts_among_what_its_owner_holds() -> None:
    async with local_place(person_mib=50) as local:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bundled_tools, "find_uv", lambda: Path("/bin/true"))
            fill = 'head -c 30M /dev/zero > "$CORRAL_BUILD/data"'
            assert (await build(local, f"{GOOD}{fill}")).ending is Ending.SUCCEEDED
        more = await local.finish(local.sized("work", "sh", "-c", "head -c 30M /dev/zero > data"))
        assert more.detail.startswith("the workspaces of its owner hold 60 MiB together")
        await local.engine.forget(["build", "work"])
        await local.engine.discard(["build", "work"])
        assert (await local.finish(local.sized("again", "true"))).ending is Ending.SUCCEEDED


class TestAttacks:
    async def test_link_in_place_of_the_interpreter_shows_nothing_of_the_machine(
        self, local: LocalPlace
    ) -> None:
        """Corral bound what the link in the owner's workspace pointed at, as root."""
        secret = hide(local)
        built = await build(local, f'mkdir -p "$CORRAL_BUILD/bin"; ln -s {secret} "$CORRAL_BUILD/bin/python"')
        said = await use(local, f"cat {secret} {secret.parents[1]}/thesis; ls {secret.parents[1]}")
        assert "secret" not in said
        assert "thesis" not in said.replace(f"{secret.parents[1]}/thesis", "")
        assert built.ending is Ending.FAILED
        assert "links out of the environment" in built.detail

    async def test_what_remains_of_a_build_cannot_change_what_is_used(self, local: LocalPlace) -> None:
        """Neither a process that it leaves, nor another name of the same file."""
        script = """
        echo built > "$CORRAL_BUILD/word"
        ln "$CORRAL_BUILD/word" "$CORRAL_BUILD/../other-name"
        setsid sh -c 'exec 9>>"$CORRAL_BUILD/word"; touch ready; while :; do echo no >&9; done' &
        while ! [ -e ready ]; do sleep 0.01; done
        """
        built = await build(local, GOOD + dedent(script), disk_mib=512)
        assert built.ending is Ending.SUCCEEDED, built.detail
        word = sealed(local) / "word"
        content = word.read_text()
        assert content.startswith("built\n")
        assert word.stat().st_nlink == 1
        shown = local.directory / "data/workspaces/build/env"
        said = await use(local, f"wc -c < {shown}/word; echo x >> {shown}/word || echo refused")
        assert f"\n{len(content)}\n" in said
        assert said.endswith("refused\n")
        assert word.read_text() == content

    async def test_nobody_enters_a_build(self, local: LocalPlace) -> None:
        await local.engine.start([local.sized("build", "sleep", "60", builds=True)])
        await local.reach("build", RunPhase.RUNNING)
        with pytest.raises(Refusal, match="build of a runtime"):
            await local.engine.execute("build", ["sh"])
        with pytest.raises(Refusal, match="build of a runtime"):
            await local.engine.dial("build", 8000)


ODD = {
    "link elsewhere": ('ln -s /etc/shadow "$CORRAL_BUILD/x"', "links out of the environment"),
    "link above": ('ln -s ../../x "$CORRAL_BUILD/bin/x"', "links out of the environment"),
    "link roundabout": ('ln -s ../bin/../../x "$CORRAL_BUILD/bin/x"', "links out of the environment"),
    "system roundabout": ('ln -s /usr/../etc "$CORRAL_BUILD/x"', "links out of the environment"),
    "pipe": ('mkfifo "$CORRAL_BUILD/bin/x"', "neither a file, a directory nor a link"),
    "socket": (
        """cd "$CORRAL_BUILD"; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("x")'""",
        "neither a file, a directory nor a link",
    ),
    "sparse": ('truncate -s 1T "$CORRAL_BUILD/x"', "more than 64 MiB"),
    "deep": ('cd "$CORRAL_BUILD"; for n in $(seq 300); do mkdir x; cd x; done', "deeper than"),
    "a link itself": ('rm -r "$CORRAL_BUILD"; ln -s /etc "$CORRAL_BUILD"', "left no environment"),
    "a file itself": ('rm -r "$CORRAL_BUILD"; echo > "$CORRAL_BUILD"', "left no environment"),
    "nothing": ('rm -r "$CORRAL_BUILD"', "left no environment"),
}


@pytest.mark.parametrize("case", ODD)
async def test_odd_environment_is_refused_in_words(local: LocalPlace, case: str) -> None:
    script, words = ODD[case]
    built = await build(local, GOOD + script, disk_mib=64)
    assert built.ending is Ending.FAILED
    assert words in built.detail, built.detail
    assert not sealed(local).exists()
    left = [path.name for path in (local.directory / "data/runtimes").iterdir() if path.name[0] != "."]
    assert left == []
    assert "build it again" in await use(local, "true")


class TestSealed:
    async def test_environment_belongs_to_corral_and_is_where_it_was_built(self, local: LocalPlace) -> None:
        script = r"""
        mkdir "$CORRAL_BUILD/lib"
        ln -s lib "$CORRAL_BUILD/lib64"
        ln -s ../lib/data "$CORRAL_BUILD/bin/data"
        ln -s "$CORRAL_BUILD/lib/data" "$CORRAL_BUILD/absolute"
        echo words > "$CORRAL_BUILD/lib/data"
        printf '#!/bin/sh\necho runs' > "$CORRAL_BUILD/bin/tool"
        chmod 6777 "$CORRAL_BUILD/bin/tool"
        touch "$(printf "$CORRAL_BUILD/odd \377 name")"
        mkdir "$CORRAL_BUILD/closed"; chmod 0 "$CORRAL_BUILD/closed"
        """
        built = await build(local, GOOD + dedent(script))
        assert built.ending is Ending.SUCCEEDED, built.detail
        shown = local.directory / "data/workspaces/build/env"
        look = f"cd {shown}; cat bin/data lib64/data absolute; tool; python -c 'print(6 * 7)'; ls | cat -v"
        said = " ".join((await use(local, look)).split())
        assert said == "words words words runs 42 absolute bin closed lib lib64 odd M-^? name"
        for path in (sealed(local), *sealed(local).rglob("*")):
            if not path.is_symlink():
                assert path.stat().st_uid == os.geteuid()
                assert not stat.S_IMODE(path.stat().st_mode) & 0o7022
        tool = sealed(local) / "bin" / "tool"
        assert stat.S_IMODE(tool.stat().st_mode) == 0o755
        assert not (local.directory / "data/workspaces/build").exists()

    async def test_it_goes_with_its_build(self, local: LocalPlace) -> None:
        await build(local, GOOD)
        assert sealed(local).is_dir()
        await local.engine.forget(["build"])
        await local.engine.discard(["build"])
        assert not sealed(local).parent.exists()

    async def test_failed_build_leaves_nothing(self, local: LocalPlace) -> None:
        built = await build(local, f"{GOOD}exit 3")
        assert (built.ending, built.exit_code) == (Ending.FAILED, 3)
        assert not sealed(local).exists()

    async def test_build_that_is_told_to_go_is_suspended(self, local: LocalPlace) -> None:
        script = f"{GOOD}trap 'exit 0' TERM; echo listening; while :; do sleep 0.05; done"
        await local.engine.start([local.sized("build", "sh", "-c", script, builds=True)])
        await local.wrote("build", "listening")
        await local.engine.signal(["build"], 5)
        assert (await local.reach("build", RunPhase.ENDED)).ending is Ending.SUSPENDED

    async def test_environment_of_an_older_corral_is_sealed_when_it_is_first_used(
        self, local: LocalPlace
    ) -> None:
        """There it lay in the workspace of its build, where its owner could change it."""
        await local.finish(local.sized("build", "sh", "-ec", GOOD.replace("$CORRAL_BUILD", "/workspace/env")))
        old = local.directory / "data/workspaces/build/env"
        assert "42" in await use(local, "python -c 'print(6 * 7)'")
        assert sealed(local).is_dir()
        assert (old / "bin").is_dir()
        (old / "bin" / "python").unlink()
        (old / "bin" / "python").symlink_to(hide(local))
        assert "42" in await use(local, "python -c 'print(6 * 7)'", "again")

    async def test_environment_of_an_older_corral_that_leads_out_is_refused(self, local: LocalPlace) -> None:
        secret = hide(local)
        script = f"mkdir -p env/bin; ln -s {secret} env/bin/python"
        await local.finish(local.sized("build", "sh", "-ec", script))
        said = await use(local, f"cat {secret}")
        assert "links out of the environment" in said
        assert "build it again" in said


async def test_without_a_sandbox_an_environment_is_used_where_it_was_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bundled_tools, "find_uv", lambda: Path("/bin/true"))
    monkeypatch.setattr(isolation, "sandbox_problem", lambda: "none is wanted")
    async with local_place(trusted=True) as local:
        script = (
            'printf "#!/bin/sh\necho its own" > "$CORRAL_BUILD/bin/tool"; chmod +x "$CORRAL_BUILD/bin/tool"'
        )
        built = await build(local, GOOD + script)
        assert built.ending is Ending.SUCCEEDED, built.detail
        assert "its own\n" in await use(local, "tool")
        assert "no longer there" in await use(local, "tool", "other", "none")


class _Group:
    """Of a build, seen from its supervisor."""

    entrances = ()

    def __init__(self, processes: Callable[[], list[int]]) -> None:
        self.processes = processes

    def kill(self) -> None:
        pass


@pytest.mark.parametrize(
    ("processes", "words"),
    [
        (lambda: [1], "processes of the build do not end"),
        (lambda: os._exit(9), "it was ended before its environment was kept"),
    ],
)
def test_nothing_is_sealed_while_something_runs_or_when_the_sealer_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: Callable[[], list[int]], words: str
) -> None:
    monkeypatch.setattr(runtime_sealer, "_EMPTY_SECONDS", 0.1)
    (tmp_path / "workspaces" / "build" / "env").mkdir(parents=True)
    (tmp_path / "runtimes").mkdir()
    places = {"workspace": str(tmp_path / "workspaces/build"), "sealed": str(tmp_path / "runtimes/build")}
    spec = Spec("build-1", "build", "here", "ada", "user", 1, 1, sockets="", replicas=(), **places)
    loop, heard = Loop(), []
    runtime_sealer.start(loop, spec, tmp_path, _Group(processes), heard.append)  # type: ignore[arg-type]
    while not heard:
        loop.turn()
    assert heard == [words]
    assert list((tmp_path / "runtimes").iterdir()) == []


async def test_runtime_is_built_by_one_replica(local: LocalPlace) -> None:
    """Another could still write to what is being sealed."""
    gang = [
        replace(start, task=replace(start.task, builds=True)) for start in local.gang("b", [("true",)] * 2)
    ]
    await local.engine.start(gang)
    ended = await local.reach("b-0", RunPhase.ENDED)
    assert (ended.ending, ended.detail) == (Ending.REFUSED, "a runtime is built by one replica, not by 2")


def test_homes_are_made_once(tmp_path: Path) -> None:
    """Of work that begins at the same time, none gets a home that another takes away."""
    workspaces, together = Workspaces(tmp_path, DiskQuotas(tmp_path)), Barrier(4)

    def provide(owner: str) -> int:
        together.wait()
        return workspaces.provide_home(owner, os.getuid(), Bounds(0, 0)).stat().st_ino

    owners = [f"owner{number}" for number in range(100)]
    with ThreadPoolExecutor(4) as pool:
        for owner in owners:
            assert len(set(pool.map(provide, [owner] * 4))) == 1
    assert sorted(path.name for path in (tmp_path / "homes").iterdir()) == sorted(owners)


async def test_file_that_a_command_names_in_vain_is_looked_for_in_the_workspace_alone(
    local: LocalPlace,
) -> None:
    """Through a link of one's own, the words of a failure told whether a file of the machine exists."""
    for name, there in (("there", hide(local)), ("not", local.directory / "none" / "file")):
        script = f"import os, sys; os.symlink('{there.parent}', 'link'); sys.exit(2)"
        await local.finish(local.sized(name, "python3", "-c", script))
        again = local.sized(name, "python3", f"link/{there.name}")
        ended = await local.finish(replace(again, run=f"{name}-2", attempt=2))
        assert ended.detail == "exit code 2"
    missing = await local.finish(local.sized("plain", "python3", "none.py"))
    assert missing.detail == "cannot find file none.py"
