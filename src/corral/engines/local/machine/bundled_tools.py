"""What Corral itself puts into every sandbox: its SDK, and uv for those that build an environment.

Both are shown at a path of the data directory and nothing else of where they are installed, which is the
server's own environment. Without a sandbox, links at the same path lead there.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Tools:
    """`python` is a directory for PYTHONPATH; `uv` is None where it is not installed. `shown` are the files
    and directories to bind: where they are, and where they appear."""

    python: Path
    uv: Path | None
    shown: tuple[tuple[str, str], ...]


def lay_out(data: Path) -> Tools:
    """Makes the links, anew at every start: an upgrade may have moved what they lead to."""
    python, programs = data / "tools" / "python", data / "tools" / "bin"
    for directory in (data / "tools", python, programs):
        directory.mkdir(mode=0o755, exist_ok=True)
        directory.chmod(0o755)
    shown = [(_sdk(), python / "corral_sdk")]
    uv = find_uv()
    if uv is not None:
        shown.append((uv, programs / "uv"))
    for source, place in shown:
        place.unlink(missing_ok=True)
        place.symlink_to(source)
    pairs = tuple((str(source), str(place)) for source, place in shown)
    return Tools(python, None if uv is None else programs / "uv", pairs)


def _sdk() -> Path:
    found = find_spec("corral_sdk")
    assert found is not None
    assert found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0]).resolve()


def find_uv() -> Path | None:
    """The copy that Corral depends on, wherever it was installed; another on PATH may be of any age."""
    try:
        from uv import find_uv_bin

        return Path(find_uv_bin()).resolve()
    except (ImportError, FileNotFoundError):
        return None
