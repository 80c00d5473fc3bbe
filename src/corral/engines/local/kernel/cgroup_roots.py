"""Where on this machine control groups can be made: version 1, version 2, or both beside each other.

The place is looked for from our own group downward, never at the root of a hierarchy: in a container or under
systemd only that part is ours.
"""

import contextlib
import os
from pathlib import Path

# What limits and counts. Beside these, the tree of version 2 kills and freezes as a whole where it exists.
UNIFIED = "unified"
FREEZER = "freezer"
CONTROLLERS_1 = ("memory", "cpu", "cpuacct", "pids", "blkio", FREEZER)
CONTROLLERS_2 = ("memory", "cpu", "pids", "io")
LEAF = "server"
NEEDED = ("memory", "cpu", "pids")


class CgroupRoots:
    """`directories` by controller, `unified` for the tree of version 2; `controls_2` are enabled in that."""

    def __init__(self, directories: dict[str, str], controls_2: tuple[str, ...]) -> None:
        self.directories = directories
        self.controls_2 = controls_2

    @property
    def missing(self) -> tuple[str, ...]:
        """Limits that cannot be set here."""
        return tuple(name for name in NEEDED if name not in self.directories and name not in self.controls_2)

    def remove(self) -> None:
        """Removes the groups in which nothing is left."""
        for directory in self.directories.values():
            with contextlib.suppress(OSError):
                Path(directory).rmdir()

    def as_dict(self) -> dict[str, object]:
        return {"directories": self.directories, "controls_2": list(self.controls_2)}


def cgroup_roots_from(content: dict[str, object]) -> CgroupRoots:
    directories, controls = content["directories"], content["controls_2"]
    assert isinstance(directories, dict)
    assert isinstance(controls, list)
    return CgroupRoots(
        {str(key): str(value) for key, value in directories.items()}, tuple(map(str, controls))
    )


def prepare_cgroup_roots(name: str) -> CgroupRoots:
    """Makes a group `name` below our own in every hierarchy that lets us."""
    own = _parse_own(Path("/proc/self/cgroup").read_text())
    mounts = _parse_mounts(Path("/proc/self/mountinfo").read_text())
    directories: dict[str, str] = {}
    for controller in CONTROLLERS_1:
        if (place := _place(own, mounts, controller)) and _make(place / name):
            directories[controller] = str(place / name)
    controls: tuple[str, ...] = ()
    place = _place(own, mounts, "")
    if place is not None:
        if place.name == LEAF:  # a server that was started by one that had moved aside
            place = place.parent
        controls = _enable(place)
        if _make(place / name):
            directories[UNIFIED] = str(place / name)
            controls = _enable(place / name) if controls else ()
        else:
            controls = ()
    if UNIFIED in directories and FREEZER in directories:
        # Version 2 freezes better, and a group that nobody uses costs time at every start.
        with contextlib.suppress(OSError):
            Path(directories.pop(FREEZER)).rmdir()
    return CgroupRoots(directories, controls)


def missing_limits() -> tuple[str, ...]:
    """Limits that could not be set here, found without making or moving anything."""
    own = _parse_own(Path("/proc/self/cgroup").read_text())
    mounts = _parse_mounts(Path("/proc/self/mountinfo").read_text())
    there = {name for name in NEEDED if _is_ours(_place(own, mounts, name))}
    unified = _place(own, mounts, "")
    if unified is not None and unified.name == LEAF:
        unified = unified.parent
    if unified is not None and _is_ours(unified) and os.access(unified / "cgroup.subtree_control", os.W_OK):
        there |= set((unified / "cgroup.controllers").read_text().split())
    return tuple(name for name in NEEDED if name not in there)


def _is_ours(place: Path | None) -> bool:
    return place is not None and os.access(place, os.W_OK)


def _parse_own(text: str) -> dict[str, str]:
    """Our group by controller; that of version 2 under the empty name."""
    own: dict[str, str] = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            own[controller] = path
    return own


def _parse_mounts(text: str) -> dict[str, tuple[str, str]]:
    """(mounted root, mount point) by controller; that of version 2 under the empty name."""
    mounts: dict[str, tuple[str, str]] = {}
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split(" ")[3:5]
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2":
            mounts.setdefault("", (root, point))
        elif kind == "cgroup":
            for option in options.split(" ")[-1].split(","):
                mounts.setdefault(option, (root, point))
    return mounts


def _place(own: dict[str, str], mounts: dict[str, tuple[str, str]], controller: str) -> Path | None:
    if controller not in own or controller not in mounts:
        return None
    root, point = mounts[controller]
    path = own[controller]
    if root != "/" and path.startswith(root):
        path = path[len(root) :]
    return Path(point + path)


def _make(path: Path) -> bool:
    try:
        path.mkdir()
    except FileExistsError:
        pass
    except OSError:
        return False
    return os.access(path, os.W_OK) and os.access(path / "cgroup.procs", os.W_OK)


def _enable(path: Path) -> tuple[str, ...]:
    """Hands controllers of version 2 on to the groups below; what lives in this group moves to a leaf first.

    A group that has both processes and controllers for its children is not allowed.
    """
    try:
        present = (path / "cgroup.controllers").read_text().split()
        wanted = [name for name in present if name in CONTROLLERS_2]
        if not wanted or not os.access(path / "cgroup.subtree_control", os.W_OK):
            return ()
        try:
            _hand_on(path, wanted)
        except OSError:
            _move_aside(path)
            _hand_on(path, wanted)
    except OSError:
        return ()
    return tuple(wanted)


def _hand_on(path: Path, controllers: list[str]) -> None:
    (path / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in controllers))


def _move_aside(path: Path) -> None:
    leaf = path / LEAF
    leaf.mkdir(exist_ok=True)
    for process in (path / "cgroup.procs").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            (leaf / "cgroup.procs").write_text(process)
