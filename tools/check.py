"""`make check`, the inner loop: lint, types, unit tests, and what the change since main touches.

Standard library only. What a change touches is read from git and from the imports: the tests of a changed
package and of those that import it directly, a changed folder of tests, the stage of a surface. Tests of the
stage `unit` that start a Corral run only where they are touched.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from stages import CONSOLE, OWN_STAGE, ROOT, UNIT_TESTS, Stage, pytest_check, stages
from test import ended_with_us, run_stages

ALWAYS = ("lint", "types", "imports", "unit")
SOURCE = ROOT / "src" / "corral"
# Beside the packages: what is changed there is proved by this stage.
SURFACES = {"web/": "console", "docs/": "docs", "README.md": "docs", "examples/": "docs", "sdk/": "sdk"}
FOLDER_STAGE = {"chaos": "stories", "security/hostile": "engines"}
# Their tests are in a stage of their own.
PACKAGE_STAGE = {"cli": "cli", "engines": "engines"}
# These take more than the inner loop has; the whole run has them.
ONLY_WHOLE = {"browser", "packaging", "soak", "stories", "chaos"}


@dataclass
class Touched:
    """Stages, and folders of tests that run on their databases."""

    stages: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)


def changed_files(root: Path = ROOT) -> list[str]:
    """Since this branch left main, committed or not."""
    base = _git(root, "merge-base", "HEAD", "main") or ["HEAD"]
    return [
        *_git(root, "diff", "--name-only", base[0]),
        *_git(root, "ls-files", "--others", "--exclude-standard"),
    ]


def importers(source: Path = SOURCE) -> dict[str, set[str]]:
    """Of each package, those whose files import it."""
    found: dict[str, set[str]] = {}
    for file in source.rglob("*.py"):
        package = file.relative_to(source).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                first, _, rest = name.partition(".")
                if first == "corral" and rest:
                    found.setdefault(rest.partition(".")[0], set()).add(package)
    return found


def touched(files: Iterable[str], imported_by: Mapping[str, set[str]]) -> Touched:
    result = Touched()
    for file in files:
        if stage := next((one for start, one in SURFACES.items() if file.startswith(start)), None):
            result.stages.add(stage)
        elif file.startswith("src/corral/"):
            package = file.split("/")[2].removesuffix(".py")
            for each in {package, *imported_by.get(package, ())}:
                _add(result, each)
        elif file.startswith("tests/") and file.count("/") > 1:
            _add(result, file.split("/")[1])
    return result


def _add(result: Touched, folder: str) -> None:
    if folder in ONLY_WHOLE:
        return
    if stage := PACKAGE_STAGE.get(folder) or FOLDER_STAGE.get(folder):
        result.stages.add(stage)
    elif folder in OWN_STAGE:
        result.stages.add(folder)
    else:
        result.folders.add(folder)


def chosen_stages(what: Touched, root: Path = ROOT) -> list[Stage]:
    chosen = [one for one in stages() if one.name in {*ALWAYS, *what.stages} and one.exists()]
    folders = [f"tests/{one}" for one in sorted(what.folders) if (root / "tests" / one).is_dir()]
    if folders:
        slow = "sqlite or postgresql or live"
        databases = pytest_check("pytest", folders, "-m", slow, "--postgresql=covering")
        chosen.append(Stage("touched", (databases,), prepare=("postgresql", "sandbox", *CONSOLE), budget=60))
    return [_quick(one) if one.name == "unit" else one for one in chosen]


def _quick(unit: Stage) -> Stage:
    """Without the tests that start a Corral."""
    (check,) = unit.checks
    command = [f"{word} and not live" if word == UNIT_TESTS else word for word in check.command]
    return replace(unit, checks=(replace(check, command=tuple(command)),))


def _git(root: Path, *arguments: str) -> list[str]:
    ended = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)  # noqa: S607
    return ended.stdout.split() if ended.returncode == 0 else []


def main() -> int:
    what = touched(changed_files(), importers())
    names = ", ".join([*sorted(what.stages), *(f"tests/{one}" for one in sorted(what.folders))])
    print(f"The change touches {names or 'no package'}.", flush=True)
    with ended_with_us():
        return run_stages(chosen_stages(what), (), stream=False)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
