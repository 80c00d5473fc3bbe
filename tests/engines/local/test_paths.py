"""Files below users' directories are touched by one module; this reads the source to see that it stays so."""

import ast
from pathlib import Path

import pytest

import corral

HOME = Path(corral.__file__).parent
FOLDERS = ("engines/archives", "engines/local", "inputs", "runtimes", "training")
OWNER = "engines/local/files/user_files.py"

# What touches files by their path. Methods of `Path` are found by name, whatever they are called on.
METHODS = """absolute chmod exists glob hardlink_to is_dir is_file is_fifo is_socket is_symlink iterdir lchmod
    lstat mkdir open read_bytes read_text readlink rename resolve rglob rmdir samefile stat symlink_to
    touch unlink walk write_bytes write_text"""
OF_OS = """access chdir chown fwalk lchown link listdir makedirs mkfifo mknod readlink remove removedirs
    renames replace scandir statvfs symlink truncate utime"""
OF_PATHS = "exists getmtime getsize isdir isfile islink lexists realpath samefile"
OTHERS = ("shutil", "tempfile", "glob")
# Modules of our own whose functions have such names.
OWN = ("user_files", "kernel", "service", "tarfile", "gzip")

ATTEMPT = "directories of attempts and their sockets: Corral's own, writable in no sandbox"
MACHINE = "the machine's own files: /proc, /sys, /dev, /usr, control groups"
DATA = "directories of the data directory itself, which no sandbox has"
COUNTS = "home-counts and workspace-counts: Corral's own, writable in no sandbox"
SQL = "a condition of SQL"

# What a module may call, and why no component of its paths is a user's.
ALLOWED: dict[str, tuple[str, str]] = {
    "engines/archives/asking.py": (
        "open tempfile.TemporaryFile",
        "an archive, in a directory of Corral's own; a file without a name",
    ),
    "engines/archives/writing.py": (
        "os.link os.mkdir os.symlink",
        "a fresh directory that nobody else can enter; in directories that user_files opened",
    ),
    "engines/local/attempts/attempt.py": ("exists", ATTEMPT),
    "engines/local/attempts/adoption.py": ("exists is_dir iterdir read_text", f"{ATTEMPT}; {MACHINE}"),
    "engines/local/records/crash_guard.py": ("mkdir unlink", DATA),
    "engines/local/sandbox/unsandboxed.py": (
        "is_dir os.chdir shutil.which",
        "without a sandbox, all is one person's",
    ),
    "engines/local/supervise/replica_builder.py": ("mkdir open os.open", f"{ATTEMPT}; the door; /dev/null"),
    "engines/local/files/disk_count.py": (
        "iterdir os.scandir read_bytes read_text stat",
        f"{MACHINE}; workspaces and homes themselves, for their device; {COUNTS}",
    ),
    "engines/local/supervise/control_socket.py": ("chmod", ATTEMPT),
    "engines/local/supervise/disk_watch.py": (
        "mkdir os.statvfs read_text stat write_text",
        f"how full the disk is; {COUNTS}",
    ),
    "engines/local/supervise/outbound_door.py": ("open", "the door itself"),
    "engines/local/doors/outbound.py": ("os.open", MACHINE),
    "engines/local/sandbox/exec_session.py": ("os.chdir", "inside the sandbox, after becoming its user"),
    "engines/local/kernel/cgroup_roots.py": ("mkdir os.access read_text rmdir write_text", MACHINE),
    "engines/local/kernel/cgroups.py": ("mkdir os.open rmdir", MACHINE),
    "engines/local/machine/hardware.py": ("exists glob os.statvfs read_text", f"{MACHINE}; {DATA}"),
    "engines/local/context.py": ("mkdir resolve", DATA),
    "engines/local/files/in_flight.py": ("read_bytes", MACHINE),
    "engines/local/kernel/syscalls.py": ("read_text", MACHINE),
    "engines/local/sandbox/launch.py": ("os.open", MACHINE),
    "engines/local/records/locks.py": ("os.open", ATTEMPT),
    "engines/local/supervise/event_loop.py": ("read_text", MACHINE),
    "engines/local/attempts/usage_sampler.py": ("exists os.statvfs read_text", f"{MACHINE}; {DATA}"),
    "engines/local/sandbox/namespaces.py": ("os.open", MACHINE),
    "engines/local/supervise/forkserver.py": ("os.open", ATTEMPT),
    "engines/local/attempts/outputs.py": ("exists", ATTEMPT),
    "engines/local/files/user_ids.py": ("os.scandir read_text stat", f"whose homes are there; {MACHINE}"),
    "engines/local/sandbox/probe.py": ("read_text", MACHINE),
    "engines/local/files/quotas.py": ("mkdir os.scandir unlink", DATA),
    "engines/local/records/durable_json.py": (
        "hardlink_to os.open read_bytes rename unlink",
        f"{ATTEMPT}; {DATA}",
    ),
    "engines/local/supervise/workload_socket.py": ("chmod", ATTEMPT),
    "engines/local/sandbox/bubblewrap.py": ("exists is_symlink readlink which", MACHINE),
    "engines/local/files/sealing.py": (
        "chmod mkdir os.readlink os.rename os.scandir os.symlink stat",
        "by descriptors that user_files opened; data/runtimes",
    ),
    "engines/local/records/segments.py": ("iterdir mkdir open os.open stat unlink", ATTEMPT),
    "engines/local/records/attempt_store.py": (
        """exists glob is_dir iterdir mkdir os.utime rename rmdir shutil.rmtree stat tempfile.mkdtemp
        touch unlink""",
        ATTEMPT,
    ),
    "engines/local/supervise/supervisor.py": ("chmod mkdir os.open shutil.rmtree stat", ATTEMPT),
    "engines/local/records/tally.py": ("os.open read_bytes", ATTEMPT),
    "engines/local/machine/bundled_tools.py": (
        "chmod mkdir resolve symlink_to unlink",
        f"{DATA}; where Corral is installed",
    ),
    "engines/local/sandbox/trial.py": (
        "mkdir os.chown tempfile.TemporaryDirectory",
        "a directory of its own",
    ),
    "engines/local/files/workspaces.py": ("chmod mkdir os.rename rmdir unlink", f"{DATA}; {COUNTS}"),
    "inputs/routes.py": ("exists", "an archive, in a directory of Corral's own"),
    "inputs/secrets.py": ("exists", SQL),
    "inputs/upload_fetching.py": ("exists", "an archive, in a directory of Corral's own"),
    "inputs/upload_files.py": ("is_dir is_file mkdir open os.scandir stat tempfile.mkstemp unlink", DATA),
    "inputs/uploads.py": ("exists", SQL),
}


