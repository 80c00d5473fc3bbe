"""A workload looks for other people's files, Corral's own, and devices."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.engines.local.cage import OTHER_UID, Cage
from tests.security.hostile.attempts import outcomes, outcomes_outside, refused, succeeded


def readable_by_all(path: Path, owner: int) -> Path:
    """Even what every user of the machine may read is not there inside."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("secret")
    path.chmod(0o644)
    if os.geteuid() == 0:
        os.chown(path, owner, owner)
    return path


def test_corrals_database_and_keys_and_others_files_are_not_there(cage: Cage) -> None:
    files = {
        "keys": readable_by_all(cage.directory / "corral" / "keys", cage.engine_uid),
        "database": readable_by_all(cage.directory / "corral" / "corral.db", cage.engine_uid),
        "neighbour": readable_by_all(cage.directory / "other" / "thesis.tex", OTHER_UID),
        "passwords": Path("/etc/passwd-"),
    }
    places = {name: str(path) for name, path in files.items()}
    program = f"""
for name, path in {places}.items():
    attempt(name, lambda: read(path))
    attempt(name + " by going up", lambda: read("/workspace/../../../.." + path))
    attempt(name + " through the first process", lambda: read("/proc/1/root" + path))
    attempt(name + " through its directory", lambda: read("/proc/1/cwd/../../../../.." + path))
    os.symlink(path, "/workspace/" + name)
    attempt(name + " by a link", lambda: read("/workspace/" + name))
"""
    assert set(refused(outcomes(cage, program)).values()) <= {"ENOENT", "EACCES"}
    outside = {name: path for name, path in places.items() if name != "passwords"}
    seen = outcomes_outside(cage, f"for name, path in {outside}.items(): attempt(name, lambda: read(path))")
    assert succeeded(seen) == set(outside)


def test_nothing_of_the_host_is_found_by_looking_everywhere(cage: Cage) -> None:
    marked = readable_by_all(cage.directory / "corral" / "a-name-that-is-nowhere-else", cage.engine_uid)
    program = """
found = []
for where, below, names in os.walk("/"):
    if where == "/":
        below[:] = set(below) - {"usr", "proc", "sys"}  # the system's own
    found += [where for name in names if name == "a-name-that-is-nowhere-else"]
results["found"] = found
results["top"] = sorted(os.listdir("/"))
results["homes"] = sorted(os.listdir("/home"))
places = ("/run", "/root", "/srv", "/opt", "/mnt", "/sys/fs", "/boot")
results["places"] = [path for path in places if os.path.exists(path)]
names = ("shadow", "resolv.conf", "pip.conf", "ssh", "ssl/private")
results["etc"] = [name for name in names if os.path.exists(f"/etc/{name}")]
"""
    seen = outcomes(cage, program)
    assert marked.exists()
    assert seen["found"] == []
    system = {"bin", "lib", "lib32", "lib64", "libx32", "sbin", "usr"}
    own = {"dev", "etc", "home", "proc", "sys", "tmp", "var", "workspace"}
    runtime = cage.place.directory.parts[1]
    assert set(seen["top"]) <= system | own | {runtime}
    assert seen["homes"] == ["user"]
    assert seen["places"] == []
    assert seen["etc"] == []


def test_another_attempt_shares_neither_files_nor_memory_although_the_user_is_the_same(cage: Cage) -> None:
    printed = cage.drive("""
        other = box.beside()
        places = ("/workspace", "/dev/shm", "/tmp")
        left = "; ".join(f"touch {place}/left-by-the-other" for place in places)
        print(other.run("sh", "-c", f"{left}; ls {' '.join(places)}")[1].count("left-by-the-other"))
        print(box.run("ls", *places))
        print(box.run("ls", str(other.directory / "workspace")))
    """)
    left, own, others = printed.splitlines()
    assert left == "3"
    assert "left-by-the-other" not in own
    assert "No such file or directory" in others


def test_devices_are_the_harmless_ones_and_no_others_can_be_made(cage: Cage) -> None:
    program = """
import stat
def is_device(name):
    mode = os.lstat(f"/dev/{name}").st_mode
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
results["nodes"] = sorted(filter(is_device, os.listdir("/dev")))
for path in ("/workspace/disk", "/tmp/disk", "/dev/shm/disk", "/home/user/disk"):
    attempt(path, lambda: os.mknod(path, 0o666 | stat.S_IFBLK, os.makedev(254, 0)))
for name in ("mem", "kmsg", "fuse", "net/tun", "kvm", "vsock", "sda", "vda"):
    attempt(name, lambda: os.open(f"/dev/{name}", os.O_RDONLY))
"""
    seen = outcomes(cage, program)
    assert seen.pop("nodes") == ["full", "null", "random", "tty", "urandom", "zero"]
    assert set(refused(seen).values()) <= {"EPERM", "ENOENT"}


def test_what_is_bound_read_only_stays_so(cage: Cage) -> None:
    program = """
MS_REMOUNT, MS_BIND = 32, 4096
def remount(path):
    if libc.mount(None, path, None, MS_REMOUNT | MS_BIND, None):
        raise OSError(ctypes.get_errno(), "")
for path in (b"/usr", b"/", b"/dev", b"/etc/alternatives", b"/proc/sys"):
    attempt(path.decode(), lambda: remount(path))
attempt("write", lambda: open("/usr/hostile", "w"))
"""
    assert refused(outcomes(cage, program))["write"] == "EROFS"


def test_without_giving_up_capabilities_root_could_remount(tmp_path: Path) -> None:
    """Why the sandbox of root does not rely on bubblewrap's read-only binds alone."""
    if os.geteuid() != 0:
        pytest.skip("an ordinary user has no capabilities to give up")
    remount = f"mount -o remount,rw,bind {tmp_path} && touch {tmp_path}/written"
    binds = ("--ro-bind", "/", "/", "--ro-bind", str(tmp_path), str(tmp_path), "--proc", "/proc")
    subprocess.run(["bwrap", "--unshare-all", *binds, "sh", "-c", remount], check=True)
    assert (tmp_path / "written").exists()


def test_proc_shows_nothing_to_write_that_concerns_the_host(cage: Cage) -> None:
    paths = (
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/ns_last_pid",
        "/proc/sys/vm/drop_caches",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sysrq-trigger",
        "/proc/kcore",
        "/proc/kmsg",
        "/proc/self/setgroups",
        "/proc/self/uid_map",
    )
    program = f"for path in {paths}: attempt(path, lambda: os.write(os.open(path, os.O_RDWR), b'0'))"
    refused(outcomes(cage, program))


def test_the_kernels_patience_cannot_be_asked_for(cage: Cage) -> None:
    program = """
def adjust(value):
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write(value)
attempt("later", lambda: adjust("-500"))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -10))
attempt("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10)))
"""
    assert set(refused(outcomes(cage, program)).values()) <= {"EACCES", "EPERM"}
