"""Control groups: where they can be made, and what is written and read in each version."""

from pathlib import Path

import pytest

from corral.engines.local.kernel import cgroup_roots
from corral.engines.local.kernel.cgroup_roots import UNIFIED, CgroupRoots, cgroup_roots_from
from corral.engines.local.kernel.cgroups import Group, Limits

MOUNTS = """\
30 23 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw
32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:11 - cgroup cgroup rw,cpu,cpuacct
33 30 0:29 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
"""
OWN = "5:cpu,cpuacct:/system.slice/corral\n4:memory:/docker/abc/inner\n1:name=systemd:/x\n0::/user\n"


def test_our_place_is_found_in_every_hierarchy() -> None:
    own = cgroup_roots._parse_own(OWN)
    mounts = cgroup_roots._parse_mounts(MOUNTS)
    places = {name: cgroup_roots._place(own, mounts, name) for name in ("cpu", "memory", "", "pids")}
    assert places == {
        "cpu": Path("/sys/fs/cgroup/cpu,cpuacct/system.slice/corral"),
        "memory": Path("/sys/fs/cgroup/memory/inner"),
        "": Path("/sys/fs/cgroup/unified/user"),
        "pids": None,
    }


def test_what_cannot_be_limited_is_named() -> None:
    assert CgroupRoots({}, ()).missing == ("memory", "cpu", "pids")
    assert CgroupRoots({"memory": "/m", "cpu": "/c"}, ("pids",)).missing == ()
    bases = CgroupRoots({"memory": "/m", UNIFIED: "/u"}, ("pids",))
    assert cgroup_roots_from(bases.as_dict()).as_dict() == bases.as_dict()


@pytest.fixture
def unified(tmp_path: Path) -> Group:
    return Group(CgroupRoots({UNIFIED: str(tmp_path)}, ("memory", "cpu", "pids", "io")), "w1-1-0")


def test_limits_of_version_2(unified: Group, tmp_path: Path) -> None:
    unified.create(Limits(cpu_milli=1500, memory_mib=256, processes=64))
    written = {path.name: path.read_text() for path in (tmp_path / "w1-1-0").iterdir()}
    assert written == {
        "memory.max": str(256 * 2**20),
        "memory.oom.group": "1",
        "memory.swap.max": "0",
        "cpu.weight": "150",
        "cpu.max": "150000 100000",
        "pids.max": "64",
    }


def test_small_work_has_a_core_until_its_sandbox_is_built(unified: Group, tmp_path: Path) -> None:
    unified.create(Limits(cpu_milli=50, memory_mib=256, processes=64))
    limit = tmp_path / "w1-1-0" / "cpu.max"
    assert limit.read_text() == "100000 100000"
    limit.unlink()  # a plain file is written over, not replaced
    unified.limit_cpu(50)
    assert limit.read_text() == "5000 100000"


def test_counters_of_version_2(unified: Group, tmp_path: Path) -> None:
    group = tmp_path / "w1-1-0"
    group.mkdir()
    contents = {
        "cpu.stat": "usage_usec 1234\nuser_usec 1000\n",
        "memory.current": "5000\n",
        "memory.peak": "7000\n",
        "memory.stat": "anon 1\ninactive_file 2000\n",
        "memory.events": "low 0\noom 1\noom_kill 3\n",
        "pids.current": "4\n",
        "io.stat": "254:0 rbytes=10 wbytes=20 rios=1\n254:16 rbytes=1 wbytes=2\n",
    }
    for name, content in contents.items():
        (group / name).write_text(content)
    assert unified.counters() == {
        "cpu_microseconds": 1234,
        "memory_bytes": 3000,
        "memory_peak_bytes": 7000,
        "processes": 4,
        "read_bytes": 11,
        "written_bytes": 22,
    }
    assert unified.out_of_memory_kills() == 3


def test_without_groups_nothing_is_limited_or_counted() -> None:
    group = Group(CgroupRoots({}, ()), "w1-1-0")
    group.create(Limits(1000, 256, 64))
    group.kill()
    assert (group.counters(), group.entrances, group.processes()) == ({}, (), [])
    assert group.remove()


def test_missing_limits_are_found_by_looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory").mkdir()
    group = tmp_path / "unified" / "user"
    group.mkdir(parents=True)
    monkeypatch.setattr(cgroup_roots, "_parse_own", lambda _: {"memory": "/", "": "/user"})
    mounts = {"memory": ("/", f"{tmp_path}/memory"), "": ("/", f"{tmp_path}/unified")}
    monkeypatch.setattr(cgroup_roots, "_parse_mounts", lambda _: mounts)
    assert cgroup_roots.missing_limits() == ("cpu", "pids")
    (group / "cgroup.subtree_control").touch()
    (group / "cgroup.controllers").write_text("pids io\n")
    assert cgroup_roots.missing_limits() == ("cpu",)