def calls(path: Path) -> set[str]:
    """The names of what touches files in a module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id="open"):
                found.add("open")
            case ast.Attribute(value=ast.Name(id="os"), attr=name):
                if name in f"{METHODS} {OF_OS}".split():
                    found.add(f"os.{name}")
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="os"), attr="path"), attr=name):
                if name in OF_PATHS.split():
                    found.add(f"os.path.{name}")
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in OTHERS:
                found.add(f"{module}.{name}")
            case ast.Attribute(value=ast.Name(id=module)) if module in OWN:
                continue
            case ast.Attribute(attr=name) if name in METHODS.split():
                found.add(name)
            case ast.Name(id=name) if name in {"which", "copytree", "rmtree", "mkdtemp", "realpath"}:
                found.add(name)
    return found


def modules() -> list[str]:
    paths = (path for folder in FOLDERS for path in (HOME / folder).rglob("*.py"))
    return sorted(str(path.relative_to(HOME)) for path in paths)


@pytest.mark.parametrize("module", [name for name in modules() if name != OWNER])
def test_only_one_module_touches_users_files(module: str) -> None:
    allowed, _ = ALLOWED.get(module, ("", ""))
    called = calls(HOME / module)
    unused = sorted(set(allowed.split()) - called)
    assert not unused, f"{module} no longer calls {', '.join(unused)}: allow what it calls, and no more."
    surplus = sorted(called - set(allowed.split()))
    assert not surplus, (
        f"{module} calls {', '.join(surplus)}. Below a workspace or a home, use `user_files`; where no "
        f"component of the path is a user's, say so in {Path(__file__).name}."
    )


def test_every_exception_is_of_a_module_that_is_there() -> None:
    assert set(ALLOWED) <= set(modules())


@pytest.mark.parametrize(
    ("line", "found"),
    {
        "open('x')": "open",
        "Path('x').resolve()": "resolve",
        "path.rglob('*')": "rglob",
        "os.walk('x')": "os.walk",
        "os.path.lexists('x')": "os.path.lexists",
        "shutil.rmtree('x')": "shutil.rmtree",
        "(a / 'b').is_dir()": "is_dir",
    }.items(),
)
def test_what_touches_files_is_found(tmp_path: Path, line: str, found: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(line)
    assert calls(module) == {found}
